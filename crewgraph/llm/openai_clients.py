"""Copies of LangChain's OpenAI models with changes to their clients.

`across_event_loops` lets one model work on several event loops, `with_own_connections` in forked processes.
`with_streamed_usage` reports usage while streaming, `with_provider_fields` sends back what a provider wants back, and
`with_plain_requests` leaves out work that the openai package does for typed parameters and results.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.core.loops.transport import LoopTransport, client_of_fork
from crewgraph.extras import load
from crewgraph.llm.provider_fields import MESSAGE_FIELDS
from crewgraph.schema import PlainDict, PlainMapping

__all__ = [
    "UNPARSED",
    "across_event_loops",
    "client_of_loops",
    "with_own_connections",
    "with_plain_requests",
    "with_provider_fields",
    "with_streamed_usage",
]


def across_event_loops(model: object, make_client: Callable[[], object]) -> object:
    """Return a copy of a LangChain model that works on several event loops, even at the same time.

    Only models based on the openai package are changed, and only if the user did not configure an HTTP client. The
    model itself is not modified.

    Args:
        model: The model.
        make_client: Returns the HTTP client to use, such as `client_of_loops`.
    """
    chat = _openai_model(model)
    if chat is None or chat.http_async_client is not None or chat.root_async_client is None:
        return model
    client = chat.root_async_client.with_options(http_client=make_client())
    return chat.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})


def client_of_loops() -> object:
    """Return an HTTP client that works on several event loops."""
    make_client = load("openai").DefaultAsyncHttpxClient
    return make_client(transport=LoopTransport(make_client))


def with_own_connections(model: object) -> object:
    """Return a copy of a LangChain model for a forked process, which does not use the connections of its parent.

    Only models based on the openai package, whose HTTP client the user did not configure, and models that make their
    clients on first use, as Anthropic's, are changed. The model itself is not modified.
    """
    client = client_of_fork()
    if client is None:
        return model
    chat = _openai_model(model)
    if chat is None:
        return _without_clients(model)
    if chat.http_client is not None or chat.root_client is None:
        return model
    own = chat.root_client.with_options(http_client=client)
    return chat.model_copy(update={"root_client": own, "client": own.chat.completions})


def _without_clients(model: object) -> object:
    if not isinstance(model, BaseModel):
        return model
    own = model.model_copy()
    attributes: PlainDict = vars(own)
    for name in list(attributes):
        if isinstance(getattr(model.__class__, name, None), cached_property):
            del attributes[name]
    return own


def with_streamed_usage(model: object) -> object:
    """Return a copy of a LangChain model that reports usage when its answer is streamed for a listener.

    langchain-openai omits usage for servers other than OpenAI's. Explicit `streaming` and `stream_usage` settings are kept.
    The model itself is not modified.
    """
    chat = _openai_model(model)
    if chat is None or chat.stream_usage is not None or chat.streaming:
        return model
    return chat.model_copy(update={"stream_usage": True})


def with_provider_fields(model: object) -> object:
    """Return a copy of a LangChain model that keeps the fields of answers which its provider wants back, and sends them.

    langchain-openai and its descendants leave them out: reasoning, its details, and signatures. The model is not modified.
    """
    chat = _openai_model(model)
    if chat is None or not issubclass(type(chat), BaseModel):  # a mock claims to be a model
        return model
    kept = chat.model_copy()
    from crewgraph.llm.openai_models import keeping_class

    # Only methods are added, so that the instance stays as it is: its clients, private attributes and set fields.
    object.__setattr__(kept, "__class__", keeping_class(cast("type[Any]", type(chat))))
    return kept


def with_plain_requests(model: object) -> object:
    """Return a copy of a LangChain model whose requests to `/chat/completions` cost less; the model is not modified.

    The openai package compares messages and tools with every type of its API before a request, and builds a tree of
    models of the response. Both are plain data already when they come from LangChain, so messages and tools go as they
    are, and a response that holds a text or tool calls is read as it is.

    The request and the answer are the same, except that the answer lacks the names whose values are None. Whatever is not
    plain takes the package's own way: other kinds of requests and responses, streams, errors, other clients, and a
    `create` that a test or an instrumentation has replaced.
    """
    chat = _openai_model(model)
    if chat is None:
        return model
    resources = load("openai.resources.chat.completions")
    changed: dict[str, object] = {}
    if type(chat.client) is resources.Completions:
        changed["client"] = _PlainCompletions(chat.client, _RawResponses)
    if type(chat.async_client) is resources.AsyncCompletions:
        changed["async_client"] = _PlainCompletions(chat.async_client, _AsyncRawResponses)
    return chat.model_copy(update=changed) if changed else model


def _openai_model(model: object) -> Any:
    """Return a model that is based on the openai package, else None."""
    module = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    return model if module is not None and isinstance(model, module.BaseChatOpenAI) else None


class _PlainCompletions:
    """The `chat.completions` of a client, with another `with_raw_response`."""

    def __init__(self, completions: object, raw_responses: "Callable[[object], _RawResponses]") -> None:
        self._completions = completions
        self.with_raw_response = raw_responses(completions)

    def __getattr__(self, name: str) -> object:
        return getattr(self._completions, name)


class _RawResponses:
    """The `chat.completions.with_raw_response` of a client."""

    def __init__(self, completions: Any) -> None:
        self._completions = completions
        self._own = completions.with_raw_response
        self._package = str(Path(str(load("openai").__file__)).parent)

    def __getattr__(self, name: str) -> object:
        return getattr(self._own, name)

    def create(self, **request: Any) -> object:
        """Send a request and return its response, to be parsed."""
        if not self._is_plain(request):
            return self._own.create(**request)
        return _PlainResponse(self._own.create(**_unchecked(request)))

    def _is_plain(self, request: PlainDict) -> bool:
        return not request.get("stream") and _PLAIN_REQUEST.issuperset(request) and not self._is_replaced()

    def _is_replaced(self) -> bool:
        """Whether a test or an instrumentation has put something in the place of the openai package's `create`."""
        create: object = getattr(type(cast("object", self._completions)), "create", None)
        return (
            "create" in vars(self._completions)
            or not isinstance(create, FunctionType)
            or not create.__code__.co_filename.startswith(self._package)
        )


