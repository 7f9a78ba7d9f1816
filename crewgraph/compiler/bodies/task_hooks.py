"""The hooks around a task: what it begins with, what it gives."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from crewgraph.core.effects import Body, Call
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.task import Task
from crewgraph.errors import OutputInvalid
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at

__all__ = ["HookedTask"]

_PRE, _POST = InterceptionPoint.PRE_STEP, InterceptionPoint.POST_STEP


@dataclass(frozen=True)
class HookedTask:
    """A task, for the hooks around it."""

    task: Task
    agent: BaseAgent
    crew: Crew | None

    def before(self, context: str) -> Body[str]:
        """The context it works with.

        Raises:
            HookAborted: a hook does not let it begin.
        """
        if not hooks_at(_PRE, self.crew):
            return context
        return (yield self._call(_PRE, self._step(payload=context), context, _text))

    def after(self, output: TaskOutput) -> Body[TaskOutput]:
        """Its output.

        Raises:
            HookAborted: a hook does not let it out.
            OutputInvalid: a hook put something else in its place.
        """
        if not hooks_at(_POST, self.crew):
            return output
        before = output.to_plain()
        after = yield self._call(_POST, self._step(payload=output, output=output), before, self._output)
        if after == before:
            return output
        changed = TaskOutput.from_plain(after, self.task.output_pydantic)
        changed.messages = output.messages
        return changed

    def _step(self, **given: Any) -> StepContext:
        who = {"agent": self.agent, "agent_role": self.agent.role, "task": self.task, "crew": self.crew}
        return StepContext(kind="task", step_name=self.task.name or self.task.description, **who, **given)

    def _call(self, point: InterceptionPoint, step: StepContext, about: Any, encode: Callable[[Any], Any]) -> Call:
        return Call(
            function=partial(dispatch, point, step),
            afunction=partial(adispatch, point, step),
            name=point.value,
            kind="hook",
            about=about,
            encode=encode,
            aside=True,
        )

    def _output(self, step: StepContext) -> dict[str, Any]:
        if not isinstance(step.payload, TaskOutput):
            raise OutputInvalid(
                f"a hook at `{_POST.value}` gave {step.payload!r:.80} for the output of the task `{step.step_name}`; let it "
                "return a `TaskOutput` or None"
            )
        return step.payload.to_plain()


def _text(step: StepContext) -> str:
    return step.payload if isinstance(step.payload, str) else ""
