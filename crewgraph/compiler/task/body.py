"""The body of a task: brief the agent, let it work, structure and judge the answer, publish and save the output.

Step hooks may change the context before and the output after.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.agent.react import discard_result
from crewgraph.compiler.crew.state import INPUTS, MESSAGE
from crewgraph.compiler.surroundings import AROUND
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import ONGOING, Briefing, OngoingTask, briefing_of
from crewgraph.compiler.task.events import TaskReport, record_task_note
from crewgraph.compiler.task.guardrails import Guards, apply_guardrails, judging
from crewgraph.compiler.task.runner import TaskRunner
from crewgraph.compiler.task.structure import UNSTRUCTURED, structure_output, structured
from crewgraph.core.effects import Body, Call, Enter, Notify, Scope
from crewgraph.definitions.task.guardrail import ModelGuardrail
from crewgraph.definitions.task.output import TaskOutput, set_fields
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.disk import replace_file
from crewgraph.errors import OutputInvalid, OutputNotSaved
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import adispatch, dispatch, has_hooks
from crewgraph.llm.usage import UsageLedger, total
from crewgraph.overrides import override_of, overrides_any
from crewgraph.schema import PlainDict, PlainMapping

_PRE, _POST = InterceptionPoint.PRE_STEP, InterceptionPoint.POST_STEP


def _encode_context(step: StepContext) -> str:
    return step.payload if isinstance(step.payload, str) else ""


def _encode_output_of_hooks(step: StepContext) -> dict[str, object]:
    if not isinstance(step.payload, TaskOutput):
        raise OutputInvalid(
            f"a hook at `{_POST.value}` returned {step.payload!r:.80} for the output of the task `{step.step_name}`; it must "
            "return a `TaskOutput` or None"
        )
    return step.payload.to_plain()


def task_body(assignment: TaskBinding, state: PlainMapping) -> Body[dict[str, object]]:
    """Execute a task; the update holds its output as plain data, in the task's channel."""
    execution = _TaskExecution(assignment, state)
    overrides = overrides_any(assignment.task, ("execute_sync", "aexecute_sync", "execute_async"))
    override = _execution_override(assignment) if overrides else None
    if override is not None:
        return {assignment.slug: assignment.labelled((yield from execution.run_override(override)))}
    execution.usage.updates = []
    output = assignment.labelled((yield from execution.run()))
    return {assignment.slug: output, MESSAGE: (*execution.usage.message, execution.usage.updates)}


def task_body_without_override(assignment: TaskBinding, state: Mapping[str, object]) -> Body[dict[str, object]]:
    """Execute a task, ignoring what its class overrides."""
    return {assignment.slug: (yield from _TaskExecution(assignment, state).run())}


def answer_body(assignment: TaskBinding, state: Mapping[str, object]) -> Body[dict[str, object]]:
    """Run only the agent, ignoring overrides; the update holds its answer and the usage, nothing is parsed or judged."""
    execution = _TaskExecution(assignment, state)
    execution.brief()
    runner = execution.make_runner()
    answer = yield from runner.answer_without_override()
    if ONGOING.get() is None:  # otherwise the task around it remembers the answer
        yield from runner.remember(answer)
    return {assignment.slug: {"answer": answer, "usage": execution.usage.to_plain()}}


def skipped_output(assignment: TaskBinding, state: Mapping[str, object]) -> TaskOutput:
    """Return the output of a conditional task that is skipped, with the texts of this run."""
    task, briefing = assignment.task, briefing_of(assignment, state, assignment.book)
    assert isinstance(task, ConditionalTaskDefinition)
    task.output = None  # left by an earlier run
    record_task_note(assignment.slug, [])
    skipped = dict(task.get_skipped_task_output())
    skipped.update(description=briefing.description, expected_output=briefing.expected_output, agent=briefing.role)
    return TaskOutput.model_validate({**skipped, "name": task.name or briefing.description, "was_skipped": True})


def _execution_override(assignment: TaskBinding) -> object:
    """Return the override of the method that executes a task; None if it overrides another of these methods."""
    task = assignment.task
    execute_async = override_of(task, "execute_async") if task.async_execution else None
    if execute_async is not None:
        return partial(_run_execute_async, execute_async)
    return override_of(task, "execute_sync") or override_of(task, "aexecute_sync")


def _run_execute_async(execute_async: Callable[..., Any], **arguments: Any) -> object:
    return execute_async(**arguments).result()


