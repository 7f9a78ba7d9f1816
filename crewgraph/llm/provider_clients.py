"""LangChain's chat models as requests use them, and what providers' packages keep private, which is used here only.

`prepared` makes the copy of a model that is asked: it works on several event loops and in forked processes, reports its usage
while it streams, sends back what its provider wants back, and keeps the limits of an answer. The contract is in tests/llm:
`test_provider_clients.py`, `test_provider_fields.py`, `test_answer_limits.py` and `test_forked_processes.py`.
"""

import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from crewgraph.core.loops.transport import LoopTransport, client_of_fork
from crewgraph.extras import load
from crewgraph.llm.answer_limits import add_hooks
from crewgraph.llm.provider_fields import KEY, add_fields, mend, read_part
from crewgraph.redaction import redact
from crewgraph.schema import PlainDict, is_list, is_object

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI as OpenAIModel
else:
    OpenAIModel = object  # a mixin, which stands before the model's own class, whichever that is


def prepared(model: Any, make_client: Callable[[], object] | None = None) -> Any:
    """Return a copy of a LangChain model for requests; the model itself is not modified.

    Models of the openai package get connections of their own for event loops and for a forked process, unless the user
    configured an HTTP client, and of other packages those that make their clients on first use, as Anthropic's. Explicit
    `streaming` and `stream_usage` settings are kept: langchain-openai omits usage for servers other than OpenAI's.

    Args:
        model: The model.
        make_client: Returns the HTTP client for event loops, such as `client_of_loops`; None for requests of a thread.
    """
    openai_models = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    client_for_fork = client_of_fork()
    # A mock claims to be an instance.
    if openai_models is None or not issubclass(type(model), openai_models.BaseChatOpenAI):
        own = model if client_for_fork is None else _without_clients(model)
    else:
        changed: PlainDict = {}
        if model.stream_usage is None and not model.streaming:
            changed["stream_usage"] = True
        if client_for_fork is not None and model.http_client is None and model.root_client is not None:
            root = model.root_client.with_options(http_client=client_for_fork)
            changed |= {"root_client": root, "client": root.chat.completions}
        if make_client is not None and model.http_async_client is None and model.root_async_client is not None:
            root = model.root_async_client.with_options(http_client=make_client())
            changed |= {"root_async_client": root, "async_client": root.chat.completions}
        own = model.model_copy(update=changed)
        # Only methods are added, so that the instance stays as it is: its clients, private attributes and set fields.
        object.__setattr__(own, "__class__", _keeping_class(model.__class__))
    for client in _clients_of(own, on_loop=make_client is not None):
        add_hooks(client)
    return own


def status_errors() -> tuple[type[Exception], ...]:
    """Return what the openai package raises for a request that its server refuses."""
    openai: Any = sys.modules.get("openai")
    return () if openai is None else (openai.APIStatusError,)


def with_completion_limit(model: Any) -> Any:
    """Return a model that sends its `max_tokens` as `max_completion_tokens`; the model itself if it does not send it."""
    body: PlainDict = dict(getattr(model, "extra_body", None) or {})
    limit = body.pop("max_tokens", None)
    return model if limit is None else model.model_copy(update={"extra_body": body, "max_tokens": limit})


def client_of_loops() -> object:
    """Return an HTTP client that works on several event loops."""
    make_client = load("openai").DefaultAsyncHttpxClient
    return make_client(transport=LoopTransport(make_client))


def _without_clients(model: Any) -> Any:
    if not isinstance(model, BaseModel):
        return model
    own = model.model_copy()
    attributes: PlainDict = vars(own)
    for name in list(attributes):
        if isinstance(getattr(model.__class__, name, None), cached_property):
            del attributes[name]
    return own


_HOLDERS = {
    False: ("root_client", "client", "_client", "_api_client", "_httpx_client"),
    True: (
        "root_async_client",
        "async_client",
        "_async_client",
        "_client",
        "client",
        "_api_client",
        "_async_httpx_client",
    ),
}
"""Where LangChain's models and the clients of providers have their httpx client, by whether it is for an event loop."""

