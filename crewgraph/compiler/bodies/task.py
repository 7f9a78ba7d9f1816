"""The body of a task: brief the agent, let it work, structure and judge what it gives, tell and keep it."""

from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.bodies.convert import structured
from crewgraph.compiler.bodies.guard import guarded
from crewgraph.compiler.bodies.prompt import opening
from crewgraph.compiler.bodies.react import Worker, worked
from crewgraph.compiler.briefing import Briefing, briefing_of
from crewgraph.compiler.observed import ObservedModel, ObservedTool
from crewgraph.compiler.report import TaskReport
from crewgraph.compiler.toolbox import Toolbox
from crewgraph.core.effects import Body, Call, Notify, Scope
from crewgraph.core.ports import Model
from crewgraph.definitions.agent import Agent
from crewgraph.definitions.faults import title
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.task import ConditionalTask
from crewgraph.errors import OutputNotSaved
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageMetrics
from crewgraph.prompts.book import english

__all__ = ["skipped_output", "task_body"]


def task_body(assignment: Assignment, state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """Do a task; the update holds its output as plain data, in the task's channel."""
    work = _Work(assignment, state)
    try:
        yield Notify(partial(work.report.begin, work.briefing))
        output, problem = yield from work.attempt(None)
        if assignment.task.all_guardrails:
            output, problem = yield from guarded(assignment.task, output, problem, work, work.report)
        if problem is not None:
            yield Notify(partial(work.report.unstructured, problem))
        output.usage = work.usage  # a guardrail may have given another output
        yield Notify(partial(work.report.publish, output))
        yield from work.called_back(output)
        yield from work.saved(output)
    except Exception as failure:
        yield Notify(partial(work.report.fail, failure))
        raise
    yield Notify(partial(work.report.complete, output))
    return {assignment.slug: output.to_plain()}


def skipped_output(assignment: Assignment, state: Mapping[str, Any]) -> TaskOutput:
    """What stands for the output of a conditional task that is not done, with the texts of this run."""
    task, briefing = assignment.task, _Work(assignment, state).briefing
    assert isinstance(task, ConditionalTask)
    task.output = None  # of an earlier run
    skipped = dict(task.get_skipped_task_output())
    skipped.update(description=briefing.description, expected_output=briefing.expected_output, agent=briefing.role)
    return TaskOutput.model_validate({**skipped, "name": task.name or briefing.description})


class _Work:
    """One execution of a task."""

    def __init__(self, assignment: Assignment, state: Mapping[str, Any]) -> None:
        self.assignment, self.task, self.agent = assignment, assignment.task, assignment.agent
        self.book = english()
        self.usage = UsageMetrics()
        self.report = TaskReport(assignment)
        self._state = state

    @cached_property
    def briefing(self) -> Briefing:
        return briefing_of(self.assignment, self._state)

    @cached_property
    def model(self) -> Model:
        return ObservedModel(as_model(self.agent.llm), self.agent, self.task)

    @cached_property
    def tools(self) -> Toolbox:
        known = self.assignment.tools
        return Toolbox({name: ObservedTool(tool, self.agent, self.task) for name, tool in known.items()})

    def attempt(self, refused: tuple[str, str] | None) -> Body[tuple[TaskOutput, str | None]]:
        """Let the agent work on the task; a refused attempt and its reason come into the prompt."""
        native = self.model.native_tools
        messages = opening(self.agent, self.task, self.briefing, self.tools, native, self.book, refused)
        yield Notify(partial(self.report.agent_begins, messages, self.assignment.given_tools))
        role = self.briefing.role
        answer: str = yield Scope(
            name=f"Agent: {role}",
            body=lambda: worked(self._worker(), messages),
            metadata={"agent_role": role, "task": self.assignment.slug},
        )
        yield Notify(partial(self.report.agent_completes, answer))
        return (yield from self._read(answer))

    def again(self, refused: TaskOutput, reason: str) -> Body[tuple[TaskOutput, str | None]]:
        """The task once more, after a guardrail's refusal."""
        self.report.sent_back += 1
        return self.attempt((refused.raw, reason))

    def replaced(self, output: TaskOutput, text: str) -> Body[tuple[TaskOutput, str | None]]:
        """The output with the text that a guardrail gave for it."""
        return self._read(text)

    def _read(self, text: str) -> Body[tuple[TaskOutput, str | None]]:
        found = yield from structured(self.task, text, self._converter(), self.book, self.usage)
        output = TaskOutput(
            name=self.task.name or self.briefing.description,
            description=self.briefing.description,
            expected_output=self.briefing.expected_output,
            raw=text,
            pydantic=found.pydantic,
            json_dict=found.json_dict,
            agent=self.briefing.role,
            output_format=self.task.output_format,
            usage=self.usage,
        )
        return output, found.problem

    def _converter(self) -> Model:
        special = self.agent.function_calling_llm if isinstance(self.agent, Agent) else None
        special = special or self.assignment.crew.function_calling_llm
        return self.model if special is None else ObservedModel(as_model(special), self.agent, self.task)

    def _worker(self) -> Worker:
        own = self.agent.step_callback if isinstance(self.agent, Agent) else None
        callbacks = [one for one in (own, self.assignment.crew.step_callback) if one is not None]
        return Worker(
            model=self.model,
            tools=self.tools,
            book=self.book,
            max_iter=self.agent.max_iter,
            where=self.assignment.where,
            usage=self.usage,
            told=self.report.step,
            refused=self.report.tool_refused,
            step_callbacks=tuple(dict.fromkeys(callbacks)),
            counts=self.report.counts,
        )

    def called_back(self, output: TaskOutput) -> Body[None]:
        """Tell the user's functions: the task's own, then the crew's if it is another one."""
        for callback in dict.fromkeys((self.task.callback, self.assignment.crew.task_callback)):
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


def _nothing(_: Any) -> None:
    """What a callback returns does not matter."""


def _file_content(output: TaskOutput) -> str:
    if output.json_dict is not None:
        return output.model_dump_json(include={"json_dict"})[len('{"json_dict":') : -1]
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
