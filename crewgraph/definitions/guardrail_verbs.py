"""The verbs of guardrails that a model carries out."""

from typing import TYPE_CHECKING, Any

from crewgraph.definitions.door import alone
from crewgraph.own_version import ours

if TYPE_CHECKING:
    from crewgraph.definitions.output import TaskOutput

__all__ = ["GuardrailVerbs"]


class GuardrailVerbs:
    """What can be done with a guardrail that a model carries out; a task asks the model as a part of its own work."""

    @ours
    def __call__(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output, outside of a task.

        Returns:
            True with the output's text, or False with the reason.

        Raises:
            OutputInvalid: the model gave no verdict that can be read.
            Exception: whatever the model raised.
        """
        return alone().judge(self, task_output)

    async def acall(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output on this event loop."""
        return await alone().ajudge(self, task_output)