_DEPTH = 3


def _clients_of(model: object, on_loop: bool) -> list[Any]:
    if not issubclass(type(model), BaseModel):  # a mock claims to be a model
        return []
    found: list[Any] = []
    holders: list[Any] = [model]
    for _ in range(_DEPTH):
        parts = [getattr(holder, name, None) for holder in holders for name in _HOLDERS[on_loop]]
        holders = [part for part in parts if part is not None]
        found += [part for part in holders if isinstance(getattr(part, "event_hooks", None), dict)]
    return found


class _Keeping(OpenAIModel):
    """Keeps the provider's fields of an answer in `additional_kwargs`, and sends those of earlier answers back.

    The methods that it extends are those that LangChain's own packages for other providers extend.
    """

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> PlainDict:
        payload = cast("PlainDict", super()._get_request_payload(input_, stop=stop, **kwargs))
        entries: list[PlainDict] = payload.get("messages") or []
        if is_list(input_) and len(input_) == len(entries):
            extras = [message.additional_kwargs for message in input_]
            add_fields(entries, extras, self.model_name, partial(_asked_at, self))
        return payload

    def _create_chat_result(self, response: Any, generation_info: PlainDict | None = None) -> Any:
        answer = _plain_answer(response)
        if not answer.get("choices") and is_object(inner := answer.get("data")) and inner.get("choices"):
            answer, response = inner, inner
        choices: list[PlainDict] = answer.get("choices") or []
        mended = [
            {**choice, "message": mend(choice["message"])} if is_object(choice.get("message")) else choice
            for choice in choices
        ]
        if mended != choices:
            response = {**answer, "choices": mended}
        result: Any = super()._create_chat_result(response, generation_info)
        for generation, choice in zip(result.generations, mended, strict=True):
            _keep(self, generation, choice["message"])
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: PlainDict, default_chunk_class: type, base_generation_info: PlainDict | None
    ) -> Any:
        nested: PlainDict = chunk.get("chunk") or {}
        choices: list[PlainDict] = chunk.get("choices") or nested.get("choices") or []
        for choice in choices:
            choice["delta"] = mend(choice.get("delta") or {}, whole=False)
        converted: Any = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if converted is not None and choices:
            _keep(self, converted, choices[0]["delta"])
        return converted


def _plain_answer(response: Any) -> PlainDict:
    excluded = {"choices": {"__all__": {"message": {"parsed"}}}}  # any model of the program
    if is_object(response) or not isinstance(response, BaseModel):  # LangChain says what a page of HTML is not
        return response if is_object(response) else {}
    return response.model_dump(exclude=excluded, warnings=False)


def _keep(model: Any, generation: Any, message: PlainDict) -> None:
    if (part := read_part(message)) is not None:
        generation.message.additional_kwargs[KEY] = [{"from": [*_asked_at(model)], **part}]


def _asked_at(model: Any) -> tuple[str, str]:
    client = model.root_client or model.root_async_client
    return model.model_name, urlsplit(str(client.base_url)).netloc


@cache
def _keeping_class(model: Any) -> Any:
    """Return the subclass of a model class that keeps the fields that a provider wants back; it has the same name."""
    own = {"__module__": model.__module__, "__doc__": model.__doc__}
    return type(model)(model.__name__, (_Keeping, model), own)


def without_secrets_in_traces(model: Any) -> Any:
    """Return a chat model that shows traces no headers, passwords and the like, as LangChain does; the key it hides itself."""
    described: PlainDict = model._serialized
    fields: Mapping[str, Any] = described.get("kwargs", {})
    shown = {
        name: value if is_object(value) and "lc" in value else redact(value, name) for name, value in fields.items()
    }
    parameters = model._get_invocation_params

    def shown_parameters(*args: Any, **keywords: Any) -> Any:
        return redact(parameters(*args, **keywords))

    # In the place of a cached property and of a method; LangChain uses both for traces alone.
    vars(model).update(_serialized={**described, "kwargs": shown}, _get_invocation_params=shown_parameters)
    return model
