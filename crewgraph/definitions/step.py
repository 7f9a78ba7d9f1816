"""The steps of an agent, as step callbacks get them."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["AgentAction", "AgentFinish"]


@dataclass(kw_only=True)
class AgentAction:
    """The agent used a tool."""

    thought: str
    """Why, in its own words; often empty with native tool calls."""

    tool: str
    """The tool's name, as the model wrote it."""

    tool_input: dict[str, Any] | str
    """The arguments, as the model wrote them."""

    text: str
    """The whole reply."""

    result: str = ""
    """What the tool gave, as the model is shown it."""


@dataclass(kw_only=True)
class AgentFinish:
    """The agent gave its answer."""

    thought: str
    """Why it is done, in its own words."""

    output: str
    """The answer."""

    text: str = field(default="")
    """The whole reply."""
