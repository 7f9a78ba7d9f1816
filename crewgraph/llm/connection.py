"""LangChain chat models, built from the words that CrewAI's programs use.

BaseInterceptor: sees, and may change, what goes to a provider and what comes back, on the level of HTTP.

Transports that ask an interceptor, for the HTTP clients of whatever package a provider's client uses.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.loops.transport import LoopTransport
from crewgraph.errors import MissingExtra, ModelError
from crewgraph.extras import load, require
from crewgraph.lazy import lazy
from crewgraph.llm.providers import Provider, Target

__all__ = ["AsyncInterceptingTransport", "BaseInterceptor", "InterceptingTransport", "open_chat_model"]


T = TypeVar("T")
U = TypeVar("U")


class BaseInterceptor(ABC, Generic[T, U]):
    """Stands between a model and its provider: `LLM(..., interceptor=...)`, with `httpx.Request` and `httpx.Response`."""

    @abstractmethod
    def on_outbound(self, message: T) -> T:
        """Look at a request before it is sent; what it returns is sent."""

    @abstractmethod
    def on_inbound(self, message: U) -> U:
        """Look at a response before the model reads it; what it returns is read."""

    async def aon_outbound(self, message: T) -> T:
        """The same in an async run; as it stands, `on_outbound` in a thread."""
        return await in_thread(self.on_outbound, message)

    async def aon_inbound(self, message: U) -> U:
        """The same in an async run; as it stands, `on_inbound` in a thread."""
        return await in_thread(self.on_inbound, message)


class InterceptingTransport:
    """A transport that sends through a client of its own.

    Args:
        client: sends.
        interceptor: sees requests and responses.
    """

    def __init__(self, client: Any, interceptor: BaseInterceptor[Any, Any]) -> None:
        self._client, self._interceptor = client, interceptor

    def handle_request(self, request: Any) -> Any:
        """Send a request, as a client asks a transport to."""
        sent = self._interceptor.on_outbound(request)
        return self._interceptor.on_inbound(self._client.send(sent, stream=True, auth=None, follow_redirects=False))

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def __del__(self) -> None:
        self.close()  # whoever asked it is gone without a word, as models are

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncInterceptingTransport:
    """A transport around another one, on an event loop.

    Args:
        transport: sends.
        interceptor: sees requests and responses.
    """

    def __init__(self, transport: Any, interceptor: BaseInterceptor[Any, Any]) -> None:
        self._transport, self._interceptor = transport, interceptor

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, as a client asks a transport to."""
        sent = await self._interceptor.aon_outbound(request)
        return await self._interceptor.aon_inbound(await self._transport.handle_async_request(sent))

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


if TYPE_CHECKING:
    from crewgraph.llm.responses_model import chaining_class
else:
    chaining_class = lazy("crewgraph.llm.responses_model:chaining_class")

_AZURE_VERSION = "2024-06-01"
_NO_KEY = "none"  # the client wants a key, the server does not look at it

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "api_key": ("api_key", "google_api_key", "apikey", "bedrock_api_key"),
    "aws_region_name": ("region_name",),
    "base_url": ("base_url", "api_base", "url", "endpoint_url"),
    "extra_headers": ("default_headers", "additional_headers", "extra_headers"),
    "max_completion_tokens": ("max_completion_tokens", "max_tokens", "max_output_tokens", "num_predict"),
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict"),
    "model": ("model", "model_name", "model_id"),
    "stop": ("stop", "stop_sequences"),
    "stream": ("streaming",),
    "timeout": ("timeout", "request_timeout", "default_request_timeout"),
    "vertex_credentials": ("credentials",),
    "vertex_location": ("location",),
    "vertex_project": ("project",),
}


def open_chat_model(target: Target, settings: Mapping[str, Any]) -> Any:
    """The LangChain chat model for a target; nothing is sent.

    Args:
        target: the model and its provider.
        settings: CrewAI's keywords that hold something. What the LangChain class has no field for goes to the
            provider with each request.

    Raises:
        MissingExtra: the provider's package is not installed.
        MissingKey: the provider needs a key and there is none.
        ModelError: the provider's class has no place for a keyword.
    """
    words = {name: value for name, value in settings.items() if name not in settings.get("additional_drop_params", ())}
    words.pop("additional_drop_params", None)
    lenient = bool(words.pop("drop_params", False))
    address = target.address(words.pop("base_url", None))
    key = target.key(words.pop("api_key", None), address)
    words |= {"model": target.model, "base_url": address, "api_key": key}
    match target.provider.name:
        case "azure" if address is not None and "/openai/v1" not in address:
            return _azure_model(address, words)
        case "ollama" if find_spec("langchain_ollama") is None:
            return _openai_model(target, {**words, "base_url": f"{address}/v1"})
        case "ollama":
            chosen = require("langchain_ollama", extra="ollama", purpose="Ollama's own protocol").ChatOllama
            return _construct(chosen, _ollama_keywords(words), lenient=lenient)
        case "vertex_ai":
            return _construct(_class_of(target.provider), _vertex_keywords(words), lenient=lenient)
        case "bedrock":
            return _construct(_class_of(target.provider), _bedrock_keywords(words), lenient=lenient)
        case _ if target.provider.module == "langchain_openai":
            return _openai_model(target, words)
        case _:
            return _construct(_class_of(target.provider), words, lenient=lenient)