class _AsyncRawResponses(_RawResponses):
    """The `chat.completions.with_raw_response` of an asynchronous client."""

    async def create(self, **request: Any) -> object:
        """Send a request and return its response, to be parsed."""
        if not self._is_plain(request):
            return await self._own.create(**request)
        return _PlainResponse(await self._own.create(**_unchecked(request)))


_UNCHECKED = ("messages", "tools")
_PLAIN_REQUEST = frozenset(
    (*_UNCHECKED, "model", "stream", "temperature", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "n")
    + ("frequency_penalty", "presence_penalty", "parallel_tool_calls", "tool_choice", "reasoning_effort", "user")
    + ("extra_body", "extra_headers", "service_tier", "store", "metadata", "verbosity", "logit_bias")
)


def _unchecked(request: PlainDict) -> PlainDict:
    """Return a request whose messages and tools are parts of the body that the openai package does not process."""
    body: PlainDict = {name: request[name] for name in _UNCHECKED if request.get(name)}
    return {**request, **dict.fromkeys(body, ()), "extra_body": {**body, **(request.get("extra_body") or {})}}


class _PlainResponse:
    """A response of the openai package that is parsed to plain data if it holds only a text or tool calls."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __getattr__(self, name: str) -> object:
        return getattr(self._response, name)

    def parse(self) -> object:
        """Return the body: a dict if it is plain, else a model of the openai package."""
        response = self._response
        if response.headers.get("content-type", "").partition(";")[0].endswith("json"):
            body = response.parse(to=object)
            if _is_plain_answer(body):
                answer = {**_ABSENT, **cast("PlainDict", body)}
                for choice in answer["choices"]:
                    for call in choice["message"].get("tool_calls") or ():
                        function = call["function"]
                        if function["arguments"].lstrip().startswith(_NO_OBJECTS):
                            function["arguments"] = UNPARSED + function["arguments"]
                return answer
        return response.parse()


UNPARSED = "\ufeff"
"""A prefix for the arguments of a tool call that are not a JSON object, such as a list. `json.loads` rejects it, so LangChain
passes the call on as invalid, with its text; it would fail on the list itself, and the request would be repeated."""

_NO_OBJECTS = ("[", '"', "-", *"0123456789", "true", "false")

_ABSENT: PlainMapping = dict.fromkeys(("id", "model", "system_fingerprint"))  # as in a model of the openai package


def _is_plain_answer(body: object) -> bool:
    if not isinstance(body, dict):
        return False
    answer = cast("PlainDict", body)
    choices, usage = answer.get("choices"), answer.get("usage")
    return (
        isinstance(choices, list)
        and choices != []
        and not answer.get("error")
        and (usage is None or isinstance(usage, dict))
        and all(map(_is_plain_choice, cast("list[object]", choices)))
    )


_PLAIN_FIELDS = {"role", "content", "tool_calls", *MESSAGE_FIELDS}


def _is_plain_choice(choice: object) -> bool:
    message: object = cast("PlainDict", choice).get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return False
    fields = {name: value for name, value in cast("PlainDict", message).items() if value is not None}
    if not fields.keys() <= _PLAIN_FIELDS or fields.get("role") != "assistant":
        return False
    calls = fields.get("tool_calls", [])
    if not isinstance(fields.get("content", ""), str) or not isinstance(calls, list):
        return False
    return all(map(_is_plain_call, cast("list[object]", calls)))


def _is_plain_call(call: object) -> bool:
    parts = cast("PlainDict", call) if isinstance(call, dict) else {}
    function: object = parts.get("function")
    return (
        parts.get("type") == "function"
        and isinstance(parts.get("id"), str)
        and isinstance(function, dict)
        and _are_texts(cast("PlainDict", function), ("name", "arguments"))
    )


def _are_texts(parts: PlainDict, names: Sequence[str]) -> bool:
    return all(isinstance(parts.get(name), str) for name in names)
