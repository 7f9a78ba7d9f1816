"""LangChain `Embeddings` of providers, built from the words that CrewAI's programs use; nothing is sent.

What is sent to a service that speaks OpenAI's protocol: texts in requests that it takes.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from langchain_core.embeddings import Embeddings

from crewgraph.core.loops.transport import LoopTransport
from crewgraph.errors import EmbedderError
from crewgraph.extras import load, require
from crewgraph.storage.vectors.embedder import CheckedEmbeddings, NamedEmbedder, ThreadedEmbeddings, held
from crewgraph.storage.vectors.providers import PROVIDERS, Provider

__all__ = ["RequestEmbeddings", "opened"]


# In bytes of UTF-8, for tokens cannot be counted without the model's own list of them. A token is rarely less than 1.3 bytes,
# so that these hold OpenAI's bounds: 8,191 tokens in a text, 300,000 tokens and 2,048 texts in a request.
_LONGEST_TEXT = 10_000
_LARGEST_REQUEST = 300_000
_MOST_TEXTS = 512


class RequestEmbeddings(Embeddings):
    """Embeddings over HTTP: many texts go in several requests, and a long one in parts whose vectors are averaged.

    Args:
        source: what sends a request, and repeats it where that helps.
        label: how errors call it.

    Raises:
        EmbedderError: from each method, where the answer is none. What HTTP clients raise passes unchanged.
    """

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        parts = [_parts(text) for text in texts]
        vectors: list[list[float]] = []
        for request in _requests(parts):
            with _Readable(self.label):
                vectors += self._whole(self.source.embed_documents(request), request)
        return _joined(parts, vectors)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        parts = [_parts(text) for text in texts]
        vectors: list[list[float]] = []
        for request in _requests(parts):
            with _Readable(self.label):
                vectors += self._whole(await self.source.aembed_documents(request), request)
        return _joined(parts, vectors)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]

    def _whole(self, vectors: list[list[float]], request: list[str]) -> list[list[float]]:
        if len(vectors) != len(request):  # told here, as it would shift the vectors of other texts
            raise EmbedderError(f"The embedder {self.label} gave {len(vectors)} vectors for {len(request)} texts.")
        return vectors


class _Readable:
    """A `with` around a request: what the client library stumbles over in an answer becomes an error that says so."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (AttributeError, LookupError, TypeError, ValueError)) and not isinstance(
            error, EmbedderError
        ):
            raise EmbedderError(
                f"The embedder {self._label} got an answer that cannot be read: {error} "
                "Check that its address is that of an OpenAI-compatible API; most end in /v1."
            ) from error


