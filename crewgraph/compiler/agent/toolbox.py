"""The tools of a task, as the loop uses them: offered to the model, found by name, their arguments checked."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NotRequired, Protocol, TypedDict

from crewgraph.core.effects import Effect
from crewgraph.core.messages import ToolSpec
from crewgraph.core.protocols import Tool
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.failure import ToolFailure, ToolFailureReason
from crewgraph.tools.structured import prompt_text
from crewgraph.tools.use import unknown_tool_message

__all__ = ["PreparedCall", "PreparedTool", "ToolOutcome", "Toolbox"]


class ToolOutcome(TypedDict):
    """What came of a wish to use a tool."""

    text: str
    """What the model is shown."""

    failed: bool
    final: bool
    """Whether the text is the task's answer."""

    blocked: NotRequired[bool]
    """Whether a hook did not let it happen: it is no fault then of the model or the tool."""

    failure: NotRequired[dict[str, Any]]
    """Where it failed: the `ToolFailure`, as plain data."""

    shown: NotRequired[list[dict[str, Any]]]
    """Blocks of content that the model is shown besides, such as images."""


class PreparedTool(Tool, Protocol):
    """A tool that reads what a model wrote for it; its results are `Outcome`s."""

    @property
    def require_approval(self) -> bool | Callable[..., Any]:
        """Whether a person has to allow its calls, or a function that says so of a call's arguments."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether what it gave is kept, and given again."""
        ...

    def prepare(self, written: dict[str, Any] | str) -> dict[str, Any] | Refusal:
        """The arguments, or what is wrong with them."""
        ...

    def effect(self, args: dict[str, Any]) -> Effect:
        """Its use with these arguments, as a body asks for it; the result is an `Outcome`."""
        ...

    def known(self, args: dict[str, Any]) -> ToolOutcome | None:
        """What it gave for these arguments before; None where that is not known."""
        ...

    async def aknown(self, args: dict[str, Any]) -> ToolOutcome | None:
        """The same on this event loop."""
        ...


@dataclass(frozen=True)
class PreparedCall:
    """A use of a tool that a model wants."""

    tool: PreparedTool
    args: dict[str, Any]

    @property
    def effect(self) -> Effect:
        """It, as a body asks for it; the result is an `Outcome`."""
        return self.tool.effect(self.args)


class Toolbox:
    """Tools by the names models call them by."""

    def __init__(self, tools: Mapping[str, PreparedTool]) -> None:
        self._tools = tools

    def __bool__(self) -> bool:
        return bool(self._tools)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """How a model with native tool calls sees them."""
        return tuple(tool.spec for tool in self._tools.values())

    @cached_property
    def listed(self) -> str:
        """Their names, for a text."""
        return ", ".join(self._tools)

    @cached_property
    def described(self) -> str:
        """What they do and take, for a text."""
        return "\n\n".join(prompt_text(spec) for spec in self.specs)

    def prepared(self, name: str, written: dict[str, Any] | str) -> PreparedCall | ToolOutcome:
        """The use that a model wants, or what it is told instead."""
        tool = self.named(name)
        if tool is None:
            return _refused(unknown_tool_message(name, self._tools), ToolFailureReason.UNKNOWN_TOOL, name)
        args = tool.prepare(written)
        if isinstance(args, Refusal):
            return _refused(args.text, ToolFailureReason.INVALID_INPUT)
        return PreparedCall(tool, args)

    def named(self, name: str) -> PreparedTool | None:
        """The tool of a name, which need not be written exactly."""
        if name in self._tools:
            return self._tools[name]
        wanted = _plain_name(name)
        return next((tool for known, tool in self._tools.items() if _plain_name(known) == wanted), None)


def _refused(text: str, reason: ToolFailureReason, code: str | None = None) -> ToolOutcome:
    failure = ToolFailure(message=text, reason=reason, code=code)
    return ToolOutcome(text=text, failed=True, final=False, failure=failure.model_dump(mode="json"))


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
