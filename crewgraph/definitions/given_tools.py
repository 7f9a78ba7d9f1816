"""Tools as users give them to agents and tasks."""

from typing import Annotated, Any

from pydantic import AfterValidator

from crewgraph.tools.adapt import as_tool

__all__ = ["GivenTools"]


def _usable(tools: list[Any] | None) -> list[Any] | None:
    for tool in tools or ():
        as_tool(tool)
    return tools


GivenTools = Annotated[list[Any] | None, AfterValidator(_usable)]
"""crewgraph tools, LangChain tools, or functions with a docstring; anything else is refused at once."""
