"""OpenAI's Responses API: settings, chaining of responses, and results of OpenAI's built-in tools.

Settings and results follow CrewAI 1.15; the items are those of https://platform.openai.com/docs/api-reference/responses.
`ResponsesMixin` adds the settings to `LLM`, `Responses` holds the state of a chain, `responses_result` parses a response.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import openai_messages, text_of
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping, is_object


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


@dataclass
class ResponsesAPIResult:
    """An answer with the results of OpenAI's built-in tools, as `LLM(..., parse_tool_outputs=True).call` returns it."""

    text: str = ""
    """The answer."""

    web_search_results: list[PlainDict] = field(default_factory=list[PlainDict])
    """Web searches: `id`, `status` and `type`."""

    file_search_results: list[PlainDict] = field(default_factory=list[PlainDict])
    """Searches of files: `id`, `status`, `type`, `queries`, and the passages as `results`."""

    code_interpreter_results: list[PlainDict] = field(default_factory=list[PlainDict])
    """Executed code: `id`, `status`, `type`, `code`, `container_id`, and what it printed or produced as `results`."""

    computer_use_results: list[PlainDict] = field(default_factory=list[PlainDict])
    """Actions that the model requests: `id`, `status`, `type`, `call_id`, `action` and `pending_safety_checks`."""

    reasoning_summaries: list[PlainDict] = field(default_factory=list[PlainDict])
    """The model's reasoning: `id`, `status`, `type`, `summary` and `encrypted_content`."""

    function_calls: list[PlainDict] = field(default_factory=list[PlainDict])
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


def responses_result(reply: Reply) -> ResponsesAPIResult:
    """Return a reply with the results of built-in tools that are in it."""
    result = ResponsesAPIResult(text=text_of(reply["content"]), response_id=reply["extra"].get("response_id"))
    for call in tool_calls(reply):
        result.function_calls.append({"id": call.id, "name": call.function.name, "arguments": call.function.arguments})
    for item in _content_items(reply["content"]):
        kind = str(item.get("type"))
        if kind not in _RESULTS:
            continue
        if kind == "file_search_call":
            found = item.get("results") or ()
            item = {"queries": [], **item, "results": [{name: one.get(name) for name in _PASSAGE} for one in found]}
        elif kind == "code_interpreter_call":
            item = {**item, "results": list(map(_interpreter_output, item.get("outputs") or ()))}
        attribute, defaults = _RESULTS[kind]
        names = ("id", "status", "type", *defaults)
        getattr(result, attribute).append({name: item.get(name, defaults.get(name)) for name in names})
    return result


_RESULTS: Mapping[str, tuple[str, PlainMapping]] = {
    "web_search_call": ("web_search_results", {}),
    "file_search_call": ("file_search_results", dict.fromkeys(("queries", "results"))),
    "code_interpreter_call": ("code_interpreter_results", dict.fromkeys(("code", "container_id", "results"))),
    "computer_call": ("computer_use_results", {"call_id": None, "action": {}, "pending_safety_checks": []}),
    "reasoning": ("reasoning_summaries", {"summary": [], "encrypted_content": None}),
}
"""Where results of the API's items are listed, and their fields with defaults, by the type of the item."""

_PASSAGE = ("file_id", "filename", "text", "score", "attributes")


def _interpreter_output(item: PlainMapping) -> PlainDict:
    if item.get("type") == "logs":
        return {"type": "logs", "logs": str(item.get("logs", ""))}
    return {"type": "files", "files": item.get("files") or [{"url": item["url"]}] if "url" in item else []}


def _setting(name: str, about: str, default: object = None) -> Any:
    """Return a property for a provider setting that is stored in `additional_params`."""

    def read(model: Any) -> Any:
        return model.additional_params.get(name, default)

    def write(model: Any, value: object) -> None:
        model.additional_params[name] = value

    return property(read, write, doc=about)


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

    def settings(self, settings: PlainMapping) -> PlainDict:
        """Return the settings of the chat model that are the same for each request."""
        body: PlainDict = {"tools": list(self.tools), "previous_response_id": self.initial_response_id}
        include = [*(settings.get("include") or ()), *([_ENCRYPTED] if self.chains_reasoning else ())]
        return {
            **settings,
            **({"include": list(dict.fromkeys(include))} if include else {}),
            "model_kwargs": {
                **{name: value for name, value in body.items() if value},
                **settings.get("model_kwargs", {}),
            },
        }

    @property
    def keywords(self) -> PlainDict:
        """What the next request has beside the messages."""
        return {"previous_response_id": self.last_id} if self.last_id else {}

    def record_answer(self, message: object) -> None:
        """Store what the next request needs from an answer, a LangChain message."""
        metadata: PlainMapping = getattr(message, "response_metadata", None) or {}
        if self.chains:
            self.last_id = metadata.get("id") or self.last_id
        if self.chains_reasoning:
            reasoning = [
                item for item in _content_items(getattr(message, "content", None)) if item.get("type") == "reasoning"
            ]
            self.reasoning = [item for item in reasoning if item.get("encrypted_content")] or None


def _content_items(content: object) -> list[PlainDict]:
    return [part for part in content if is_object(part)] if is_list(content) else []


class ResponsesMixin:
    """Adds OpenAI's Responses API to a model: `LLM(..., api="responses")`."""

    additional_params: dict[str, object]
    """Keywords that the constructor does not know; they are sent to the provider with each request."""

    _responses: Responses | None = None

    api: str = _setting("api", 'Which of OpenAI\'s APIs to use: "completions" or "responses".', "completions")
    instructions: str | None = _setting("instructions", "Instructions to the model, in addition to the conversation.")
    store: bool | None = _setting("store", "Whether OpenAI stores the responses.")
    previous_response_id: str | None = _setting(
        "previous_response_id", "The id of the response that the first request continues."
    )
    include: list[str] | None = _setting("include", "Additional data to include in responses.")
    builtin_tools: list[Any] | None = _setting(
        "builtin_tools", "OpenAI's built-in tools: names, such as `[\"web_search\"]`, or dicts in the API's format."
    )
    parse_tool_outputs: bool = _setting("parse_tool_outputs", "Whether `call` returns a `ResponsesAPIResult`.", False)
    auto_chain: bool = _setting("auto_chain", "Whether each request continues the previous response.", False)
    auto_chain_reasoning: bool = _setting(
        "auto_chain_reasoning", "Whether each request includes the previous reasoning.", False
    )

    @property
    def responses(self) -> Responses | None:
        """Settings and state of the Responses API; None if another API is used."""
        if self.api != "responses":
            return None
        configured = Responses(
            tools=[
                tool if is_mapping(tool) else BUILTIN_TOOLS.get(tool, {"type": tool})
                for tool in self.builtin_tools or ()
            ],
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
        left_out = _SETTING_NAMES if responses is None else (*_SETTING_NAMES, *_UNSUPPORTED, "previous_response_id")
        remaining = {name: value for name, value in settings.items() if name not in left_out}
        return remaining if responses is None else responses.settings(remaining)

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
