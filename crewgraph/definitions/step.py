"""The steps of an agent, as step callbacks get them."""

from dataclasses import dataclass, field

__all__ = ["AgentAction", "AgentFinish"]


@dataclass
class AgentAction:
    """The agent used a tool."""

    thought: str
    """Why, in its own words; often empty with native tool calls."""

    tool: str
    """The tool's name, as the model wrote it."""

    tool_input: str
    """The arguments, as the model wrote them: a JSON object, mostly."""

    text: str
    """The whole reply."""

    result: str | None = None
    """What the tool gave, as the model is shown it."""

    failed: bool = field(default=False, compare=False, repr=False)
    """Whether the tool failed, or could not be used."""


@dataclass
class AgentFinish:
    """The agent gave its answer."""

    thought: str
    """Why it is done, in its own words."""

    output: str
    """The answer."""

    text: str = ""
    """The whole reply."""
