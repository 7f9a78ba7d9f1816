"""What an agent remembers of its last run, and the steps that step callbacks receive."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from crewgraph.definitions.base import Definition
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.core.messages import Message


class LastRun(Definition):
    """The part of an agent that describes its last run: messages, tool failures, last tool."""

    _tool_failures: list[ToolFailureRecord] = PrivateAttr(default_factory=list[ToolFailureRecord])
    _messages: "Sequence[Message]" = PrivateAttr(default=())

    @property
    def last_tool_failures(self) -> list[ToolFailureRecord]:
        """Tool failures of the last run, unless the policy is "ignore"."""
        return list(self._tool_failures)

    def reset_tool_failures(self) -> None:
        """Clear `last_tool_failures`."""
        self._set_private("_tool_failures", [])

    def record_tool_failures(self, failures: Sequence[ToolFailureRecord]) -> None:
        """Store the tool failures of a run."""
        self._set_private("_tool_failures", list(failures))

    @property
    def last_messages(self) -> list[dict[str, Any]]:
        """The messages of the last run in OpenAI's format; for a task, with its answer if the agent has native tools."""
        from crewgraph.llm.conversation import openai_messages

        return openai_messages(self._messages)

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Store the messages of a run."""
        self._set_private("_messages", messages)

    def _set_private(self, name: str, value: object) -> None:
        private = self.__pydantic_private__
        assert private is not None  # it has been validated
        private[name] = value  # pydantic's own assignment takes ten times as long


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