class _TaskExecution:
    """One execution of a task."""

    briefing: Briefing
    """The texts of the task, after `brief`."""

    runner: TaskRunner
    """The agent at work, after `make_runner`."""

    def __init__(self, assignment: TaskBinding, state: PlainMapping) -> None:
        self.assignment, self.task, self.crew = assignment, assignment.task, assignment.crew
        self.book = assignment.book
        self.usage = UsageLedger()
        self.report = TaskReport(assignment)
        self._state = state

    def brief(self) -> Briefing:
        """Render the texts of the task for this run; see `briefing_of` for what may be wrong with them."""
        ongoing, context = ONGOING.get(), self.assignment.context_text
        if ongoing is not None and ongoing.task is self.task and context is not None:
            self.briefing = replace(ongoing.briefing, context=context)
        else:
            self.briefing = briefing_of(self.assignment, self._state, self.book)
        return self.briefing

    def make_runner(self) -> TaskRunner:
        """Set the agent to work with these texts."""
        inputs = self._state.get(INPUTS)
        self.runner = TaskRunner(self.assignment, self.briefing, self.report, self.usage, inputs)
        return self.runner

    @property
    def guards(self) -> Guards:
        """The guardrails of the task."""
        task = self.task
        return Guards(
            guardrails=task.all_guardrails,
            retries=task.guardrail_max_retries,
            where=task.called,
            report=self.report,
            structure=task.output_pydantic or task.output_json,
        )

    def run(self) -> Body[PlainDict]:
        """Execute the task, from its first event to its last; return the output as plain data."""
        try:
            self.brief()
            if has_hooks(self.crew, _PRE):
                yield from self.run_pre_hooks()
            yield Notify(partial(self.report.begin, self.briefing))
            self.make_runner()
            output, problem = yield from self.attempt(None)
            if self.task.all_guardrails:
                output, problem = yield from apply_guardrails(self.guards, output, problem, self)
                set_fields(output, **self.made_so_far())  # a guardrail may have replaced it
            elif problem is not None:
                output, problem = yield from self.to_output(output.raw, demand=True)
            yield Enter("finish")
            if problem is not None:
                set_fields(output, structure_error=problem)
            if has_hooks(self.crew, _POST):
                output = yield from self.run_post_hooks(output)
            if self.runner.agent.recollection is not None:
                yield from self.runner.remember(output.raw)
                set_fields(output, **self.made_so_far())
            if problem is not None:
                yield Notify(partial(self.report.unstructured, problem))
            yield Notify(partial(self.report.publish, output=output))
            yield from self.run_callbacks(output)
            if self.briefing.output_file is not None:
                yield from self.save_file(self.briefing.output_file, output)
        except Exception as failure:  # whatever fails the task is reported, then raised again
            yield Notify(partial(self.report.fail, failure))
            raise
        yield Notify(partial(self.report.complete, output))
        plain = output.to_plain()
        record_task_note(self.assignment.slug, output.messages, output, plain)
        return plain

    def run_pre_hooks(self) -> Body[None]:
        """Run the hooks before the task, and before its first event; they may replace the context."""
        yield Notify(partial(self.report.begin, self.briefing, with_event=False))
        given = self.briefing.context
        try:
            context = yield self._hooks(_PRE, given, _encode_context, payload=given)
        except Exception:  # whatever refuses the start; listeners get a start event for every end event
            yield Notify(partial(self.report.begin, replace(self.briefing, context="")))
            raise
        if context != given:
            self.briefing = replace(self.briefing, context=context)

    def run_post_hooks(self, output: TaskOutput) -> Body[TaskOutput]:
        """Run the hooks after the task; return the output as they leave it.

        Raises:
            HookAborted: a hook withheld the output.
            OutputInvalid: a hook replaced the output with something else.
        """
        before = output.to_plain()
        after = yield self._hooks(_POST, before, _encode_output_of_hooks, payload=output, output=output)
        if after == before:
            return output
        changed = TaskOutput.from_plain(after, self.task.output_pydantic)
        changed.messages = output.messages
        return changed

    def _hooks(self, point: InterceptionPoint, about: object, encode: Callable[[Any], object], **fields: Any) -> Call:
        task, agent = self.task, self.assignment.agent
        source = {"agent": agent, "agent_role": agent.role, "task": task, "crew": self.crew}
        step = StepContext(kind="task", step_name=task.name or task.description, **source, **fields)
        return Call(
            function=partial(dispatch, point, step),
            afunction=partial(adispatch, point, step),
            name=point.value,
            kind="hook",
            about=about,
            encode=encode,
            aside=True,
        )

    def run_override(self, override: Any) -> Body[PlainDict]:
        """Run the user's override of the task's method in place of the whole execution."""
        briefing = self.brief()
        arguments = {
            "agent": self.assignment.agent,
            "context": briefing.context,
            "tools": list(self.assignment.given_tools),
        }
        yield Notify(partial(self.report.show_texts, briefing))
        plain: PlainDict = yield Call(
            function=override,
            keywords=arguments,
            name="execute_sync",
            kind="agent",
            about=[briefing.description, briefing.context],
            enter=OngoingTask(self.task, briefing).enter,
            encode=partial(_encode_output, where=self.assignment.where),
        )
        yield Enter("finish")
        yield Notify(partial(self.report.publish_override_output, plain))
        return plain

    def attempt(self, refused: tuple[str, str] | None) -> Body[tuple[TaskOutput, str | None]]:
        """Let the agent work on the task; a refused attempt and the reason are part of the prompt."""
        return (yield from self.to_output((yield from self.runner.answer(refused))))

    def retry(self, refused: TaskOutput, reason: str) -> Body[tuple[TaskOutput, str | None]]:
        """Run the agent again after a guardrail refused its output."""
        self.report.guardrail_retries += 1
        return self.attempt((refused.raw, reason))

    def judge(self, guardrail: ModelGuardrail, output: TaskOutput) -> Scope:
        """Return the effect of a model's verdict."""
        return judging(guardrail, output.raw, output.description, self.briefing.context, self.runner.agent)

    def replace_structure(self, output: TaskOutput, instance: BaseModel) -> TaskOutput:
        """Return the output with a guardrail's structure in place of its own."""
        converted = structured(self.task, instance)
        set_fields(output, pydantic=converted.pydantic, json_dict=converted.json_dict)
        return output

    def to_output(self, text: str, *, demand: bool = False) -> Body[tuple[TaskOutput, str | None]]:
        """Return a text as the task's output, and why it has no structure if one was asked for.

        Args:
            text: the text.
            demand: whether a text that does not hold the structure is converted.
        """
        task, briefing, form = self.task, self.briefing, UNSTRUCTURED
        if (schema := self.assignment.structure) is not None:
            form = yield from structure_output(task, schema, text, self.runner.agent, demand=demand)
        output = TaskOutput.of(
            name=task.name or briefing.description,
            description=briefing.description,
            expected_output=briefing.expected_output,
            raw=text if form.raw is None else form.raw,
            pydantic=form.pydantic,
            json_dict=form.json_dict,
            agent=briefing.role,
            output_format=task.output_format,
            **self.made_so_far(),
        )
        return output, form.problem

    def made_so_far(self) -> PlainDict:
        """Return the fields of an output for the usage, the messages and the tool failures so far."""
        by_model = self.usage.by_model
        return {
            "usage": total(by_model.values()),
            "usage_by_model": by_model,
            "usage_by_agent": self.usage.by_agent(self.briefing.role),
            "messages": self.runner.conversation,
            "tool_failures": list(self.runner.agent.failures),
        }

    def run_callbacks(self, output: TaskOutput) -> Body[None]:
        """Call the user's callbacks: the task's own, unless the crew is tested, then the crew's; each once."""
        crew = self.assignment.crew
        own = () if crew is not None and AROUND.get().tested is crew else (self.task.callback, *self.task.callbacks)
        for callback in dict.fromkeys((*own, crew.task_callback if crew else None)):
            if callback is not None:
                yield Call(
                    function=callback,
                    args=(output,),
                    name=getattr(callback, "__name__", type(callback).__name__),
                    kind="callback",
                    about=output.raw,
                    encode=discard_result,
                )

    def save_file(self, path: str, output: TaskOutput) -> Body[None]:
        """Write the output to the task's file."""
        content = _file_content(output)
        yield Call(
            function=partial(
                _write_output,
                path,
                _output_root(path, self.task.template("output_file") or ""),
                content,
                bool(self.task.create_directory),
                output,
                self.task.called,
            ),
            name=path,
            kind="file",
            about=content,
        )


