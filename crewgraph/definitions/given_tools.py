"""Tools, as users give them to agents and tasks."""

from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, ValidationError

from crewgraph.deprecations import warn_deprecated
from crewgraph.tools.adapt import as_tool

__all__ = ["GivenTools"]


def _made(tools: Any) -> Any:
    """Classes of tools that need no arguments are made; a single tool stays what it is, and is refused as no list."""
    if not isinstance(tools, (list, tuple)):
        return tools
    return [_instance(tool) if isinstance(tool, type) else tool for tool in cast("list[Any]", tools)]


def _instance(kind: type[Any]) -> Any:
    try:
        made = kind()
    except (TypeError, ValidationError):
        return kind  # it wants arguments: told with what a tool is
    warn_deprecated(f"`tools=[{kind.__name__}]`, a class", f"write `tools=[{kind.__name__}()]`")
    return made


def _usable(tools: list[Any] | None) -> list[Any] | None:
    for tool in tools or ():
        as_tool(tool)
    return tools


GivenTools = Annotated[list[Any] | None, BeforeValidator(_made), AfterValidator(_usable)]
"""crewgraph tools, LangChain tools, or functions with a docstring; anything else is refused at once."""
