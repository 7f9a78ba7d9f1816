"""`ScriptedLLM`: a model with predefined answers, for tests, examples and notebooks."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import Lock
from typing import Any, cast

from crewgraph.core.loops.bridge import acall, call
from crewgraph.errors import ModelError
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.schema import PlainDict, PlainMapping


@dataclass(frozen=True)
class ToolUse:
    """A tool call in a script."""

    name: str
    args: PlainMapping = field(default_factory=dict[str, Any])
    thought: str = "I should use a tool."
    """The thought before the call, in the text protocol."""


@dataclass(frozen=True)
class ScriptedRequest:
    """A request that the model received."""

    messages: list[PlainDict]
    tools: list[PlainDict]

    @property
    def text(self) -> str:
        """All text of the conversation, to search in."""
        return "\n".join(text_of(message["content"]) for message in read_messages(self.messages))


Entry = str | ToolUse | Mapping[str, Any] | Sequence["ToolUse | Mapping[str, Any]"] | Exception | type[Exception]
"""One answer: a string, one or several tool calls (`ToolUse`, or a dict with `name` and `args`), or an exception to raise."""

Script = Sequence[Entry | Callable[[list[dict[str, Any]]], Entry]] | Callable[[list[dict[str, Any]]], Entry]
"""Answers in the order of requests, or a function of the messages that answers every request."""


class ScriptedLLM(BaseLLM):
    """A model with predefined answers: `ScriptedLLM(["first", ToolUse("search", {"q": "x"}), "last"])`.

    Each request consumes the next entry; a script is thread-safe. If requests run in parallel and their order matters,
    pass a function of the messages instead of a list.

    By default every word counts as one token: the words of all messages are the prompt, those of the answer the
    completion, with tool calls written in the text protocol.
    """

    requests: list[ScriptedRequest]
    """The requests so far, in order; `model.requests[0].text` is all that the first one said."""

    script: Script
    """The answers, in the order of requests, or the function that gives them."""

    native_tools: bool
    """Whether tool calls are native; otherwise they are written in the text protocol."""

    delay: float
    """Seconds before each answer."""

    repeat_last: bool
    """Whether the last entry is repeated once the script has run out."""

    stream: bool | None
    """Whether answers are streamed word by word."""

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        native_tools: bool = False,
        usage: Mapping[str, int] | None = None,
        delay: float = 0.0,
        repeat_last: bool = False,
        stream: bool = False,
        **kwargs: Any,
    ) -> None:
        """Define the answers.

        Args:
            script: The answers, or a function from the messages to an answer.
            model: The name of the model.
            native_tools: Whether tool calls are native; otherwise they are written in the text protocol.
            usage: The usage to report for each request, instead of counted words; `{}` reports none.
            delay: Seconds before each answer.
            repeat_last: Whether to repeat the last entry once the script has run out.
            stream: Whether to stream answers word by word.
            kwargs: Further arguments of `BaseLLM`.
        """
        super().__init__(model, **kwargs)
        self.script = script if callable(script) else list(script)
        self.native_tools = native_tools
        self.delay = delay
        self.repeat_last = repeat_last
        self.stream = stream
        self.requests = []
        self._usage = usage
        self._lock = Lock()
        self._has_functions = callable(script) or any(callable(e) and not isinstance(e, type) for e in script)

    def __deepcopy__(self, memo: dict[int, object]) -> "ScriptedLLM":
        """Return the model itself, so that copies of a definition share the script."""
        return self

    def __getstate__(self) -> PlainDict:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: PlainDict) -> None:
        vars(self).update(state, _lock=Lock())

    def supports_multimodal(self) -> bool:
        """Return False: files are read with a tool. Messages may hold images all the same."""
        return False

    def supports_function_calling(self) -> bool:
        """Return `native_tools`."""
        return self.native_tools

    def call(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: object | None = None,
        from_agent: object | None = None,
        response_model: object | None = None,
    ) -> str | Any:
        """Return the next answer.

        Raises:
            ModelError: The script has run out.
        """
        request, number = self._record_request(messages, tools)
        entry = self._next_entry(request, number)
        if self.delay:
            time.sleep(self.delay)
        return self._respond(request, number, entry)

    async def acall(
        self,
        messages: str | list[dict[str, object]],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: Any | None = None,
        from_agent: object | None = None,
        response_model: object | None = None,
    ) -> str | object:
        """Return the next answer; functions in the script run in a thread, because they may block."""
        request, number = self._record_request(messages, tools)
        next_entry = partial(self._next_entry, request, number)
        entry = await acall(next_entry) if self._has_functions else next_entry()
        if self.delay:
            await asyncio.sleep(self.delay)
        return self._respond(request, number, entry)

    def _respond(self, request: ScriptedRequest, number: int, entry: Entry) -> str | list[dict[str, object]]:
        if isinstance(entry, (Exception, type)):
            raise entry
        uses = _scripted_uses(entry)
        text = "\n".join(_protocol_text(use) for use in uses) if uses else cast("str", entry)
        counted = {"prompt_tokens": len(request.text.split()), "completion_tokens": len(text.split())}
        self._track_token_usage_internal(counted if self._usage is None else self._usage)
        if uses and self.native_tools:
            return [_as_tool_call(use, f"call_{number}_{position}") for use, position in zip(uses, count())]
        if self.stream:
            for piece in re.findall(r"\s*\S+|\s+$", text):
                self._emit_text(piece)
        return text

    def _record_request(
        self, messages: str | list[dict[str, object]], tools: list[PlainDict] | None
    ) -> tuple[ScriptedRequest, int]:
        entries = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
        request = ScriptedRequest(entries, list(tools or ()))
        with self._lock:
            self.requests.append(request)
            return request, len(self.requests) - 1

    def _next_entry(self, request: ScriptedRequest, number: int) -> Entry:
        if callable(self.script):
            return call(self.script, [dict(message) for message in request.messages])
        script = self.script
        if number >= len(script) and not (self.repeat_last and script):
            last = text_of(read_messages(request.messages)[-1]["content"]) if request.messages else ""
            raise ModelError(
                f"The script of `{self.model}` has {len(script)} {'answer' if len(script) == 1 else 'answers'} and this is "
                f"request {number + 1}. "
                f"Add an answer, or pass `repeat_last=True`. The last message was: {last}"
            )
        entry = script[min(number, len(script) - 1)]
        if callable(entry) and not isinstance(entry, type):
            return call(entry, [dict(message) for message in request.messages])
        return cast("Entry", entry)


def _scripted_uses(entry: Entry) -> list[ToolUse]:
    if isinstance(entry, str):
        return []
    if isinstance(entry, (ToolUse, Mapping)):
        return [_tool_use(entry)]
    if isinstance(entry, (list, tuple)) and entry:
        return [_tool_use(use) for use in cast("Sequence[ToolUse | PlainMapping]", entry)]
    raise ModelError(
        f"A script may contain strings, tool calls, exceptions and functions of the messages, not a `{type(entry).__name__}`."
    )


def _tool_use(entry: ToolUse | PlainMapping) -> ToolUse:
    if isinstance(entry, ToolUse):
        return entry
    if "name" not in entry:
        raise ModelError(f'A tool call in a script needs a name, {{"name": ..., "args": ...}}, not {entry!r}.')
    return ToolUse(entry["name"], entry.get("args", {}))


def _protocol_text(use: ToolUse) -> str:
    args = json.dumps(use.args, ensure_ascii=False)
    return f"Thought: {use.thought}\nAction: {use.name}\nAction Input: {args}"


def _as_tool_call(use: ToolUse, call_id: str) -> dict[str, object]:
    function = {"name": use.name, "arguments": json.dumps(use.args, ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}
