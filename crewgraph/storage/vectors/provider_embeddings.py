"""LangChain `Embeddings` of providers, created from CrewAI's configuration; creating them sends nothing.

`RequestEmbeddings` splits texts into requests that OpenAI-compatible services accept.
"""

import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from langchain_core.embeddings import Embeddings

from crewgraph.core.loops.transport import LoopTransport, proxied_client
from crewgraph.core.operations import Do, Program
from crewgraph.errors import EmbedderError
from crewgraph.extras import load, require
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.storage.vectors.embedder import (
    CheckedEmbeddings,
    NamedEmbedder,
    ProgramEmbeddings,
    ThreadedEmbeddings,
    shared_embedder,
)
from crewgraph.storage.vectors.providers import EMBEDDING_PROVIDERS, EmbeddingProvider

# In bytes of UTF-8, for tokens cannot be counted without the model's own list of them. A token is rarely less than 1.3 bytes,
# so that these hold OpenAI's bounds: 8,191 tokens in a text, 300,000 tokens and 2,048 texts in a request.
_LONGEST_TEXT = 10_000
_LARGEST_REQUEST = 300_000
_MOST_TEXTS = 512


class RequestEmbeddings(ProgramEmbeddings):
    """Embeddings over HTTP: many texts are split into several requests, and a long text into parts whose vectors are averaged.

    Args:
        source: sends a request, and retries it where that helps.
        label: its name in errors.

    Raises:
        EmbedderError: from each method, if the response cannot be used. Errors of HTTP clients pass unchanged.
    """

    is_symmetric = True

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label

    def documents(self, texts: list[str]) -> Program[list[list[float]]]:
        parts = [_split_text(text) for text in texts]
        vectors: list[list[float]] = []
        for request in _request_batches(parts):
            with _readable_errors(self.label):
                answer = yield Do(self.source.embed_documents, self.source.aembed_documents, request)
                if len(answer) != len(request):  # raise here: it would shift the vectors of other texts
                    raise EmbedderError(
                        f"The embedder {self.label} returned {len(answer)} vectors for {len(request)} texts."
                    )
            vectors += answer
        return _join_parts(parts, vectors)

    def query(self, text: str) -> Program[list[float]]:
        return (yield from self.documents([text]))[0]


@contextmanager
def _readable_errors(label: str) -> Generator[None]:
    """Turn parsing errors of the client library into an `EmbedderError`."""
    try:
        yield
    except EmbedderError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise EmbedderError(
            f"The embedder {label} got a response that cannot be read: {error} "
            "Check that its address is that of an OpenAI-compatible API; most end in /v1."
        ) from error


def _split_text(text: str) -> list[str]:
    """Split a text into parts that are short enough, between words if possible; services reject blank texts."""
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


