"""OpenAI's Responses API: settings, chaining of responses, and results of OpenAI's built-in tools.

Settings and results follow CrewAI 1.15; the items are those of https://platform.openai.com/docs/api-reference/responses.
`ResponsesMixin` adds the settings to `LLM`, `Responses` holds the state of a chain, `responses_result` parses a response.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, Self, TypedDict, TypeVar, cast, overload

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import openai_messages, text_of
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping

__all__ = [
    "BUILTIN_TOOLS",
    "CodeInterpreterFileResult",
    "CodeInterpreterLogResult",
    "CodeInterpreterResult",
    "ComputerUseResult",
    "FileSearchResult",
    "FileSearchResultItem",
    "ProviderSetting",
    "ReasoningSummary",
    "RequestedFunction",
    "RequestedToolCall",
    "RequestedToolCalls",
    "Responses",
    "ResponsesAPIResult",
    "ResponsesMixin",
    "WebSearchResult",
    "responses_result",
    "tool_calls",
]


class RequestedFunction(NamedTuple):
    """The function of a requested tool call."""

    name: str
    arguments: str
    """The arguments as the JSON text that the model wrote."""


class RequestedToolCall(NamedTuple):
    """A tool call that a model requested, in OpenAI's format."""

    id: str
    function: RequestedFunction
    type: str = "function"


class RequestedToolCalls(list[RequestedToolCall]):
    """The tool calls of an answer, to be passed on as the `tool_calls` of its message."""

    extra: PlainDict
    """What the provider wants back with them, such as the model's reasoning."""


def tool_calls(reply: Reply) -> RequestedToolCalls:
    """Return the tool calls of a reply in OpenAI's format."""
    written = openai_messages([{"role": "assistant", "content": "", "tool_calls": reply["tool_calls"]}])[0]
    calls = RequestedToolCalls(
        RequestedToolCall(call["id"], RequestedFunction(call["function"]["name"], call["function"]["arguments"]))
        for call in written.get("tool_calls", ())
    )
    calls.extra = reply["extra"]
    return calls


class WebSearchResult(TypedDict):
    """A web search."""

    id: str | None
    status: str | None
    type: str


class FileSearchResultItem(TypedDict):
    """A passage found by a file search."""

    file_id: str | None
    filename: str | None
    text: str | None
    score: float | None
    attributes: dict[str, str | float | bool] | None


class FileSearchResult(TypedDict):
    """A file search."""

    id: str | None
    status: str | None
    type: str
    queries: list[str]
    results: list[FileSearchResultItem]


class CodeInterpreterLogResult(TypedDict):
    """Output that code printed."""

    type: str
    logs: str


class CodeInterpreterFileResult(TypedDict):
    """Files that code produced."""

    type: str
    files: list[dict[str, object]]


class CodeInterpreterResult(TypedDict):
    """Executed code."""

    id: str | None
    status: str | None
    type: str
    code: str | None
    container_id: str | None
    results: list[CodeInterpreterLogResult | CodeInterpreterFileResult]


class ComputerUseResult(TypedDict):
    """A computer action that the model requests."""

    id: str | None
    status: str | None
    type: str
    call_id: str | None
    action: dict[str, object]
    pending_safety_checks: list[dict[str, object]]


class ReasoningSummary(TypedDict):
    """A summary of the model's reasoning."""

    id: str | None
    status: str | None
    type: str
    summary: list[PlainDict]
    encrypted_content: str | None


@dataclass
class ResponsesAPIResult:
    """An answer with the results of OpenAI's built-in tools, as `LLM(..., parse_tool_outputs=True).call` returns it."""

    text: str = ""
    """The answer."""

    web_search_results: list[WebSearchResult] = field(default_factory=list[WebSearchResult])
    file_search_results: list[FileSearchResult] = field(default_factory=list[FileSearchResult])
    code_interpreter_results: list[CodeInterpreterResult] = field(default_factory=list[CodeInterpreterResult])
    computer_use_results: list[ComputerUseResult] = field(default_factory=list[ComputerUseResult])
    reasoning_summaries: list[ReasoningSummary] = field(default_factory=list[ReasoningSummary])
    function_calls: list[dict[str, object]] = field(default_factory=list[dict[str, Any]])
    """The requested function calls: `id`, `name`, and `arguments` as JSON."""

    response_id: str | None = None
    """The id that a later request may continue from."""

    def has_tool_outputs(self) -> bool:
        """Return whether a built-in tool was used."""
        return bool(
            self.web_search_results
            or self.file_search_results
            or self.code_interpreter_results
            or self.computer_use_results
        )

    def has_reasoning(self) -> bool:
        """Return whether the response has reasoning summaries."""
        return bool(self.reasoning_summaries)


