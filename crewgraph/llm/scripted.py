"""ScriptedLLM: a model that says what it was told to say, for tests, examples and notebooks."""

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

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Usage
from crewgraph.errors import ModelError
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.conversation import read_messages, text_of

__all__ = ["Entry", "Script", "ScriptedLLM", "ScriptedRequest", "ToolUse"]


@dataclass(frozen=True)
class ToolUse:
    """A tool call that a script makes."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    thought: str = "I should use a tool."
    """What the model says before it, in the text protocol."""


@dataclass(frozen=True)
class ScriptedRequest:
    """What the model was asked."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """All texts of the conversation, for looking something up."""
        return "\n".join(text_of(message["content"]) for message in read_messages(self.messages))


Entry = str | ToolUse | Mapping[str, Any] | Sequence["ToolUse | Mapping[str, Any]"] | Exception | type[Exception]
"""One answer: a text; a tool call (`ToolUse` or a dict with `name` and `args`) or several; an exception to
raise."""

Script = Sequence[Entry | Callable[[list[dict[str, Any]]], Entry]] | Callable[[list[dict[str, Any]]], Entry]
"""Answers in the order of the requests, or one function of the messages that answers every request."""


class ScriptedLLM(BaseLLM):
    """A model whose answers are given: `ScriptedLLM(["first", ToolUse("search", {"q": "x"}), "last"])`.

    One script may be read by many threads; each request gets the next entry. Where requests run in parallel
    and the order matters, give one function of the messages instead of a list: it keeps no state.

    Without a given usage every word counts as one token: the words of all messages as the prompt, those of
    the answer (a tool call as it is written in the text protocol) as the completion.
    """

    requests: list[ScriptedRequest]
    """What it was asked, in order."""

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
        """Give the answers.

        Args:
            script: the answers, or a function of the messages that gives one.
            model: its name.
            native_tools: whether tool calls are sent as such; else they are written in the text protocol.
            usage: the tokens of each request, instead of counted words; `{}` reports none.
            delay: seconds that each answer takes.
            repeat_last: whether the last entry is given again and again.
            stream: whether the answer is shown word by word to whoever listens.
            kwargs: as of `BaseLLM`.
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

    def __deepcopy__(self, memo: dict[int, Any]) -> "ScriptedLLM":
        """The same model: copies of a definition read the same script."""
        return self

    def supports_function_calling(self) -> bool:
        """As it was told to."""
        return self.native_tools

    def call(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Give the next answer.

        Raises:
            ModelError: the script has run out.
        """
        asked, number = self._record_request(messages, tools)
        entry = self._next_entry(asked, number)
        if self.delay:
            time.sleep(self.delay)
        return self._respond(asked, number, entry)

    async def acall(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Give the next answer; functions of the script are called in a thread, because they may block."""
        asked, number = self._record_request(messages, tools)
        read = partial(self._next_entry, asked, number)
        entry = await in_thread(read) if self._has_functions else read()
        if self.delay:
            await asyncio.sleep(self.delay)
        return self._respond(asked, number, entry)

    def _respond(self, asked: ScriptedRequest, number: int, entry: Entry) -> str | list[dict[str, Any]]:
        if isinstance(entry, (Exception, type)):
            raise entry
        uses = _tool_uses(entry)
        written = "\n".join(_as_text(use) for use in uses) if uses else cast("str", entry)
        self._report_usage(asked, written)
        if uses and self.native_tools:
            return [_as_tool_call(use, f"call_{number}_{place}") for use, place in zip(uses, count())]
        if self.stream:
            for piece in re.findall(r"\s*\S+|\s+$", written):
                self._emit_text(piece)
        return written

    def _record_request(
        self, messages: str | list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> tuple[ScriptedRequest, int]:
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
        asked = ScriptedRequest(listed, list(tools or ()))
        with self._lock:
            self.requests.append(asked)
            return asked, len(self.requests) - 1

    def _next_entry(self, asked: ScriptedRequest, number: int) -> Entry:
        if callable(self.script):
            return self.script([dict(message) for message in asked.messages])
        script = self.script
        if number >= len(script) and not (self.repeat_last and script):
            last = text_of(read_messages(asked.messages)[-1]["content"]) if asked.messages else ""
            raise ModelError(
                f"The script of `{self.model}` has {len(script)} answers and this is request {number + 1}. "
                f"Give another answer, or repeat_last=True. The last message was: {last}"
            )
        entry = script[min(number, len(script) - 1)]
        if callable(entry) and not isinstance(entry, type):
            return entry([dict(message) for message in asked.messages])
        return cast("Entry", entry)

    def _report_usage(self, asked: ScriptedRequest, written: str) -> None:
        if self._usage is not None:
            self._track_token_usage_internal(self._usage)
            return
        counted: Usage = _usage_of(len(asked.text.split()), len(written.split()))
        self._track_token_usage_internal(counted)


def _usage_of(prompt: int, completion: int) -> Usage:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "cached_prompt_tokens": 0,
        "reasoning_tokens": 0,
        "cache_creation_tokens": 0,
    }


def _tool_uses(entry: Entry) -> list[ToolUse]:
    if isinstance(entry, str):
        return []
    if isinstance(entry, (ToolUse, Mapping)):
        return [_tool_use(entry)]
    if isinstance(entry, (list, tuple)) and entry:
        return [_tool_use(use) for use in cast("Sequence[ToolUse | Mapping[str, Any]]", entry)]
    raise ModelError(
        f"A script holds texts, tool calls, exceptions and functions of the messages, not a `{type(entry).__name__}`."
    )


def _tool_use(entry: ToolUse | Mapping[str, Any]) -> ToolUse:
    if isinstance(entry, ToolUse):
        return entry
    if "name" not in entry:
        raise ModelError(f'A tool call in a script needs a name, {{"name": ..., "args": ...}}, not {entry!r}.')
    return ToolUse(entry["name"], entry.get("args", {}))


def _as_text(use: ToolUse) -> str:
    written = json.dumps(use.args, ensure_ascii=False)
    return f"Thought: {use.thought}\nAction: {use.name}\nAction Input: {written}"


def _as_tool_call(use: ToolUse, number: str) -> dict[str, Any]:
    function = {"name": use.name, "arguments": json.dumps(use.args, ensure_ascii=False)}
    return {"id": number, "type": "function", "function": function}
