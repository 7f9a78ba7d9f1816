"""What a tool's failure means for whoever uses it."""

from dataclasses import dataclass
from typing import Any

from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.task import Task
from crewgraph.hooks.points import tool_key
from crewgraph.tools.failure import (
    ToolExecutionFailedError,
    ToolFailure,
    ToolFailurePolicy,
    ToolFailureRecord,
    record_of,
    resolve_tool_failure_policy,
    tell_failure,
)

__all__ = ["Failing"]


@dataclass(frozen=True)
class Failing:
    """A tool that failed in the hands of an agent.

    Args:
        tool: the tool as its author wrote it; None where the agent has none of that name.
        name: what the model called it.
    """

    tool: Any
    name: str
    agent: BaseAgent
    task: Task | None
    crew: Crew | None

    @property
    def policy(self) -> ToolFailurePolicy:
        """What that means."""
        return resolve_tool_failure_policy(self.tool, self.agent, self.task, self.crew)

    def record(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> ToolFailureRecord | None:
        """The failure with its call; None where it is ignored."""
        if self.policy is ToolFailurePolicy.IGNORE:
            return None
        return record_of(ToolFailure.model_validate(failure), tool_key(self.name), args, self.agent, self.task)

    def tell(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> None:
        """Tell the audience of events, unless it is ignored."""
        record = self.record(args, failure)
        if record is not None:
            tell_failure(record, self.policy, self.tool, self.agent, self.task)

    def end(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> None:
        """End the task, where that is what it means.

        Raises:
            ToolExecutionFailedError: it is.
        """
        record = self.record(args, failure) if self.policy is ToolFailurePolicy.RAISE else None
        if record is not None:
            self.agent.note_tool_failures([*self.agent.last_tool_failures, record])
            raise ToolExecutionFailedError(record)