def _class_of(provider: Provider) -> Any:
    purpose = f"The provider `{provider.name}`"
    if provider.extra is not None:
        return getattr(require(provider.module, extra=provider.extra, purpose=purpose), provider.class_name)
    if find_spec(provider.module) is None:
        package = provider.module.replace("_", "-")
        raise MissingExtra(
            f"{purpose} needs the package `{package}`, which is not installed. Install it with: pip install {package}"
        )
    return getattr(load(provider.module), provider.class_name)


def _openai_model(target: Target, words: dict[str, Any]) -> Any:
    address = words["base_url"]
    elsewhere = address is not None and "api.openai.com" not in address and words.get("api") != "responses"
    if "max_tokens" in words and elsewhere:
        # ChatOpenAI would rename it to what OpenAI's own newer models want, which other servers do not know
        words["extra_body"] = {"max_tokens": words.pop("max_tokens"), **words.get("extra_body", {})}
    return _openai_client_model(load("langchain_openai").ChatOpenAI, words)


def _azure_model(address: str, words: dict[str, Any]) -> Any:
    endpoint, _, path = address.partition("/openai/deployments/")
    deployment = path.partition("/")[0] or words["model"]
    version = (
        words.pop("api_version", None) or os.environ.get("AZURE_API_VERSION") or os.environ.get("OPENAI_API_VERSION")
    )
    words = {name: value for name, value in words.items() if name != "base_url"}
    return _openai_client_model(
        load("langchain_openai").AzureChatOpenAI,
        {
            **words,
            "azure_endpoint": endpoint.removesuffix("/openai"),
            "azure_deployment": deployment,
            "api_version": version or _AZURE_VERSION,
        },
    )


def _openai_client_model(chosen: Any, words: dict[str, Any]) -> Any:
    """A model that is asked through the openai package; unknown words go into the request's body."""
    words |= words.pop("client_params", None) or {}
    headers: dict[str, str] = dict(words.pop("extra_headers", None) or {})
    if project := words.pop("project", None):
        headers["OpenAI-Project"] = project
    if headers:
        words["default_headers"] = {**headers, **words.get("default_headers", {})}
    if words.pop("api", None) == "responses":
        words["use_responses_api"] = True
        chosen = chaining_class(chosen)
    if "logprobs" in words:
        words["logprobs"] = bool(words["logprobs"])
    words["api_key"] = words["api_key"] or _NO_KEY
    words.setdefault("stream_usage", True)
    interceptor = words.pop("interceptor", None)
    if interceptor is not None:
        client = load("openai").DefaultHttpxClient
        words.setdefault("http_client", client(transport=InterceptingTransport(client(), interceptor)))
    if "http_async_client" not in words:
        client = load("openai").DefaultAsyncHttpxClient
        transport = LoopTransport(client)
        seen = transport if interceptor is None else AsyncInterceptingTransport(transport, interceptor)
        words["http_async_client"] = client(transport=seen)
    known, unknown = _split_keywords(chosen, words)
    if unknown:
        known["extra_body"] = {**unknown, **(known.get("extra_body") or {})}
    return chosen(**known)


def _ollama_keywords(words: dict[str, Any]) -> dict[str, Any]:
    client: dict[str, Any] = {}
    if key := words.pop("api_key"):
        client["headers"] = {"Authorization": f"Bearer {key}"}
    if timeout := words.pop("timeout", None):
        client["timeout"] = timeout
    if client:
        words["client_kwargs"] = {**client, **words.get("client_kwargs", {})}
    words.pop("stream", None)  # it streams whenever someone looks
    return words


def _vertex_keywords(words: dict[str, Any]) -> dict[str, Any]:
    words["vertexai"] = True
    for name, variables in {
        "project": ("VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"),
        "location": ("VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION"),
    }.items():
        found = next((os.environ[v] for v in variables if os.environ.get(v)), None)
        if found and name not in words and f"vertex_{name}" not in words:
            words[name] = found
    return words


def _bedrock_keywords(words: dict[str, Any]) -> dict[str, Any]:
    region = next(
        (os.environ[v] for v in ("AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION") if v in os.environ),
        None,
    )
    if region and "region_name" not in words and "aws_region_name" not in words:
        words["region_name"] = region
    words.pop("stream", None)
    return words


def _construct(chosen: Any, words: dict[str, Any], *, lenient: bool) -> Any:
    known, unknown = _split_keywords(chosen, {name: value for name, value in words.items() if value is not None})
    unknown.pop("stream", None)
    if unknown and "model_kwargs" in chosen.model_fields:
        known["model_kwargs"] = {**unknown, **known.get("model_kwargs", {})}
    elif unknown and not lenient:
        told = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise ModelError(
            f"`{chosen.__name__}`, which serves `{words['model']}`, has no place for {told}. "
            "Leave it out, name it in additional_drop_params, or give the LangChain model itself as llm."
        )
    return chosen(**known)


def _split_keywords(chosen: Any, words: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The words that a LangChain class has a field for, under that field's name, and the others."""
    fields = _field_names(chosen)
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for word, value in words.items():
        name = next((name for name in _SYNONYMS.get(word, (word,)) if name in fields), None)
        if name is None:
            unknown[word] = value
        else:
            known[name] = value
    return known, unknown


def _field_names(chosen: Any) -> set[str]:
    names: set[str] = set()
    for name, field in chosen.model_fields.items():
        names.add(name)
        if field.alias:
            names.add(field.alias)
        names.update(choice for choice in getattr(field.validation_alias, "choices", ()) if isinstance(choice, str))
    return names
