"""The body of a task: brief the agent, let it work, structure and judge what it gives, tell and keep it.

The hooks around a task: what it begins with, what it gives.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import ONGOING, Briefing, OngoingTask, briefing_of
from crewgraph.compiler.task.events import TaskReport, noted
from crewgraph.compiler.task.guardrails import Guards, Judged, apply_guardrails, judge_output
from crewgraph.compiler.task.runner import TaskRunner
from crewgraph.compiler.task.structure import structure_output
from crewgraph.core.effects import Body, Call, Enter, Notify, Scope
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.task.guardrail import ModelGuardrail
from crewgraph.definitions.task.output import TaskOutput, set_fields
from crewgraph.definitions.task.task import ConditionalTask, Task
from crewgraph.errors import OutputInvalid, OutputNotSaved
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.text import shorten

__all__ = ["HookedTask", "answer_body", "own_task_body", "plan_body", "skipped_output", "task_body"]


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


def task_body(assignment: TaskBinding, state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """Do a task; the update holds its output as plain data, in the task's channel."""
    work = _Work(assignment, state)
    own = _own_version(assignment)
    if own is not None:
        return {assignment.slug: assignment.labelled((yield from work.by_own_version(own)))}
    return {assignment.slug: assignment.labelled((yield from work.done()))}


