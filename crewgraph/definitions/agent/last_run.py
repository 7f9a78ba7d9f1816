"""The steps of an agent's run that step callbacks receive."""

from dataclasses import dataclass, field


@dataclass
class AgentAction:
    """A step in which the agent used a tool."""

    thought: str
    """The model's reasoning; often empty with native tool calls."""

    tool: str
    """The tool's name, as the model wrote it."""

    tool_input: str
    """The arguments, as the model wrote them: usually a JSON object."""

    text: str
    """The whole reply."""

    result: str | None = None
    """The tool's result, as shown to the model."""

    failed: bool = field(default=False, compare=False, repr=False)
    """Whether the tool failed or could not be called."""

    from_cache: bool = field(default=False, compare=False, repr=False)
    """Whether the result is that of an earlier call: the tool did not run."""


@dataclass
class AgentFinish:
    """The step in which the agent gave its answer."""

    thought: str
    """The model's reasoning."""

    output: str
    """The answer."""

    text: str = ""
    """The whole reply."""
