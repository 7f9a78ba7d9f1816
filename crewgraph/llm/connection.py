"""Builds LangChain chat models from CrewAI's keywords.

`BaseInterceptor` may inspect and modify HTTP requests and responses; the transports call it.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.loops.transport import LoopTransport, client_of_fork, proxied_client
from crewgraph.errors import MissingExtra, ModelError
from crewgraph.extras import load, require
from crewgraph.llm.capabilities import has_strict_api, takes_max_tokens, without_blank
from crewgraph.llm.provider_clients import without_secrets_in_traces
from crewgraph.llm.providers import Provider, Target
from crewgraph.redaction import redact, redacted_logger
from crewgraph.schema import PlainDict, PlainMapping

_log = redacted_logger(__name__)

T = TypeVar("T")
U = TypeVar("U")


class BaseInterceptor(ABC, Generic[T, U]):
    """Intercepts the HTTP traffic of a model: `LLM(..., interceptor=...)`, with `httpx.Request` and `httpx.Response`."""

    @abstractmethod
    def on_outbound(self, message: T) -> T:
        """Return the request to send, which may be a modified one."""

    @abstractmethod
    def on_inbound(self, message: U) -> U:
        """Return the response to read, which may be a modified one."""

    async def aon_outbound(self, message: T) -> T:
        """Async version of `on_outbound`; by default, run it in a thread."""
        return await acall(self.on_outbound, message)

    async def aon_inbound(self, message: U) -> U:
        """Async version of `on_inbound`; by default, run it in a thread."""
        return await acall(self.on_inbound, message)


class AsyncInterceptingTransport(LoopTransport):
    """Async HTTP transport that calls an interceptor around the requests of each event loop.

    Args:
        make_client: Returns a client to send with.
        interceptor: Called for each request and response.
    """

    def __init__(self, make_client: Callable[[], object], interceptor: BaseInterceptor[Any, Any]) -> None:
        super().__init__(make_client)
        self._interceptor = interceptor

    async def handle_async_request(self, request: Any) -> Any:
        outbound = await acall(self._interceptor.aon_outbound, request)
        return await acall(self._interceptor.aon_inbound, await super().handle_async_request(outbound))


def _intercepted(client: Any, interceptor: BaseInterceptor[Any, Any]) -> Any:
    """Return a synchronous HTTP transport that calls an interceptor, and sends through a client of its own."""

    class InterceptingTransport(load("httpx").BaseTransport):
        def handle_request(self, request: Any) -> Any:
            outbound = call(interceptor.on_outbound, request)
            return call(interceptor.on_inbound, client.send(outbound, stream=True, auth=None, follow_redirects=False))

        def close(self) -> None:
            client.close()

        def __del__(self) -> None:
            self.close()  # models are garbage collected without being closed

    return InterceptingTransport()


_AZURE_VERSION = "2024-06-01"
_NO_KEY = "none"  # the client requires a key that the server ignores

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "api_key": ("api_key", "google_api_key", "apikey", "bedrock_api_key"),
    "aws_region_name": ("region_name",),
    "base_url": ("base_url", "api_base", "url", "endpoint_url"),
    "extra_headers": ("default_headers", "additional_headers", "extra_headers"),
    "max_completion_tokens": ("max_completion_tokens", "max_tokens", "max_output_tokens", "num_predict"),
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict"),
    "model": ("model", "model_name", "model_id"),
    "seed": ("seed", "random_seed"),
    "stop": ("stop", "stop_sequences"),
    "stream": ("streaming",),
    "timeout": ("timeout", "request_timeout", "default_request_timeout"),
    "vertex_credentials": ("credentials",),
    "vertex_location": ("location",),
    "vertex_project": ("project",),
}


_NOT_EVERYWHERE = (
    *("api_version", "frequency_penalty", "logit_bias", "logprobs", "max_retries", "n", "parallel_tool_calls"),
    *("presence_penalty", "reasoning_effort", "seed", "top_logprobs"),
)
"""Settings of an `LLM` that some providers do not have: there they are left out with a warning, while CrewAI ignores them."""

_SENT_WITHOUT_FIELD: Mapping[str, Sequence[str]] = {
    "litellm": _NOT_EVERYWHERE,
    "mistral": ("frequency_penalty", "n", "parallel_tool_calls", "presence_penalty", "reasoning_effort"),
}
"""Which of these settings a provider has although its LangChain class has no field for them."""

_HOLDERS = ("model_kwargs", "additional_model_request_fields")
"""Fields of LangChain classes for parameters that they do not know."""

_IGNORES_MODEL_KWARGS = ("gemini", "vertex_ai")
"""Providers whose LangChain class takes `model_kwargs` and does not send them."""


def open_chat_model(target: Target, settings: Mapping[str, Any]) -> Any:
    """Build the LangChain chat model for a target; no request is sent.

    Args:
        target: The model and its provider.
        settings: CrewAI's keywords that are set. Those without a field in the LangChain class are sent to the
            provider with each request.

    Raises:
        MissingExtra: The provider's package is not installed.
        MissingKey: The provider requires an API key and none is set.
        ModelError: The provider's class does not accept a keyword.
    """
    keywords = {
        name: value for name, value in settings.items() if name not in settings.get("additional_drop_params", ())
    }
    keywords.pop("additional_drop_params", None)
    lenient = bool(keywords.pop("drop_params", False))
    address = target.address(keywords.pop("base_url", None))
    key = target.key(keywords.pop("api_key", None), address)
    public = {"model": target.model, "base_url": address, **keywords}
    model = _chat_model(
        target, address, keywords | {"model": target.model, "base_url": address, "api_key": key}, lenient
    )
    return model if redact(public) == public else without_secrets_in_traces(model)


def _chat_model(target: Target, address: str | None, keywords: dict[str, Any], lenient: bool) -> Any:
    provider = target.provider
    if provider.name == "azure" and address is not None and "/openai/v1" not in address:
        return _azure_model(address, keywords)
    if provider.name == "ollama" and find_spec("langchain_ollama") is None:
        return _openai_model(target, {**keywords, "base_url": f"{address}/v1"})
    if provider.model_class.startswith("langchain_openai."):
        return _openai_model(target, keywords)
    if provider.name == "ollama":
        keywords = _ollama_keywords(keywords)
    # Gemini 2.5 rejects levels of thinking. Google's own OpenAI endpoint has these budgets for them.
    elif (
        provider.extra == "google"
        and "gemini-2.5" in target.model
        and keywords.get("reasoning_effort") in _GEMINI_BUDGETS
    ):
        keywords.setdefault("thinking_budget", _GEMINI_BUDGETS[keywords.pop("reasoning_effort")])
    return _construct_model(target, _provider_class(provider), keywords, lenient=lenient)


def _provider_class(provider: Provider) -> Any:
    purpose = f"The provider `{provider.name}`"
    module, _, class_name = provider.model_class.partition(".")
    if provider.extra is not None:
        return getattr(require(module, extra=provider.extra, purpose=purpose), class_name)
    if find_spec(module) is None:
        package = module.replace("_", "-")
        raise MissingExtra(
            f"{purpose} needs the package `{package}`, which is not installed. Install it with: pip install {package}"
        )
    return getattr(load(module), class_name)


def _openai_model(target: Target, keywords: dict[str, Any]) -> Any:
    address = keywords["base_url"]
    is_other_server = address is not None and "api.openai.com" not in address and keywords.get("api") != "responses"
    if "max_tokens" in keywords and is_other_server and takes_max_tokens(target.model):
        # ChatOpenAI would rename it to `max_completion_tokens`, which other servers do not know.
        keywords["extra_body"] = {"max_tokens": keywords.pop("max_tokens"), **keywords.get("extra_body", {})}
    return _openai_client_model(load("langchain_openai").ChatOpenAI, keywords)


def _azure_model(address: str, keywords: dict[str, Any]) -> Any:
    endpoint, _, path = address.partition("/openai/deployments/")
    deployment = path.partition("/")[0] or keywords["model"]
    version = (
        keywords.pop("api_version", None) or os.environ.get("AZURE_API_VERSION") or os.environ.get("OPENAI_API_VERSION")
    )
    keywords = {name: value for name, value in keywords.items() if name != "base_url"}
    return _openai_client_model(
        load("langchain_openai").AzureChatOpenAI,
        {
            **keywords,
            "azure_endpoint": endpoint.removesuffix("/openai"),
            "azure_deployment": deployment,
            "api_version": version or _AZURE_VERSION,
        },
    )


def _openai_client_model(model_class: Any, keywords: dict[str, Any]) -> Any:
    """Build a model based on the openai package; unknown keywords go into the request body."""
    keywords |= keywords.pop("client_params", None) or {}
    headers: dict[str, str] = dict(keywords.pop("extra_headers", None) or {})
    if project := keywords.pop("project", None):
        headers["OpenAI-Project"] = project
    if headers:
        keywords["default_headers"] = {**headers, **keywords.get("default_headers", {})}
    if keywords.pop("api", None) == "responses":
        keywords["use_responses_api"] = True
    if "metadata" in keywords:  # LangChain has a field of this name for its own traces
        keywords["extra_body"] = {"metadata": keywords.pop("metadata"), **(keywords.get("extra_body") or {})}
    if "logprobs" in keywords:
        keywords["logprobs"] = bool(keywords["logprobs"])
    keywords["api_key"] = keywords["api_key"] or _NO_KEY
    keywords.setdefault("stream_usage", True)
    _set_clients(keywords, keywords.pop("interceptor", None))
    known, unknown = _split_keywords(model_class, keywords)
    if unknown:
        known["extra_body"] = {**unknown, **(known.get("extra_body") or {})}
    return model_class(**known)


def _set_clients(keywords: dict[str, Any], interceptor: Any) -> None:
    """Add the HTTP clients of a model based on the openai package, unless they are given."""
    openai = load("openai")
    proxy = keywords.pop("openai_proxy", None) or os.environ.get("OPENAI_PROXY")
    keywords["openai_proxy"] = ""  # the clients have it: LangChain rejects a proxy beside a client
    if interceptor is not None:
        transport = _intercepted(openai.DefaultHttpxClient(proxy=proxy), interceptor)
        keywords.setdefault("http_client", openai.DefaultHttpxClient(transport=transport))
    elif proxy:
        keywords.setdefault("http_client", proxied_client(proxy))
    else:
        if client := client_of_fork():
            keywords.setdefault("http_client", client)
        if load("urllib.request").getproxies():
            # With LangChain's own options, httpx ignores the environment's proxies.
            keywords.setdefault("http_socket_options", ())
    if "http_async_client" not in keywords:
        make_client = partial(openai.DefaultAsyncHttpxClient, proxy=proxy)
        transport = (
            LoopTransport(make_client) if interceptor is None else AsyncInterceptingTransport(make_client, interceptor)
        )
        keywords["http_async_client"] = openai.DefaultAsyncHttpxClient(transport=transport)


def _ollama_keywords(keywords: dict[str, Any]) -> dict[str, Any]:
    client: PlainDict = {}
    headers: dict[str, str] = dict(keywords.pop("extra_headers", None) or {})
    if key := keywords.pop("api_key"):
        headers.setdefault("Authorization", f"Bearer {key}")
    if headers:
        client["headers"] = headers
    if timeout := keywords.pop("timeout", None):
        client["timeout"] = timeout
    if client:
        keywords["client_kwargs"] = {**client, **keywords.get("client_kwargs", {})}
    if (effort := keywords.pop("reasoning_effort", None)) is not None:
        keywords.setdefault("reasoning", _OLLAMA_EFFORTS.get(effort, effort))
    keywords.pop("stream", None)  # ChatOllama streams whenever a handler listens
    return keywords


_OLLAMA_EFFORTS: PlainMapping = {"none": False, "minimal": "low", "xhigh": "high"}
"""Ollama's `think` for efforts that it has no name for."""