def _request_batches(parts: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    request: list[str] = []
    size = 0
    for part in (part for text_parts in parts for part in text_parts):
        length = len(part.encode("utf-8"))
        if request and (size + length > _LARGEST_REQUEST or len(request) == _MOST_TEXTS):
            yield request
            request, size = [], 0
        request.append(part)
        size += length
    if request:
        yield request


def _join_parts(parts: Sequence[Sequence[str]], vectors: Sequence[list[float]]) -> list[list[float]]:
    """One vector for each text: that of its only part, or the normalized mean of its parts weighted by length."""
    joined: list[list[float]] = []
    rest = iter(vectors)
    for text_parts in parts:
        first = next(rest)
        if len(text_parts) > 1:
            weighed: list[tuple[int, list[float]]] = [
                (len(text_parts[0]), first),
                *((len(part), next(rest)) for part in text_parts[1:]),
            ]
            sums: list[float] = [
                math.fsum(column) for column in zip(*([w * n for n in v] for w, v in weighed), strict=True)
            ]
            length = math.sqrt(math.fsum(number * number for number in sums)) or 1.0
            first = [number / length for number in sums]
        joined.append(first)
    return joined


_OPENAI_HOST = "api.openai.com"
_OLLAMA = "http://localhost:11434"
_AZURE_VERSION = "2024-02-01"
_NO_KEY = "none"  # the client requires a key, the server ignores it
_INTEGER_ARGUMENTS = {"dimensions", "output_dimensionality", "output_dimension"}
_SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


def open_provider(provider: EmbeddingProvider, config: Mapping[str, object]) -> NamedEmbedder:
    """The embedder of a provider; the same object while it is in use.

    Args:
        provider: the provider.
        config: CrewAI's keys; those missing or None are taken from the environment.

    Raises:
        EmbedderError: a key of the configuration is unknown; a model, an address or a key is missing.
        MissingExtra: the provider's package is not installed; the message says how to install it.
    """
    arguments = _class_arguments(provider, config)
    if provider.name == "openai" and str(arguments.pop("api_type", "")).startswith("azure"):
        return open_provider(EMBEDDING_PROVIDERS["azure"], {**config, "api_type": None})
    model = provider.arguments["model"]
    complete = {**provider.defaults, **arguments}
    if provider.name == "huggingface" and complete.get("url"):
        complete.setdefault(model, "server")  # an inference server has one model, and requests do not name it
    complete[model] = complete.get(model) or complete.get("azure_deployment") or provider.model
    if complete[model] is None:
        raise EmbedderError(f'The embedder `{provider.name}` needs a model: {{"config": {{"model_name": ...}}}}.')
    arguments = _with_key(provider, complete)
    name = _vectors_name(provider, arguments)

    def create() -> NamedEmbedder:
        return NamedEmbedder(CheckedEmbeddings(_embeddings(provider, arguments, name), name), name, provider)

    return shared_embedder(provider, arguments, create)


def _embeddings(provider: EmbeddingProvider, arguments: dict[str, object], name: str) -> Embeddings:
    match provider.name:
        case "azure":
            return RequestEmbeddings(_azure(arguments), name)
        case "huggingface" if arguments.get("url"):
            return RequestEmbeddings(_huggingface_server(arguments), name)
        case "ollama":
            return RequestEmbeddings(_ollama(arguments), name)
        case _ if provider.module == "langchain_openai":
            return RequestEmbeddings(_openai(arguments), name)
        case _:
            return ThreadedEmbeddings(_embeddings_class(provider)(**_nested_arguments(provider, arguments)))


def _class_arguments(provider: EmbeddingProvider, config: PlainMapping) -> dict[str, object]:
    """The arguments of the provider's class, from a configuration and the environment."""
    unknown = sorted(set(config) - set(provider.arguments))
    if unknown:
        unknown_keys = ", ".join(f"`{key}`" for key in unknown)
        accepted = ", ".join(sorted(provider.arguments))
        raise EmbedderError(f"The embedder `{provider.name}` has no {unknown_keys}. Its `config` may hold: {accepted}.")
    arguments = {provider.arguments[key]: value for key, value in config.items() if value is not None}
    for word, variables in provider.variables.items():
        value = next((text for variable in variables if (text := os.environ.get(variable))), None)
        if value is not None:
            arguments.setdefault(word, value)
    for word in _INTEGER_ARGUMENTS & set(arguments):
        if not str(arguments[word]).isdecimal():
            raise EmbedderError(
                f"The `{word}` of the embedder `{provider.name}` must be an integer, not {arguments[word]!r}."
            )
        arguments[word] = int(arguments[word])
    return arguments


def _with_key(provider: EmbeddingProvider, arguments: PlainDict) -> dict[str, object]:
    if provider.key is None or arguments.get(provider.key):
        return arguments
    address = arguments.get("base_url")
    if provider.name == "openai" and address and _OPENAI_HOST not in address:
        return {**arguments, provider.key: _NO_KEY}
    variables = " or ".join(provider.variables[provider.key])
    raise EmbedderError(
        f'The embedder `{provider.name}` needs an API key. Set {variables}, or pass {{"config": {{"api_key": ...}}}}.'
    )


def _embeddings_class(provider: EmbeddingProvider) -> Any:
    purpose = f"The embedder `{provider.name}`"
    for needed in provider.requires:
        require(needed, extra=provider.extra, purpose=purpose)
    return getattr(require(provider.module, extra=provider.extra, purpose=purpose), provider.class_name)


def _nested_arguments(provider: EmbeddingProvider, arguments: PlainDict) -> dict[str, object]:
    """Move arguments to where the class expects them."""
    arguments = dict(arguments)
    match provider.name:
        case "amazon-bedrock" if session := arguments.pop("session", None):
            arguments["client"] = session.client("bedrock-runtime", region_name=arguments.get("region_name"))
        case "sentence-transformer":
            for word, holder in (("device", "model_kwargs"), ("normalize_embeddings", "encode_kwargs")):
                if word in arguments:
                    arguments[holder] = {word: arguments.pop(word), **arguments.get(holder, {})}
        case _:
            pass
    return arguments


def _openai(arguments: PlainMapping) -> Any:
    unplaced = {"api_version", "azure_deployment"}  # Azure's, and of no account without it
    arguments_sent = {word: value for word, value in arguments.items() if word not in unplaced}
    if _OPENAI_HOST not in arguments_sent.get("base_url", _OPENAI_HOST):
        arguments_sent["model_kwargs"] = {"encoding_format": "float"}  # not every server supports the client's defaults
    return load("langchain_openai").OpenAIEmbeddings(**arguments_sent, **_client())


def _azure(arguments: Mapping[str, object]) -> Any:
    if not arguments.get("azure_endpoint"):
        raise EmbedderError(
            'The embedder `azure` needs the address of its resource. Pass {"config": {"api_base": ...}}, or set '
            "AZURE_API_BASE."
        )
    if not arguments.get("api_key") and not arguments.get("azure_ad_token"):
        raise EmbedderError(
            'The embedder `azure` needs a key. Pass {"config": {"api_key": ...}}, or set AZURE_API_KEY.'
        )
    endpoint, _, path = str(arguments["azure_endpoint"]).rstrip("/").partition("/openai")
    deployment = (
        arguments.get("azure_deployment") or path.removeprefix("/deployments/").partition("/")[0] or arguments["model"]
    )
    rest = {word: value for word, value in arguments.items() if word != "api_type"}
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


def _ollama(arguments: PlainMapping) -> Embeddings:
    arguments = dict(arguments)
    address = _ollama_server(arguments.pop("base_url", None) or _OLLAMA)
    key, timeout = arguments.pop("api_key", None), arguments.pop("timeout", None)
    if find_spec("langchain_ollama") is None:
        timeouts = {"timeout": timeout} if timeout else {}
        return _openai({**arguments, **timeouts, "base_url": f"{address}/v1", "api_key": key or _NO_KEY})
    client: dict[str, object] = {"headers": {"Authorization": f"Bearer {key}"}} if key else {}
    if timeout:
        client["timeout"] = timeout
    embeddings_class = require("langchain_ollama", extra="ollama", purpose="Ollama's own protocol").OllamaEmbeddings
    return ThreadedEmbeddings(embeddings_class(**arguments, base_url=address, client_kwargs=client))


def _huggingface_server(arguments: Mapping[str, object]) -> Any:
    """Hugging Face's text-embeddings-inference, which also offers OpenAI's protocol."""
    address = str(arguments["url"]).rstrip("/").removesuffix("/embed").removesuffix("/v1")
    key = arguments.get("huggingfacehub_api_token") or _NO_KEY
    return _openai({"model": arguments["model"], "base_url": f"{address}/v1", "api_key": key})


def _ollama_server(url: str) -> str:
    """Normalize an address, which may include a path; 0.0.0.0 is where a server listens, not where it is reached."""
    address = (url if "://" in url else f"http://{url}").replace("//0.0.0.0", "//127.0.0.1").rstrip("/")
    for path in ("/api/embeddings", "/api/embed", "/api", "/v1"):
        address = address.removesuffix(path)
    parts = urlsplit(address)
    return f"{address}:11434" if parts.scheme == "http" and parts.port is None and not parts.path else address


def _client() -> PlainDict:
    """Send texts, not token ids, which only OpenAI accepts and which would need a download of the vocabulary."""
    openai = load("openai")
    proxy = os.environ.get("OPENAI_PROXY")
    transport = LoopTransport(partial(openai.DefaultAsyncHttpxClient, proxy=proxy))
    return {
        "check_embedding_ctx_length": False,
        "openai_proxy": "",  # the clients have it: LangChain rejects a proxy beside a client
        "http_client": proxied_client(proxy) if proxy else None,
        "http_async_client": openai.DefaultAsyncHttpxClient(transport=transport),
    }


def _vectors_name(provider: EmbeddingProvider, arguments: Mapping[str, object]) -> str:
    """Everything that affects vectors: provider, model, size and such; an address if it determines the model."""
    model = str(arguments[provider.arguments["model"]])
    parts = [provider.name, model]
    size = arguments.get("dimensions") or (_SIZES.get(model) if provider.module == "langchain_openai" else None)
    if size:
        parts.append(str(size))
    parts += [
        f"{word}={arguments[word]}"
        for word in provider.identity_arguments
        if arguments.get(word) is not None and word not in _NAMED_ELSEWHERE
    ]
    address = _identity_address(provider, arguments)
    return "/".join(parts) + (f"@{address}" if address else "")


_NAMED_ELSEWHERE = {"dimensions", "url"}


def _identity_address(provider: EmbeddingProvider, arguments: PlainMapping) -> str | None:
    """The address of a self-hosted server or a deployment, which may serve any model; without credentials."""
    match provider.name:
        case "openai":
            url = arguments.get("base_url")
        case "huggingface":
            url = arguments.get("url")
        case "azure" if arguments["model"] == arguments.get("azure_deployment"):
            url = arguments.get("azure_endpoint")
        case _:
            url = None
    parts = urlsplit(url or "")
    if not parts.hostname or parts.hostname == _OPENAI_HOST:
        return None
    return parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