def _encode_output(returned: object, *, where: str) -> dict[str, object]:
    if isinstance(returned, TaskOutput):
        return returned.to_plain()
    raise TypeError(f"{where}: its own `execute_sync` returned {returned!r:.80}; it must return a `TaskOutput`")


def _file_content(output: TaskOutput) -> str:
    if output.json_dict is not None:
        return json.dumps(
            output.model_dump(mode="json", include={"json_dict"})["json_dict"], ensure_ascii=False, indent=2
        )
    return output.pydantic.model_dump_json() if output.pydantic is not None else output.raw


def _output_root(path: str, template: str) -> Path | None:
    """Return the folder that an absolute path must stay in: what its author wrote before the first placeholder."""
    return Path(f"{template.partition('{')[0].rpartition('/')[0]}/") if path.startswith("/") else None


def _folder_name(folder: Path) -> str:
    return f"`{folder}`" if folder.is_absolute() else "the current directory, which was deleted"


def _write_output(path: str, folder: Path | None, content: str, create: bool, output: TaskOutput, where: str) -> None:
    root = folder or Path()
    try:
        root = root.resolve()
        target = root / path
        if not target.resolve().is_relative_to(root):
            raise PermissionError(f"it resolves to `{target.resolve()}`, outside of that folder")
        if create:
            target.parent.mkdir(parents=True, exist_ok=True)
        elif not target.parent.is_dir():
            raise FileNotFoundError("its folder does not exist, and the task has `create_directory=False`")
        replace_file(target, content)
    except (OSError, ValueError) as error:  # ValueError: an invalid name or text
        raise OutputNotSaved(
            f"{where}: its output is finished, but could not be written to `{path}` in {_folder_name(root)}: {error}. The output "
            "is in `.output` of this error, and in the checkpoint: fix the path and resume, which repeats only the write.",
            output,
        ) from error