def _parts(text: str) -> list[str]:
    """A text in parts that are short enough, cut between words where there are any; services refuse a text of nothing."""
    if not text.strip():
        return [" "]
    encoded = text.encode("utf-8", "replace")  # halves of surrogate pairs cannot be sent
    text = encoded.decode("utf-8")
    if len(encoded) <= _LONGEST_TEXT:
        return [text]
    width = _LONGEST_TEXT // max(len(letter.encode("utf-8")) for letter in set(text))
    parts: list[str] = []
    while text:
        end = len(text) if len(text) <= width else text.rfind(" ", width // 2, width) + 1 or width
        parts.append(text[:end])
        text = text[end:]
    return [part for part in parts if part.strip()]


def _requests(parts: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    request: list[str] = []
    size = 0
    for part in (part for some in parts for part in some):
        length = len(part.encode("utf-8"))
        if request and (size + length > _LARGEST_REQUEST or len(request) == _MOST_TEXTS):
            yield request
            request, size = [], 0
        request.append(part)
        size += length
    if request:
        yield request


def _joined(parts: Sequence[Sequence[str]], vectors: Sequence[list[float]]) -> list[list[float]]:
    """A vector for each text: that of its only part, or the parts' mean by their length, of length 1."""
    joined: list[list[float]] = []
    rest = iter(vectors)
    for some in parts:
        first = next(rest)
        if len(some) > 1:
            weighed: list[tuple[int, list[float]]] = [
                (len(some[0]), first),
                *((len(part), next(rest)) for part in some[1:]),
            ]
            first = _mean(weighed)
        joined.append(first)
    return joined


def _mean(weighed: Sequence[tuple[int, list[float]]]) -> list[float]:
    sums: list[float] = [math.fsum(column) for column in zip(*([w * n for n in v] for w, v in weighed), strict=True)]
    length = math.sqrt(math.fsum(number * number for number in sums)) or 1.0
    return [number / length for number in sums]


_OPENAI_HOST = "api.openai.com"
_OLLAMA = "http://localhost:11434"
_AZURE_VERSION = "2024-02-01"
_NO_KEY = "none"  # the client wants a key, the server does not look at it
_COUNTS = {"dimensions", "output_dimensionality", "output_dimension"}
_SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


def opened(provider: Provider, config: Mapping[str, Any]) -> NamedEmbedder:
    """What embeds as a provider does, and the name of its vectors; the same one as long as somebody has it.

    Args:
        provider: who embeds.
        config: CrewAI's keys; what is None or left out comes from the environment.

    Raises:
        EmbedderError: a key of the configuration is unknown; a model, an address or a key is missing.
        MissingExtra: the provider's package is not installed; the message says how to install it.
    """
    words = _words(provider, config)
    if provider.name == "openai" and str(words.pop("api_type", "")).startswith("azure"):
        return opened(PROVIDERS["azure"], {**config, "api_type": None})
    words = _complete(provider, words)
    return held(provider, words, lambda: _made(provider, words))


def _made(provider: Provider, words: dict[str, Any]) -> NamedEmbedder:
    name = _name(provider, words)
    return NamedEmbedder(CheckedEmbeddings(_embeddings(provider, words, name), name), name, provider)


def _complete(provider: Provider, words: Mapping[str, Any]) -> dict[str, Any]:
    model = provider.words["model"]
    made = {**provider.fixed, **words}
    if provider.name == "huggingface" and made.get("url"):
        made.setdefault(model, "server")  # it has one model, and is not asked for it by name
    made[model] = made.get(model) or made.get("azure_deployment") or provider.model
    if made[model] is None:
        raise EmbedderError(f'The embedder `{provider.name}` needs a model: {{"config": {{"model_name": ...}}}}.')
    return _keyed(provider, made)


def _embeddings(provider: Provider, words: dict[str, Any], name: str) -> Embeddings:
    match provider.name:
        case "azure":
            return RequestEmbeddings(_azure(words), name)
        case "huggingface" if words.get("url"):
            return RequestEmbeddings(_huggingface_server(words), name)
        case "ollama":
            return RequestEmbeddings(_ollama(words), name)
        case _ if provider.module == "langchain_openai":
            return RequestEmbeddings(_openai(words), name)
        case _:
            return ThreadedEmbeddings(_class_of(provider)(**_shaped(provider, words)))


def _words(provider: Provider, config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in the words of the provider's class, with what the environment adds."""
    unknown = sorted(set(config) - set(provider.words))
    if unknown:
        told = ", ".join(f"`{key}`" for key in unknown)
        known = ", ".join(sorted(provider.words))
        raise EmbedderError(f"The embedder `{provider.name}` has no {told}. Its `config` may hold: {known}.")
    words = {provider.words[key]: value for key, value in config.items() if value is not None}
    for word, variables in provider.variables.items():
        found = next((value for variable in variables if (value := os.environ.get(variable))), None)
        if found is not None:
            words.setdefault(word, found)
    for word in _COUNTS & set(words):
        if not str(words[word]).isdecimal():
            raise EmbedderError(
                f"The `{word}` of the embedder `{provider.name}` is a whole number, not {words[word]!r}."
            )
        words[word] = int(words[word])
    return words


def _keyed(provider: Provider, words: dict[str, Any]) -> dict[str, Any]:
    if provider.key is None or words.get(provider.key):
        return words
    address = words.get("base_url")
    if provider.name == "openai" and address and _OPENAI_HOST not in address:
        return {**words, provider.key: _NO_KEY}
    variables = " or ".join(provider.variables[provider.key])
    raise EmbedderError(
        f"The embedder `{provider.name}` needs a key, and the environment has none. Set {variables}, or give "
        '{"config": {"api_key": ...}}.'
    )


def _class_of(provider: Provider) -> Any:
    purpose = f"The embedder `{provider.name}`"
    for needed in provider.needs:
        require(needed, extra=provider.extra, purpose=purpose)
    return getattr(require(provider.module, extra=provider.extra, purpose=purpose), provider.class_name)


def _shaped(provider: Provider, words: dict[str, Any]) -> dict[str, Any]:
    """Words that a class has under others."""
    words = dict(words)
    match provider.name:
        case "amazon-bedrock" if session := words.pop("session", None):
            words["client"] = session.client("bedrock-runtime", region_name=words.get("region_name"))
        case "sentence-transformer":
            for word, holder in (("device", "model_kwargs"), ("normalize_embeddings", "encode_kwargs")):
                if word in words:
                    words[holder] = {word: words.pop(word), **words.get(holder, {})}
        case _:
            pass
    return words


def _openai(words: Mapping[str, Any]) -> Any:
    unplaced = {"api_version", "azure_deployment"}  # Azure's, and of no account without it
    told = {word: value for word, value in words.items() if word not in unplaced}
    if _OPENAI_HOST not in told.get("base_url", _OPENAI_HOST):
        told["model_kwargs"] = {
            "encoding_format": "float"
        }  # what the client asks for by itself, not every server knows
    return load("langchain_openai").OpenAIEmbeddings(**told, **_client())


def _azure(words: Mapping[str, Any]) -> Any:
    if not words.get("azure_endpoint"):
        raise EmbedderError(
            'The embedder `azure` needs the address of its resource. Give {"config": {"api_base": ...}}, or set '
            "AZURE_API_BASE."
        )
    if not words.get("api_key") and not words.get("azure_ad_token"):
        raise EmbedderError(
            'The embedder `azure` needs a key. Give {"config": {"api_key": ...}}, or set AZURE_API_KEY.'
        )
    endpoint, _, path = str(words["azure_endpoint"]).rstrip("/").partition("/openai")
    deployment = words.get("azure_deployment") or path.removeprefix("/deployments/").partition("/")[0] or words["model"]
    rest = {word: value for word, value in words.items() if word != "api_type"}
    return load("langchain_openai").AzureOpenAIEmbeddings(
        **{
            "api_version": _AZURE_VERSION,
            **rest,
            "azure_endpoint": endpoint,
            "azure_deployment": deployment,
            "base_url": None,  # else the environment's, which is not for Azure
        },
        **_client(),
    )


def _ollama(words: Mapping[str, Any]) -> Embeddings:
    words = dict(words)
    address = _ollama_address(words.pop("base_url", None) or _OLLAMA)
    key, timeout = words.pop("api_key", None), words.pop("timeout", None)
    if find_spec("langchain_ollama") is None:
        more = {"timeout": timeout} if timeout else {}
        return _openai({**words, **more, "base_url": f"{address}/v1", "api_key": key or _NO_KEY})
    client: dict[str, Any] = {"headers": {"Authorization": f"Bearer {key}"}} if key else {}
    if timeout:
        client["timeout"] = timeout
    chosen = require("langchain_ollama", extra="ollama", purpose="Ollama's own protocol").OllamaEmbeddings
    return ThreadedEmbeddings(chosen(**words, base_url=address, client_kwargs=client))


def _huggingface_server(words: Mapping[str, Any]) -> Any:
    """Hugging Face's text-embeddings-inference, which speaks OpenAI's protocol beside its own."""
    address = str(words["url"]).rstrip("/").removesuffix("/embed").removesuffix("/v1")
    key = words.get("huggingfacehub_api_token") or _NO_KEY
    return _openai({"model": words["model"], "base_url": f"{address}/v1", "api_key": key})


def _ollama_address(found: str) -> str:
    """CrewAI's programs name the path, too; 0.0.0.0 is where a server listens, not where a client asks."""
    address = (found if "://" in found else f"http://{found}").replace("//0.0.0.0", "//127.0.0.1").rstrip("/")
    for path in ("/api/embeddings", "/api/embed", "/api", "/v1"):
        address = address.removesuffix(path)
    parts = urlsplit(address)
    return f"{address}:11434" if parts.scheme == "http" and parts.port is None and not parts.path else address


def _client() -> dict[str, Any]:
    """Texts are sent as texts: token numbers are for OpenAI alone, and the list of tokens would have to be downloaded."""
    make = load("openai").DefaultAsyncHttpxClient
    return {"check_embedding_ctx_length": False, "http_async_client": make(transport=LoopTransport(make))}


def _name(provider: Provider, words: Mapping[str, Any]) -> str:
    """All that changes vectors: provider, model, size and such; an address where it says which model it is."""
    model = str(words[provider.words["model"]])
    told = [provider.name, model]
    size = words.get("dimensions") or (_SIZES.get(model) if provider.module == "langchain_openai" else None)
    if size:
        told.append(str(size))
    told += [
        f"{word}={words[word]}" for word in provider.telling if words.get(word) is not None and word not in _UNNAMED
    ]
    address = _telling_address(provider, words)
    return "/".join(told) + (f"@{address}" if address else "")


_UNNAMED = {"dimensions", "url"}


def _telling_address(provider: Provider, words: Mapping[str, Any]) -> str | None:
    """The address of a server of one's own, or of a deployment, whose model may be any; without what may be secret."""
    match provider.name:
        case "openai":
            given = words.get("base_url")
        case "huggingface":
            given = words.get("url")
        case "azure" if words["model"] == words.get("azure_deployment"):
            given = words.get("azure_endpoint")
        case _:
            given = None
    parts = urlsplit(given or "")
    if not parts.hostname or parts.hostname == _OPENAI_HOST:
        return None
    return parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