_GEMINI_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576}
"""Tokens for thinking by `reasoning_effort`."""


def _construct_model(target: Target, model_class: Any, keywords: dict[str, Any], *, lenient: bool) -> Any:
    provider = target.provider.name
    known, unknown = _split_keywords(
        model_class, {name: value for name, value in keywords.items() if value is not None}
    )
    unknown.pop("stream", None)
    known = {**target.provider.defaults, **target.provider.environment_settings(), **known}
    if has_strict_api(model_class):
        known |= {name: without_blank(known[name]) for name in ("stop", "stop_sequences") if name in known}
    if lenient and provider == "litellm":
        unknown["drop_params"] = True  # it knows what each of its providers takes
    else:
        _leave_out(unknown, target, model_class, lenient)
    holder = next((name for name in _HOLDERS if name in model_class.model_fields), None)
    if unknown and holder is not None:
        given = known.get(holder, {})
        known[holder] = _in_body(unknown, given) if provider == "anthropic" else {**unknown, **given}
    elif unknown:
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise ModelError(
            f"`{model_class.__name__}`, which serves `{keywords['model']}`, does not accept {names}. "
            "Remove it, list it in `additional_drop_params`, or pass the LangChain model itself as `llm`."
        )
    return model_class(**known)


def _leave_out(unknown: PlainDict, target: Target, model_class: Any, lenient: bool) -> None:
    """Remove the settings that a provider does not have; a warning names each that was to have an effect."""
    provider = target.provider.name
    sent = _SENT_WITHOUT_FIELD.get(provider, ())
    sends_others = provider not in _IGNORES_MODEL_KWARGS
    can_send = sends_others and any(name in model_class.model_fields for name in _HOLDERS)
    removable = unknown if not sends_others or (lenient and not can_send) else _NOT_EVERYWHERE
    for name in [name for name in unknown if name in removable and name not in sent]:
        value = unknown.pop(name)
        if not (lenient or (name, value) == ("n", 1) or name == "max_retries"):
            _log.warning(
                "LLM(%r): `%s` is left out, because `%s` does not send it", target.model, name, model_class.__name__
            )


def _in_body(unknown: PlainDict, model_kwargs: PlainMapping) -> PlainDict:
    """Return `model_kwargs` that send unknown keywords in the body of the request."""
    body: PlainDict = {**unknown, **(unknown.get("extra_body") or {}), **(model_kwargs.get("extra_body") or {})}
    body.pop("extra_body", None)
    return {**model_kwargs, "extra_body": body}


def _split_keywords(model_class: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into those with a field in a LangChain class, by field name, and the others."""
    fields = _fields_of_class(model_class)
    known: PlainDict = {}
    unknown: PlainDict = {}
    for keyword, value in keywords.items():
        name = next((name for name in _SYNONYMS.get(keyword, (keyword,)) if name in fields), None)
        if name is None:
            unknown[keyword] = value
        else:
            known[name] = value
    return known, unknown


def _fields_of_class(model_class: Any) -> set[str]:
    names: set[str] = set()
    for name, field in model_class.model_fields.items():
        names.add(name)
        if field.alias:
            names.add(field.alias)
        names.update(choice for choice in getattr(field.validation_alias, "choices", ()) if isinstance(choice, str))
    return names