def responses_result(reply: Reply, items: Iterable[PlainMapping], response_id: str | None) -> ResponsesAPIResult:
    """Combine a reply with the results of built-in tools.

    Args:
        reply: The reply.
        items: The items of the response in the API's format.
        response_id: The id of the response.
    """
    result = ResponsesAPIResult(text=text_of(reply["content"]), response_id=response_id)
    for call in tool_calls(reply):
        result.function_calls.append({"id": call.id, "name": call.function.name, "arguments": call.function.arguments})
    for item in items:
        match item.get("type"):
            case "web_search_call":
                result.web_search_results.append(_pick_fields(WebSearchResult, item))
            case "file_search_call":
                results = [_pick_fields(FileSearchResultItem, call) for call in item.get("results") or ()]
                result.file_search_results.append(
                    _pick_fields(FileSearchResult, {"queries": [], **item, "results": results})
                )
            case "code_interpreter_call":
                outputs = [_interpreter_output(call) for call in item.get("outputs") or ()]
                result.code_interpreter_results.append(
                    _pick_fields(CodeInterpreterResult, {**item, "results": outputs})
                )
            case "computer_call":
                empty: PlainDict = {"action": {}, "pending_safety_checks": []}
                result.computer_use_results.append(_pick_fields(ComputerUseResult, {**empty, **item}))
            case "reasoning":
                result.reasoning_summaries.append(_pick_fields(ReasoningSummary, {"summary": [], **item}))
            case _:
                continue
    return result


def _pick_fields(kind: Any, item: PlainMapping) -> Any:
    return {name: item.get(name) for name in kind.__annotations__}


def _interpreter_output(item: PlainMapping) -> CodeInterpreterLogResult | CodeInterpreterFileResult:
    if item.get("type") == "logs":
        return {"type": "logs", "logs": str(item.get("logs", ""))}
    files = cast("list[PlainDict]", item.get("files") or [{"url": item["url"]}] if "url" in item else [])
    return {"type": "files", "files": files}


T = TypeVar("T")


class _HasParams(Protocol):
    additional_params: dict[str, object]


class ProviderSetting(Generic[T]):
    """Descriptor for a provider setting that is stored in `additional_params`.

    Args:
        default: The value if it is not set.
        about: The docstring.
    """

    def __init__(self, default: T, about: str) -> None:
        self._default, self.__doc__ = default, about

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, model: _HasParams, kind: type[Any]) -> T: ...
    def __get__(self, model: _HasParams | None, kind: type[Any]) -> Self | T:
        return self if model is None else cast("T", model.additional_params.get(self._name, self._default))

    def __set__(self, model: _HasParams, value: T) -> None:
        model.additional_params[self._name] = value


BUILTIN_TOOLS: Mapping[str, PlainMapping] = {
    "web_search": {"type": "web_search_preview"},
    "file_search": {"type": "file_search"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "computer_use": {"type": "computer_use_preview"},
}
"""OpenAI's built-in tools by their names in `builtin_tools`."""

_ENCRYPTED = "reasoning.encrypted_content"
_SETTING_NAMES = ("builtin_tools", "auto_chain", "auto_chain_reasoning", "parse_tool_outputs")

_UNSUPPORTED = frozenset({"frequency_penalty", "logit_bias", "logprobs", "n", "presence_penalty", "seed", "stop"})
"""Parameters of the Chat Completions API that the Responses API rejects."""

_log = redacted_logger(__name__)

_LAST_MESSAGE: ContextVar[object] = ContextVar("crewgraph_responses_answer", default=None)


@dataclass
class Responses:
    """Settings of a model for the Responses API, and the state of its chain of responses."""

    tools: Sequence[PlainMapping] = ()
    """OpenAI's built-in tools, in the API's format."""

    initial_response_id: str | None = None
    """The id of the response that the first request continues."""

    chains: bool = False
    """Whether each request continues the previous response."""

    chains_reasoning: bool = False
    """Whether each request includes the encrypted reasoning of the previous response."""

    parses_outputs: bool = False
    """Whether `LLM.call` returns a `ResponsesAPIResult`."""

    last_id: str | None = field(default=None, compare=False)
    """The id of the last response, if they are chained."""

    reasoning: list[dict[str, object]] | None = field(default=None, compare=False)
    """The reasoning of the last response, if it is chained."""

    def extend_payload(self, payload: PlainDict) -> dict[str, object]:
        """Return a request body with the previous response and the built-in tools added."""
        extended = {name: value for name, value in payload.items() if name not in _UNSUPPORTED}
        if self.tools:
            extended["tools"] = [*self.tools, *payload.get("tools", ())]
        if previous := self.last_id or self.initial_response_id:
            extended["previous_response_id"] = previous
        if self.chains_reasoning:
            extended["include"] = list(dict.fromkeys([*(payload.get("include") or ()), _ENCRYPTED]))
            extended["input"] = [*(self.reasoning or ()), *payload["input"]]
        return extended

    def record_answer(self, message: object) -> None:
        """Store what the next request needs from an answer, a LangChain message."""
        metadata: PlainMapping = getattr(message, "response_metadata", None) or {}
        if self.chains:
            self.last_id = metadata.get("id") or self.last_id
        if self.chains_reasoning:
            reasoning = [item for item in _content_items(message) if item.get("type") == "reasoning"]
            self.reasoning = [item for item in reasoning if item.get("encrypted_content")] or None
        if self.parses_outputs:
            _LAST_MESSAGE.set(message)

    def start_request(self) -> None:
        """Forget the last message, which would be wrong if a fallback answers the new request."""
        _LAST_MESSAGE.set(None)

    def result(self, reply: Reply) -> ResponsesAPIResult:
        """Combine a reply with the built-in tool results of the last answer in this context."""
        message = _LAST_MESSAGE.get()
        metadata: PlainMapping = getattr(message, "response_metadata", None) or {}
        return responses_result(reply, _content_items(message), metadata.get("id"))


def _content_items(message: object) -> list[dict[str, object]]:
    content: object = getattr(message, "content", None)
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("PlainDict", part) for part in parts if isinstance(part, dict)]


