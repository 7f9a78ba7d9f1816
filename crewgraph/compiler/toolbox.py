"""The tools of a task, as the loop uses them: offered to the model, found by name, their arguments checked."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypedDict

from crewgraph.core.effects import ToolCall
from crewgraph.core.messages import ToolSpec
from crewgraph.core.ports import Tool
from crewgraph.prompts.book import Book
from crewgraph.tools.use import Refused, checked

__all__ = ["Outcome", "Toolbox"]


class Outcome(TypedDict):
    """What came of a wish to use a tool."""

    text: str
    """What the model is shown."""

    failed: bool
    final: bool
    """Whether the text is the task's answer."""


class Toolbox:
    """Tools by the names models call them by."""

    def __init__(self, tools: Sequence[Tool], book: Book) -> None:
        self._book = book
        self._tools = {tool.name: tool for tool in tools}

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
        return "\n".join(_described(spec) for spec in self.specs)

    def prepared(self, name: str, args: dict[str, Any] | str) -> "ToolCall | Outcome":
        """The call that a model wants, or what it is told instead."""
        tool = self._tools.get(name) or self._near(name)
        if tool is None:
            key = "wrong_tool_name" if self._tools else "no_tools_here"
            return Outcome(text=self._book.error(key, tool=name, tools=self.listed), failed=True, final=False)
        usable = checked(tool, args)
        if isinstance(usable, Refused):
            return Outcome(text=usable.text, failed=True, final=False)
        return ToolCall(tool=tool, args=usable)

    def _near(self, name: str) -> Tool | None:
        wanted = _plain_name(name)
        return next((tool for known, tool in self._tools.items() if _plain_name(known) == wanted), None)


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _described(spec: ToolSpec) -> str:
    required = set(spec["parameters"].get("required", ()))
    fields: dict[str, dict[str, Any]] = spec["parameters"].get("properties", {})
    args = ", ".join(
        f'"{name}": {field.get("type", "any")}{"" if name in required else " (optional)"}'
        + (f" - {field['description']}" if field.get("description") else "")
        for name, field in fields.items()
    )
    return f"- {spec['name']}: {spec['description']}\n  Action Input: {{{args}}}"
