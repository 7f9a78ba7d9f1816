"""OpenAI's Responses API: what it is told beside a conversation, and what is kept of one answer for the next.

The words and results are those of CrewAI 1.15, the items of the API those of
https://platform.openai.com/docs/api-reference/responses.

Tool calls as `LLM.call` gives them to users.

What OpenAI's Responses API answers, taken apart: the text, and what the tools of OpenAI's servers did.

A keyword of a model that is kept among those for its provider, and read and changed like an attribute.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, Self, TypedDict, TypeVar, cast, overload

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import openai_messages, text_of

__all__ = [
    "BUILTIN_TOOLS",
    "CodeInterpreterFileResult",
    "CodeInterpreterLogResult",
    "CodeInterpreterResult",
    "ComputerUseResult",
    "FileSearchResult",
    "FileSearchResultItem",
    "FunctionCall",
    "ProviderSetting",
    "ReasoningSummary",
    "Responses",
    "ResponsesAPIResult",
    "ResponsesMixin",
    "ToolCall",
    "WebSearchResult",
    "responses_result",
    "tool_calls",
]


class FunctionCall(NamedTuple):
    """What a model wants to have called."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""


class ToolCall(NamedTuple):
    """One tool call of an answer, in OpenAI's form."""

    id: str
    function: FunctionCall
    type: str = "function"


def tool_calls(reply: Reply) -> list[ToolCall]:
    """The tool calls of a reply in OpenAI's form."""
    written = openai_messages([{"role": "assistant", "content": "", "tool_calls": reply["tool_calls"]}])[0]
    return [
        ToolCall(call["id"], FunctionCall(call["function"]["name"], call["function"]["arguments"]))
        for call in written.get("tool_calls", ())
    ]


class WebSearchResult(TypedDict):
    """A search of the web."""

    id: str | None
    status: str | None
    type: str


class FileSearchResultItem(TypedDict):
    """A passage that was found."""

    file_id: str | None
    filename: str | None
    text: str | None
    score: float | None
    attributes: dict[str, str | float | bool] | None


class FileSearchResult(TypedDict):
    """A search of files."""

    id: str | None
    status: str | None
    type: str
    queries: list[str]
    results: list[FileSearchResultItem]


class CodeInterpreterLogResult(TypedDict):
    """What code printed."""

    type: str
    logs: str


class CodeInterpreterFileResult(TypedDict):
    """What code drew or wrote."""

    type: str
    files: list[dict[str, Any]]


class CodeInterpreterResult(TypedDict):
    """Code that was run."""

    id: str | None
    status: str | None
    type: str
    code: str | None
    container_id: str | None
    results: list[CodeInterpreterLogResult | CodeInterpreterFileResult]


class ComputerUseResult(TypedDict):
    """What is to be done at a computer."""

    id: str | None
    status: str | None
    type: str
    call_id: str | None
    action: dict[str, Any]
    pending_safety_checks: list[dict[str, Any]]


class ReasoningSummary(TypedDict):
    """What the model tells of its thoughts."""

    id: str | None
    status: str | None
    type: str
    summary: list[dict[str, Any]]
    encrypted_content: str | None


@dataclass
class ResponsesAPIResult:
    """An answer, with what the tools of OpenAI's servers did for it: what `LLM(..., parse_tool_outputs=True).call` returns."""

    text: str = ""
    """The text of the answer."""

    web_search_results: list[WebSearchResult] = field(default_factory=list[WebSearchResult])
    file_search_results: list[FileSearchResult] = field(default_factory=list[FileSearchResult])
    code_interpreter_results: list[CodeInterpreterResult] = field(default_factory=list[CodeInterpreterResult])
    computer_use_results: list[ComputerUseResult] = field(default_factory=list[ComputerUseResult])
    reasoning_summaries: list[ReasoningSummary] = field(default_factory=list[ReasoningSummary])
    function_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The functions that the model wants called: `id`, `name`, and `arguments` as JSON."""

    response_id: str | None = None
    """What a later request can go on from."""

    def has_tool_outputs(self) -> bool:
        """Whether a tool of OpenAI's servers was used."""
        return bool(
            self.web_search_results
            or self.file_search_results
            or self.code_interpreter_results
            or self.computer_use_results
        )

    def has_reasoning(self) -> bool:
        """Whether the model tells of its thoughts."""
        return bool(self.reasoning_summaries)


