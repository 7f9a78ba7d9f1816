"""What agents ask people, and what they are told."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = ["HumanInputReceivedEvent", "HumanInputRequestedEvent"]


class _HumanInputEvent(BaseEvent):
    kind: str
    """`feedback`: whether an answer will do. `approval`: whether a tool may be used."""

    message: str
    """What is asked."""

    tool_name: str | None = None
    """The tool that is to be allowed."""

    tool_args: dict[str, Any] | None = None
    """What it is to be called with."""

    output: str | None = None
    """The answer that is to be looked at."""

    from_task: Any = None
    """The task that the agent works on."""

    from_agent: Any = None
    """The agent that asks."""


class HumanInputRequestedEvent(_HumanInputEvent):
    """A person is asked something; not told again while the question waits."""

    type: str = "human_input_requested"


class HumanInputReceivedEvent(_HumanInputEvent):
    """A person has answered."""

    type: str = "human_input_received"

    answer: Any = None
    """The answer, as plain data."""
