"""Which tools of an MCP server are offered to an agent."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import BaseModel

__all__ = [
    "StaticToolFilter",
    "ToolFilter",
    "ToolFilterContext",
    "create_dynamic_tool_filter",
    "create_static_tool_filter",
    "passes",
]


class ToolFilterContext(BaseModel):
    """For whom a filter decides."""

    agent: Any
    """The agent that is to have the tools."""

    server_name: str
    """The server, by a name made of its address or its command."""

    run_context: dict[str, Any] | None = None
    """Always None: agents get the same tools in every run."""


ToolFilter = Callable[[ToolFilterContext, dict[str, Any]], bool] | Callable[[dict[str, Any]], bool]
"""Says whether a tool is offered: a function of the tool (a dict with name, description, inputSchema), or of context and tool."""


class StaticToolFilter:
    """A filter by names.

    Args:
        allowed_tool_names: only these are offered; all where None.
        blocked_tool_names: these are not.
    """

    def __init__(
        self, allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
    ) -> None:
        self.allowed_tool_names = None if allowed_tool_names is None else set(allowed_tool_names)
        self.blocked_tool_names = set(blocked_tool_names or ())

    def __call__(self, tool: dict[str, Any]) -> bool:
        """Whether the tool is offered."""
        name = tool.get("name")
        return name not in self.blocked_tool_names and (
            self.allowed_tool_names is None or name in self.allowed_tool_names
        )


def create_static_tool_filter(
    allowed_tool_names: list[str] | None = None, blocked_tool_names: list[str] | None = None
) -> Callable[[dict[str, Any]], bool]:
    """A filter by names; see `StaticToolFilter`."""
    return StaticToolFilter(allowed_tool_names, blocked_tool_names)


def create_dynamic_tool_filter(
    filter_func: Callable[[ToolFilterContext, dict[str, Any]], bool],
) -> Callable[[ToolFilterContext, dict[str, Any]], bool]:
    """The function itself, a filter that looks at the agent, too."""
    return filter_func


def passes(choose: ToolFilter | None, context: ToolFilterContext, tool: dict[str, Any]) -> bool:
    """Whether a filter lets a tool pass."""
    if choose is None:
        return True
    ask = cast(Callable[..., bool], choose)
    return bool(ask(context, tool) if _takes_two(ask) else ask(tool))


def _takes_two(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) == 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
