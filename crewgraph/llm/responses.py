"""OpenAI's Responses API: what it is told beside a conversation, and what is kept of one answer for the next.

The words and results are those of CrewAI 1.15, the items of the API those of
https://platform.openai.com/docs/api-reference/responses.
"""

import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, cast

from crewgraph.core.messages import Reply
from crewgraph.llm.responses_result import ResponsesAPIResult, result_of
from crewgraph.llm.word import Word

__all__ = ["BUILTIN_TOOLS", "Chained", "Responses"]

BUILTIN_TOOLS: Mapping[str, Mapping[str, Any]] = {
    "web_search": {"type": "web_search_preview"},
    "file_search": {"type": "file_search"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "computer_use": {"type": "computer_use_preview"},
}
"""The tools that OpenAI's servers run themselves, by their names in `builtin_tools`."""

_ENCRYPTED = "reasoning.encrypted_content"
_WORDS = ("builtin_tools", "auto_chain", "auto_chain_reasoning", "parse_tool_outputs")

_UNKNOWN = frozenset({"frequency_penalty", "logit_bias", "logprobs", "n", "presence_penalty", "seed", "stop"})
"""Words of the other API, which this one's client refuses."""

_log = logging.getLogger(__name__)

_ANSWERED: ContextVar[Any] = ContextVar("crewgraph_responses_answer", default=None)


@dataclass
class Responses:
    """What a model does with the Responses API, and where its chain of responses stands."""

    tools: Sequence[Mapping[str, Any]] = ()
    """The tools that OpenAI's servers run."""

    begins: str | None = None
    """The response that the first request goes on from."""

    chains: bool = False
    """Whether each request goes on from the response before."""

    keeps_reasoning: bool = False
    """Whether each request is given the encrypted reasoning of the response before."""

    parses: bool = False
    """Whether `LLM.call` returns a `ResponsesAPIResult`."""

    last_id: str | None = field(default=None, compare=False)
    """The id of the last response, where they are chained."""

    reasoning: list[dict[str, Any]] | None = field(default=None, compare=False)
    """The reasoning of the last response, where it is kept."""

    def continued(self, payload: dict[str, Any]) -> dict[str, Any]:
        """A request's body, with what it goes on from and the tools of OpenAI's servers."""
        made = {name: value for name, value in payload.items() if name not in _UNKNOWN}
        if self.tools:
            made["tools"] = [*self.tools, *payload.get("tools", ())]
        if before := self.last_id or self.begins:
            made["previous_response_id"] = before
        if self.keeps_reasoning:
            made["include"] = list(dict.fromkeys([*(payload.get("include") or ()), _ENCRYPTED]))
            made["input"] = [*(self.reasoning or ()), *payload["input"]]
        return made

    def note(self, message: Any) -> None:
        """Keep what the next request needs of an answer, a LangChain message."""
        told: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
        if self.chains:
            self.last_id = told.get("id") or self.last_id
        if self.keeps_reasoning:
            reasoning = [one for one in _items(message) if one.get("type") == "reasoning"]
            self.reasoning = [one for one in reasoning if one.get("encrypted_content")] or None
        if self.parses:
            _ANSWERED.set(message)

    def begin(self) -> None:
        """A request begins: what was noted before is no answer to it, also where another model stands in for this one."""
        _ANSWERED.set(None)

    def result(self, reply: Reply) -> ResponsesAPIResult:
        """A reply, the last one that was noted in this context, with what the tools of OpenAI's servers did for it."""
        message = _ANSWERED.get()
        told: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
        return result_of(reply, _items(message), told.get("id"))


def _items(message: Any) -> list[dict[str, Any]]:
    content: object = getattr(message, "content", None)
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", one) for one in parts if isinstance(one, dict)]


class Chained:
    """A model that OpenAI's Responses API answers where it is made with `api="responses"`."""

    additional_params: dict[str, Any]
    _responses: Responses | None = None

    api = Word("completions", "Which of OpenAI's APIs is asked: completions or responses.")
    instructions = Word[str | None](None, "What the model is told first, beside the conversation.")
    store = Word[bool | None](None, "Whether OpenAI keeps the responses.")
    previous_response_id = Word[str | None](None, "The response that the first request goes on from.")
    include = Word[list[str] | None](None, "What else the responses are to hold.")
    builtin_tools = Word[list[Any] | None](None, "The tools that OpenAI's servers run: names, or the API's own form.")
    parse_tool_outputs = Word(default=False, about="Whether `call` returns a `ResponsesAPIResult`.")
    auto_chain = Word(default=False, about="Whether each request goes on from the response before.")
    auto_chain_reasoning = Word(default=False, about="Whether each request is given the reasoning before.")

    @property
    def responses(self) -> Responses | None:
        """What it does with the Responses API; None where it is asked through another one."""
        if self.api != "responses":
            return None
        wished = Responses(
            tools=[_tool(one) for one in self.builtin_tools or ()],
            begins=self.previous_response_id,
            chains=bool(self.auto_chain),
            keeps_reasoning=bool(self.auto_chain_reasoning),
            parses=bool(self.parse_tool_outputs),
        )
        if (known := self._responses) is None:
            self._responses = wished
        elif known != wished:  # the chain goes on, whatever else is wished from now on
            self._responses = replace(wished, last_id=known.last_id, reasoning=known.reasoning)
        return self._responses

    def without_responses(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings without what is no field of a request's body; what has no effect is told."""
        responses = self.responses
        idle = [word for word in (_WORDS if responses is None else sorted(_UNKNOWN - {"stop"})) if settings.get(word)]
        if idle:
            why = 'it needs api="responses"' if responses is None else "the Responses API does not know it"
            _log.warning("%r: `%s` is without effect: %s", self, "`, `".join(idle), why)
        left = {name: value for name, value in settings.items() if name not in _WORDS}
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


def _tool(given: Any) -> Mapping[str, Any]:
    """A tool of OpenAI's servers: by its name, or in the API's own form where it needs more than a name."""
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else BUILTIN_TOOLS.get(given, {"type": given})