def own_task_body(assignment: TaskBinding, state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """The same in our way, whatever the task's class overrides."""
    return {assignment.slug: (yield from _Work(assignment, state).done())}


def answer_body(assignment: TaskBinding, state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """The agent's answer alone, in our way, with what it used; nothing is read, judged or kept."""
    work = _Work(assignment, state)
    answer = yield from work.agent.answer_without_override()
    if ONGOING.get() is None:  # else the task remembers it, whose part it is
        yield from work.agent.remember(answer)
    return {assignment.slug: {"answer": answer, "usage": work.usage.to_plain()}}


def plan_body(assignment: TaskBinding, state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """The agent's plan alone, with what it used."""
    work = _Work(assignment, state)
    plan = yield from work.agent.plan()
    told = (
        None
        if plan is None
        else {"plan": plan.text, "ready": plan.ready, "steps": [one.model_dump() for one in plan.steps]}
    )
    return {assignment.slug: {"plan": told, "usage": work.usage.to_plain()}}


def skipped_output(assignment: TaskBinding, state: Mapping[str, Any]) -> TaskOutput:
    """What stands for the output of a conditional task that is not done, with the texts of this run."""
    task, briefing = assignment.task, briefing_of(assignment, state)
    assert isinstance(task, ConditionalTask)
    task.output = None  # of an earlier run
    noted(assignment.slug, [])
    skipped = dict(task.get_skipped_task_output())
    skipped.update(description=briefing.description, expected_output=briefing.expected_output, agent=briefing.role)
    return TaskOutput.model_validate({**skipped, "name": task.name or briefing.description})


def _own_version(assignment: TaskBinding) -> Any:
    """What a user put in the place of the verb that carries out a task."""
    task = assignment.task
    begun = override_of(task, "execute_async") if task.async_execution else None
    if begun is not None:
        return partial(_awaited, begun)
    return override_of(task, "execute_sync") or override_of(task, "aexecute_sync")


def _awaited(begun: Callable[..., Any], **given: Any) -> Any:
    return begun(**given).result()


class _Work:
    """One execution of a task."""

    def __init__(self, assignment: TaskBinding, state: Mapping[str, Any]) -> None:
        self.assignment, self.task = assignment, assignment.task
        self.book = assignment.book
        self.usage = UsageLedger()
        self.report = TaskReport(assignment)
        self._state = state

    @cached_property
    def briefing(self) -> Briefing:
        ongoing = ONGOING.get()
        if ongoing is not None and ongoing.task is self.task and self.assignment.told is not None:
            return replace(ongoing.briefing, context=self.assignment.told)
        return briefing_of(self.assignment, self._state)

    @cached_property
    def agent(self) -> TaskRunner:
        return TaskRunner(self.assignment, self.briefing, self.report, self.usage, self.book, self._state.get(INPUTS))

    @property
    def guards(self) -> Guards:
        """What judges the output."""
        task = self.task
        return Guards(
            guardrails=task.all_guardrails,
            retries=task.guardrail_max_retries,
            where=title(task),
            structure=task.output_pydantic,
        )

    def done(self) -> Body[dict[str, Any]]:
        """Everything, from telling that it begins to telling that it is complete; the output as plain data."""
        try:
            yield Notify(partial(self.report.begin, self.briefing))
            yield from self.begun()
            output, problem = yield from self.attempt(None)
            if self.task.all_guardrails:
                output, problem = yield from apply_guardrails(self.guards, output, problem, self, self.report)
                self.charge(output)  # it may be another one
            yield Enter("finish")
            if self.agent.recollection:
                yield from self.agent.remember(output.raw)
                self.charge(output)
            if problem is not None:
                yield Notify(partial(self.report.unstructured, problem))
            output = yield from self.ended(output)
            yield Notify(partial(self.report.publish, output))
            yield from self.called_back(output)
            yield from self.saved(output)
        except Exception as failure:
            yield Notify(partial(self.report.fail, failure))
            raise
        yield Notify(partial(self.report.complete, output))
        return output.to_plain()

    def begun(self) -> Body[None]:
        """Let hooks see what it begins with; they may give it another context."""
        step = HookedTask(self.task, self.assignment.agent, self.assignment.crew)
        context = yield from step.before(self.briefing.context)
        if context != self.briefing.context:
            vars(self)["briefing"] = replace(self.briefing, context=context)

    def ended(self, output: TaskOutput) -> Body[TaskOutput]:
        """The output as hooks leave it."""
        return HookedTask(self.task, self.assignment.agent, self.assignment.crew).after(output)

    def by_own_version(self, own: Any) -> Body[dict[str, Any]]:
        """What the task's class, or a patch, does in the place of all that."""
        given = {
            "agent": self.assignment.agent,
            "context": self.briefing.context,
            "tools": list(self.assignment.given_tools),
        }
        yield Notify(partial(self.report.show_texts, self.briefing))
        plain: dict[str, Any] = yield Call(
            function=own,
            keywords=given,
            name="execute_sync",
            kind="agent",
            about=[self.briefing.description, self.briefing.context],
            enter=OngoingTask(self.task, self.briefing).enter,
            encode=partial(_output_of_user, where=self.assignment.where),
        )
        yield Enter("finish")
        yield Notify(partial(self.report.publish_given, plain))
        return plain

    def attempt(self, refused: tuple[str, str] | None) -> Body[tuple[TaskOutput, str | None]]:
        """Let the agent work on the task; a refused attempt and its reason come into the prompt."""
        return (yield from self._read((yield from self.agent.answer(refused))))

    def again(self, refused: TaskOutput, reason: str) -> Body[tuple[TaskOutput, str | None]]:
        """The task once more, after a guardrail's refusal."""
        self.report.sent_back += 1
        return self.attempt((refused.raw, reason))

    def judged(self, guardrail: ModelGuardrail, output: TaskOutput) -> Body[Judged]:
        """The verdict of a model: the guardrail's own, else the agent's."""
        model = self.agent.model if guardrail.llm is None else self.agent.model_for(guardrail.llm)
        context = self.briefing.context
        return (
            yield Scope(
                name=f"Guardrail: {shorten(guardrail.description, 60)}",
                body=lambda: judge_output(
                    guardrail, output.raw, output.description, context, model, self.book, self.usage
                ),
            )
        )

    def replaced(self, output: TaskOutput, text: str) -> Body[tuple[TaskOutput, str | None]]:
        """The output with the text that a guardrail gave for it."""
        return self._read(text)

    def _read(self, text: str) -> Body[tuple[TaskOutput, str | None]]:
        maker = self.task.converter_cls or self.agent.converter_override
        found = yield from structure_output(
            self.task, text, maker, lambda: self.agent.converter, self.agent.converter_llm, self.book, self.usage
        )
        output = TaskOutput(
            name=self.task.name or self.briefing.description,
            description=self.briefing.description,
            expected_output=self.briefing.expected_output,
            raw=text if found.raw is None else found.raw,
            pydantic=found.pydantic,
            json_dict=found.json_dict,
            agent=self.briefing.role,
            output_format=self.task.output_format,
        )
        self.charge(output)
        return output, found.problem

    def charge(self, output: TaskOutput) -> None:
        """Let the output tell what was used and said so far."""
        set_fields(
            output,
            usage=self.usage.total,
            usage_by_model=self.usage.by_model,
            usage_by_agent=self.usage.by_agent(self.briefing.role),
            messages=self.agent.conversation,
            tool_failures=list(self.agent.failures),
        )

    def called_back(self, output: TaskOutput) -> Body[None]:
        """Tell the user's functions: the task's own, then the crew's; each once."""
        crews = self.assignment.crew.task_callback if self.assignment.crew else None
        for callback in dict.fromkeys((self.task.callback, *self.task.callbacks, crews)):
            if callback is not None:
                yield Call(
                    function=callback,
                    args=(output,),
                    name=getattr(callback, "__name__", type(callback).__name__),
                    kind="callback",
                    about=output.raw,
                    encode=_nothing,
                )

    def saved(self, output: TaskOutput) -> Body[None]:
        """Write the output to its file."""
        path = self.briefing.output_file
        if path is None:
            return
        content = _file_content(output)
        yield Call(
            function=partial(_save, path, content, bool(self.task.create_directory), output, title(self.task)),
            name=path,
            kind="file",
            about=content,
        )


def _output_of_user(returned: Any, *, where: str) -> dict[str, Any]:
    if isinstance(returned, TaskOutput):
        return returned.to_plain()
    raise TypeError(f"{where}: its own `execute_sync` returned {returned!r:.80}; let it return a `TaskOutput`")


def _nothing(_: Any) -> None:
    """What a callback returns does not matter."""


def _file_content(output: TaskOutput) -> str:
    if output.json_dict is not None:
        return json.dumps(
            output.model_dump(mode="json", include={"json_dict"})["json_dict"], ensure_ascii=False, indent=2
        )
    return output.pydantic.model_dump_json() if output.pydantic is not None else output.raw


def _save(path: str, content: str, create: bool, output: TaskOutput, where: str) -> None:
    root = Path.cwd().resolve()
    target = root / path
    try:
        if not target.resolve().is_relative_to(root):
            raise PermissionError(f"it leads to `{target.resolve()}`, outside of that folder")
        if create:
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
    except (OSError, ValueError) as error:  # ValueError: a name or a text that no file takes
        raise OutputNotSaved(
            f"{where}: its output is finished, but could not be written to `{path}` below `{root}`: {error}. The output is "
            "in `.output` of this error, and in the checkpoint: mend the path and resume, which repeats only the writing.",
            output,
        ) from error
