"""Guardrails that a language model checks, which can be called with an output, too."""

from typing import Any

from crewgraph.definitions.task.guardrail import (
    HallucinationGuardrailDefinition,
    LLMGuardrailDefinition,
    ModelGuardrail,
)
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.overrides import overridable


class _CallableGuardrail(ModelGuardrail):
    """Calls the model outside of a task; tasks call it as part of their own run."""

    @overridable
    def __call__(self, task_output: TaskOutput) -> tuple[bool, object]:
        """Check an output outside of a task.

        Returns:
            True with the output's text, or False with the reason.

        Raises:
            OutputInvalid: If the model's verdict cannot be parsed.
            Exception: Any error of the model.
        """
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import judge

        return drive(judge(self, task_output))

    async def acall(self, task_output: TaskOutput) -> tuple[bool, Any]:
        """Async version of `__call__`."""
        from crewgraph.core.operations import adrive
        from crewgraph.runtime.agent.standalone import judge

        return await adrive(judge(self, task_output))


class LLMGuardrail(LLMGuardrailDefinition, _CallableGuardrail):
    """Checks with a model whether an output follows a rule."""


class HallucinationGuardrail(HallucinationGuardrailDefinition, _CallableGuardrail):
    """Checks with a model whether its context supports everything that an output says."""