class ResponsesMixin:
    """Adds OpenAI's Responses API to a model: `LLM(..., api="responses")`."""

    additional_params: dict[str, object]
    """Keywords that the constructor does not know; they are sent to the provider with each request."""

    _responses: Responses | None = None

    api = ProviderSetting("completions", 'Which of OpenAI\'s APIs to use: "completions" or "responses".')
    instructions = ProviderSetting[str | None](None, "Instructions to the model, in addition to the conversation.")
    store = ProviderSetting[bool | None](None, "Whether OpenAI stores the responses.")
    previous_response_id = ProviderSetting[str | None](None, "The id of the response that the first request continues.")
    include = ProviderSetting[list[str] | None](None, "Additional data to include in responses.")
    builtin_tools = ProviderSetting[list[Any] | None](
        None, "OpenAI's built-in tools: names, such as `[\"web_search\"]`, or dicts in the API's format."
    )
    parse_tool_outputs = ProviderSetting(default=False, about="Whether `call` returns a `ResponsesAPIResult`.")
    auto_chain = ProviderSetting(default=False, about="Whether each request continues the previous response.")
    auto_chain_reasoning = ProviderSetting(default=False, about="Whether each request includes the previous reasoning.")

    @property
    def responses(self) -> Responses | None:
        """Settings and state of the Responses API; None if another API is used."""
        if self.api != "responses":
            return None
        configured = Responses(
            tools=[_builtin_tool(tool) for tool in self.builtin_tools or ()],
            initial_response_id=self.previous_response_id,
            chains=bool(self.auto_chain),
            chains_reasoning=bool(self.auto_chain_reasoning),
            parses_outputs=bool(self.parse_tool_outputs),
        )
        if (current := self._responses) is None:
            self._responses = configured
        elif current != configured:  # changed settings do not break the chain
            self._responses = replace(configured, last_id=current.last_id, reasoning=current.reasoning)
        return self._responses

    def request_settings(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return the settings to send in request bodies; warn about those that have no effect."""
        responses = self.responses
        ignored = [
            name
            for name in (_SETTING_NAMES if responses is None else sorted(_UNSUPPORTED - {"stop"}))
            if settings.get(name)
        ]
        if ignored:
            reason = 'it needs api="responses"' if responses is None else "the Responses API does not support it"
            _log.warning("%r: `%s` has no effect: %s", self, "`, `".join(ignored), reason)
        remaining = {name: value for name, value in settings.items() if name not in _SETTING_NAMES}
        if responses is not None:
            remaining.pop("previous_response_id", None)
        return remaining

    @property
    def last_response_id(self) -> str | None:
        """The id of the last response, which the next request continues; None without `auto_chain`."""
        return self.responses.last_id if self.responses else None

    def reset_chain(self) -> None:
        """Start a new chain with the next request."""
        if self.responses:
            self.responses.last_id = None

    @property
    def last_reasoning_items(self) -> list[dict[str, object]] | None:
        """The encrypted reasoning of the last response, sent with the next request; None without `auto_chain_reasoning`."""
        return self.responses.reasoning if self.responses else None

    def reset_reasoning_chain(self) -> None:
        """Send no previous reasoning with the next request."""
        if self.responses:
            self.responses.reasoning = None


def _builtin_tool(tool: Any) -> Mapping[str, object]:
    """Return a built-in tool in the API's format, from its name or a dict."""
    return cast("PlainMapping", tool) if isinstance(tool, Mapping) else BUILTIN_TOOLS.get(tool, {"type": tool})
