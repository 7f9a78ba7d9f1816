"""The verbs of guardrails that a model carries out."""

from typing import TYPE_CHECKING, Any, cast

from crewgraph.lazy import lazy
from crewgraph.overrides import overridable

if TYPE_CHECKING:
    from crewgraph.definitions.model_guardrail import ModelGuardrail
    from crewgraph.definitions.output import TaskOutput
    from crewgraph.runtime.alone import ajudge, judge
else:
    ajudge = lazy("crewgraph.runtime.alone:ajudge")
    judge = lazy("crewgraph.runtime.alone:judge")

__all__ = ["GuardrailVerbs"]


class GuardrailVerbs:
    """What can be done with a guardrail that a model carries out; a task asks the model as a part of its own work."""

    @overridable
    def __call__(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output, outside of a task.

        Returns:
            True with the output's text, or False with the reason.

        Raises:
            OutputInvalid: the model gave no verdict that can be read.
            Exception: whatever the model raised.
        """
        return judge(cast("ModelGuardrail", self), task_output)

    async def acall(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output on this event loop."""
        return await ajudge(cast("ModelGuardrail", self), task_output)