def responses_result(reply: Reply, items: Iterable[Mapping[str, Any]], response_id: str | None) -> ResponsesAPIResult:
    """A reply with what was done for it.

    Args:
        reply: the reply.
        items: the items of the response, in the API's own form.
        response_id: the response's id.
    """
    made = ResponsesAPIResult(text=text_of(reply["content"]), response_id=response_id)
    for one in tool_calls(reply):
        made.function_calls.append({"id": one.id, "name": one.function.name, "arguments": one.function.arguments})
    for item in items:
        match item.get("type"):
            case "web_search_call":
                made.web_search_results.append(_pick_fields(WebSearchResult, item))
            case "file_search_call":
                found = [_pick_fields(FileSearchResultItem, one) for one in item.get("results") or ()]
                made.file_search_results.append(
                    _pick_fields(FileSearchResult, {"queries": [], **item, "results": found})
                )
            case "code_interpreter_call":
                outputs = [_interpreter_output(one) for one in item.get("outputs") or ()]
                made.code_interpreter_results.append(_pick_fields(CodeInterpreterResult, {**item, "results": outputs}))
            case "computer_call":
                empty: dict[str, Any] = {"action": {}, "pending_safety_checks": []}
                made.computer_use_results.append(_pick_fields(ComputerUseResult, {**empty, **item}))
            case "reasoning":
                made.reasoning_summaries.append(_pick_fields(ReasoningSummary, {"summary": [], **item}))
            case _:
                continue
    return made


def _pick_fields(kind: Any, item: Mapping[str, Any]) -> Any:
    return {name: item.get(name) for name in kind.__annotations__}


def _interpreter_output(item: Mapping[str, Any]) -> CodeInterpreterLogResult | CodeInterpreterFileResult:
    if item.get("type") == "logs":
        return {"type": "logs", "logs": str(item.get("logs", ""))}
    files = cast("list[dict[str, Any]]", item.get("files") or [{"url": item["url"]}] if "url" in item else [])
    return {"type": "files", "files": files}


T = TypeVar("T")


class _HasParams(Protocol):
    additional_params: dict[str, Any]


class ProviderSetting(Generic[T]):
    """An attribute that is one of the `additional_params`.

    Args:
        default: what it is where it was not given.
        about: what it is for.
    """

    def __init__(self, default: T, about: str) -> None:
        self._default, self.__doc__ = default, about

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, model: _HasParams, kind: type[Any]) -> T: ...
    def __get__(self, model: _HasParams | None, kind: type[Any]) -> Self | T:
        return self if model is None else cast("T", model.additional_params.get(self._name, self._default))

    def __set__(self, model: _HasParams, value: T) -> None:
        model.additional_params[self._name] = value


BUILTIN_TOOLS: Mapping[str, Mapping[str, Any]] = {
    "web_search": {"type": "web_search_preview"},
    "file_search": {"type": "file_search"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "computer_use": {"type": "computer_use_preview"},
}
"""The tools that OpenAI's servers run themselves, by their names in `builtin_tools`."""

_ENCRYPTED = "reasoning.encrypted_content"
_SETTING_NAMES = ("builtin_tools", "auto_chain", "auto_chain_reasoning", "parse_tool_outputs")

_UNSUPPORTED = frozenset({"frequency_penalty", "logit_bias", "logprobs", "n", "presence_penalty", "seed", "stop"})
"""Words of the other API, which this one's client refuses."""

_log = logging.getLogger(__name__)

_LAST_MESSAGE: ContextVar[Any] = ContextVar("crewgraph_responses_answer", default=None)


@dataclass
class Responses:
    """What a model does with the Responses API, and where its chain of responses stands."""

    tools: Sequence[Mapping[str, Any]] = ()
    """The tools that OpenAI's servers run."""

    initial_response_id: str | None = None
    """The response that the first request goes on from."""

    chains: bool = False
    """Whether each request goes on from the response before."""

    chains_reasoning: bool = False
    """Whether each request is given the encrypted reasoning of the response before."""

    parses_outputs: bool = False
    """Whether `LLM.call` returns a `ResponsesAPIResult`."""

    last_id: str | None = field(default=None, compare=False)
    """The id of the last response, where they are chained."""

    reasoning: list[dict[str, Any]] | None = field(default=None, compare=False)
    """The reasoning of the last response, where it is kept."""

    def extend_payload(self, payload: dict[str, Any]) -> dict[str, Any]:
        """A request's body, with what it goes on from and the tools of OpenAI's servers."""
        made = {name: value for name, value in payload.items() if name not in _UNSUPPORTED}
        if self.tools:
            made["tools"] = [*self.tools, *payload.get("tools", ())]
        if before := self.last_id or self.initial_response_id:
            made["previous_response_id"] = before
        if self.chains_reasoning:
            made["include"] = list(dict.fromkeys([*(payload.get("include") or ()), _ENCRYPTED]))
            made["input"] = [*(self.reasoning or ()), *payload["input"]]
        return made

    def record_answer(self, message: Any) -> None:
        """Keep what the next request needs of an answer, a LangChain message."""
        told: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
        if self.chains:
            self.last_id = told.get("id") or self.last_id
        if self.chains_reasoning:
            reasoning = [one for one in _content_items(message) if one.get("type") == "reasoning"]
            self.reasoning = [one for one in reasoning if one.get("encrypted_content")] or None
        if self.parses_outputs:
            _LAST_MESSAGE.set(message)

    def start_request(self) -> None:
        """A request begins: what was noted before is no answer to it, also where another model stands in for this one."""
        _LAST_MESSAGE.set(None)

    def result(self, reply: Reply) -> ResponsesAPIResult:
        """A reply, the last one that was noted in this context, with what the tools of OpenAI's servers did for it."""
        message = _LAST_MESSAGE.get()
        told: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
        return responses_result(reply, _content_items(message), told.get("id"))


def _content_items(message: Any) -> list[dict[str, Any]]:
    content: object = getattr(message, "content", None)
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", one) for one in parts if isinstance(one, dict)]


class ResponsesMixin:
    """A model that OpenAI's Responses API answers where it is made with `api="responses"`."""

    additional_params: dict[str, Any]
    _responses: Responses | None = None

    api = ProviderSetting("completions", "Which of OpenAI's APIs is asked: completions or responses.")
    instructions = ProviderSetting[str | None](None, "What the model is told first, beside the conversation.")
    store = ProviderSetting[bool | None](None, "Whether OpenAI keeps the responses.")
    previous_response_id = ProviderSetting[str | None](None, "The response that the first request goes on from.")
    include = ProviderSetting[list[str] | None](None, "What else the responses are to hold.")
    builtin_tools = ProviderSetting[list[Any] | None](
        None, "The tools that OpenAI's servers run: names, or the API's own form."
    )
    parse_tool_outputs = ProviderSetting(default=False, about="Whether `call` returns a `ResponsesAPIResult`.")
    auto_chain = ProviderSetting(default=False, about="Whether each request goes on from the response before.")
    auto_chain_reasoning = ProviderSetting(default=False, about="Whether each request is given the reasoning before.")

    @property
    def responses(self) -> Responses | None:
        """What it does with the Responses API; None where it is asked through another one."""
        if self.api != "responses":
            return None
        wished = Responses(
            tools=[_builtin_tool(one) for one in self.builtin_tools or ()],
            initial_response_id=self.previous_response_id,
            chains=bool(self.auto_chain),
            chains_reasoning=bool(self.auto_chain_reasoning),
            parses_outputs=bool(self.parse_tool_outputs),
        )
        if (known := self._responses) is None:
            self._responses = wished
        elif known != wished:  # the chain goes on, whatever else is wished from now on
            self._responses = replace(wished, last_id=known.last_id, reasoning=known.reasoning)
        return self._responses

    def request_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings without what is no field of a request's body; what has no effect is told."""
        responses = self.responses
        idle = [
            word
            for word in (_SETTING_NAMES if responses is None else sorted(_UNSUPPORTED - {"stop"}))
            if settings.get(word)
        ]
        if idle:
            why = 'it needs api="responses"' if responses is None else "the Responses API does not know it"
            _log.warning("%r: `%s` is without effect: %s", self, "`, `".join(idle), why)
        left = {name: value for name, value in settings.items() if name not in _SETTING_NAMES}
        if responses is not None:
            left.pop("previous_response_id", None)
        return left

    @property
    def last_response_id(self) -> str | None:
        """The id of the last response, which the next request goes on from; None without `auto_chain`."""
        return self.responses.last_id if self.responses else None

    def reset_chain(self) -> None:
        """Let the next request go on from no response."""
        if self.responses:
            self.responses.last_id = None

    @property
    def last_reasoning_items(self) -> list[dict[str, Any]] | None:
        """The encrypted reasoning of the last response, which the next request is given; None without `auto_chain_reasoning`."""
        return self.responses.reasoning if self.responses else None

    def reset_reasoning_chain(self) -> None:
        """Let the next request be given no reasoning of another one."""
        if self.responses:
            self.responses.reasoning = None


def _builtin_tool(given: Any) -> Mapping[str, Any]:
    """A tool of OpenAI's servers: by its name, or in the API's own form where it needs more than a name."""
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else BUILTIN_TOOLS.get(given, {"type": given})
