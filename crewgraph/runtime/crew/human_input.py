"""Questions of crews to people: asked at the terminal, or stored with the run until answered."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.human_review import (
    ask_at_terminal,
    configured_provider,
    has_lines,
    has_terminal,
    who_answers,
)
from crewgraph.compiler.agent.inbox import decisions_of
from crewgraph.compiler.surroundings import RunNotes
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.operations import Program, Saving, blocking
from crewgraph.core.plain import NotPlain, plain
from crewgraph.core.questions import file_answer, own_id, questions_in
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.pending import CrewQuestion, PendingCrew, RunFilter, format_questions
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import RunError
from crewgraph.runtime.crew.graphs import graph_of
from crewgraph.runtime.crew.results import crew_output, crew_question
from crewgraph.runtime.execution import Run
from crewgraph.runtime.runs.storage import RunPlace, checkpointer_for
from crewgraph.schema import is_mapping
from crewgraph.tools.base import approval_of

_MAX_TITLE = 60

_IN_MEMORY = InMemorySaver()
"""In-memory storage for unstored runs that ask questions at the terminal; removed when the runs end."""


def pending_program(crew: CrewDefinition, checkpointer: Checkpointer) -> "Program[list[PendingCrew]]":
    """List the runs that wait for answers; see `Crew.pending`."""
    saver = checkpointer_for(checkpointer, crew.checkpointer)
    pending: list[PendingCrew] = []
    if saver is None:
        return pending
    compiled = graph_of(crew, saver)
    from crewgraph.runtime.runs.index import list_crew_runs

    for run in (yield from list_crew_runs(crew, RunFilter(status="waiting"), saver)):
        state = yield Saving(compiled.graph, "get_state", {"configurable": {"thread_id": run.thread_id}})
        questions = cast("tuple[CrewQuestion, ...]", run.questions)
        done = crew_output(compiled.tasks, state.values, run.thread_id, RunNotes(), compiled.planning)
        pending.append(pending_crew(crew, done, compiled.tasks, questions))
    return pending


def pending_crew(
    crew: CrewDefinition, done: CrewOutput, tasks: Sequence[TaskBinding], questions: Sequence[CrewQuestion]
) -> PendingCrew:
    """Return the pending output of a run that waits for answers.

    Args:
        crew: the crew of the run.
        done: the output so far, with the thread of the run.
        tasks: the crew's tasks in order.
        questions: the pending questions.

    Raises:
        RunError: the run is not stored, so it could never be answered.
    """
    if done.thread_id is None:
        raise RunError(
            f"crew `{crew.name}` asks a person: {'; '.join(question.summary() for question in questions)}. "
            "There is no terminal and the run is not stored, so it cannot wait for an answer: leave `checkpointer=False` out."
        )
    slugs = [task.slug for task in tasks]
    ordered = sorted(questions, key=lambda item: slugs.index(item.task) if item.task in slugs else len(slugs))
    return PendingCrew(
        crew=crew.name,
        tasks_output=done.tasks_output,
        plan=done.plan,
        token_usage=done.token_usage,
        thread_id=done.thread_id,
        questions=tuple(ordered),
    )


def place_to_ask(place: RunPlace, bindings: Sequence[AgentBinding]) -> RunPlace:
    """Return the place of a run whose agents may ask people; an unstored run gets in-memory storage while it lasts.

    Raises:
        RunError: a task always asks, and there is no terminal.
    """
    if place.checkpointer is not False:
        return place
    asking = [item for item in bindings if _asks(item)]
    if not asking:
        return place
    if has_terminal():
        return replace(place, checkpointer=_IN_MEMORY, thread_id=str(uuid4()), temporary=True)
    unanswerable = next((item for item in asking if _is_reviewed(item)), None)
    if unanswerable is not None:
        raise RunError(
            f"{unanswerable.where} has `human_input=True`, but there is no terminal and the run is not stored, so it cannot "
            "wait for an answer. Run it in a crew whose runs are stored (leave `checkpointer=False` out), or at a terminal."
        )
    return place


def _asks(binding: AgentBinding) -> bool:
    if _is_reviewed(binding) or getattr(binding.agent, "middleware", None):
        return True
    tools = [tool.source for tool in binding.tools.values()]
    for agent in () if binding.crew is None else binding.crew.agents:  # it may delegate work to them
        tools += agent.tools or ()
    return bool(tools) and any(map(approval_of, tools))


def _is_reviewed(binding: AgentBinding) -> bool:
    return isinstance(binding, TaskBinding) and bool(binding.task.human_input) and configured_provider() is None


def forget(place: RunPlace) -> None:
    """Remove a run whose place is temporary from the in-memory storage."""
    _IN_MEMORY.delete_thread(str(place.thread_id))


def run_with_questions(
    place: RunPlace,
    config: RunnableConfig,
    value: Any,
    start: Callable[[object], Run],
    tasks: Sequence[TaskBinding] = (),
) -> Program[Run]:
    """Run until the end, or until questions that cannot be asked at a terminal.

    Args:
        place: where the run is stored.
        config: the config with its thread.
        value: the graph's input: inputs, a Command with answers, or None to continue.
        start: returns the run for an input.
        tasks: the crew's tasks, whose titles are shown with their questions.
    """
    method = place.method or place.unstored_method
    may_ask = place.detached and place.checkpointer is not False and (method is None or method.run.may_ask_here)
    answering = who_answers() if may_ask else None
    asks_here, reads = answering == "person", answering == "lines" and has_lines()
    reported: set[str] | None = set() if asks_here or reads else None  # who is asked has seen the earlier events
    while True:
        run = start(value)
        run.reported = reported
        yield run
        # They arrived in the order their tasks stopped.
        run.questions.sort(key=partial(_position, list(run.graph.nodes)))
        if not run.questions or not (asks_here or (reads and has_lines() and _ask_feedback(run.questions))):
            return run
        try:
            value = yield from _answers_from_terminal(run.questions, tasks, place.checkpointer, config)
        except EOFError:
            if asks_here:
                raise
            return run  # there are no more lines: it waits


def _ask_feedback(interrupts: Sequence[Interrupt]) -> bool:
    """Whether lines of a pipe or file may answer: not an approval, which a person gives."""
    return all(crew_question(item).kind == "feedback" for item in interrupts)


def _position(nodes: Sequence[str], interrupt: Interrupt) -> int:
    task = crew_question(interrupt).task
    return nodes.index(task) if task in nodes else len(nodes)


def _answers_from_terminal(
    interrupts: Sequence[Interrupt], tasks: Sequence[TaskBinding], saver: object, config: RunnableConfig
) -> Program[Command[object] | None]:
    checkpoint = yield Saving(saver, "get_tuple", config)
    titles = {
        task.slug: (task.task.name or textwrap.shorten(task.task.description, _MAX_TITLE, placeholder=" …"))
        for task in tasks
    }
    questions = [crew_question(item) for item in interrupts]
    answers = yield blocking(
        lambda: {question.id: ask_at_terminal(_prompt(question, titles)) for question in questions}
    )
    return (yield from _store_answers(interrupts, answers, saver, checkpoint.config))


def _prompt(question: CrewQuestion, titles: Mapping[str, str]) -> str:
    where = f"[{titles.get(question.task or '') or question.agent}] " if question.agent else ""
    lines = [f"{where}{item}" for item in (question.refused, question.text) if item is not None]
    return "\n".join(["", *lines, "> "])


def file_answers(
    crew: CrewDefinition, place: RunPlace, config: RunnableConfig, answer: object
) -> Program[Command[object] | None]:
    """Return the resume value for the answers to a run's questions.

    Raises:
        RunError: the run waits on no question or on others, or they have been answered in the meantime.
    """
    checkpoint = yield Saving(place.checkpointer, "get_tuple", config)
    interrupts = questions_in((checkpoint.pending_writes or ()) if checkpoint else ())
    where = f"the run of thread `{place.thread_id}` of crew `{crew.name}`"
    if not interrupts:
        raise RunError(
            f"{where} does not wait for an answer. `resume({place.thread_id!r})` without an answer continues it."
        )
    answers = _answers_by_id(interrupts, answer, where)
    return (yield from _store_answers(interrupts, answers, place.checkpointer, checkpoint.config))


def _answers_by_id(interrupts: Sequence[Interrupt], answer: object, where: str) -> dict[str, object]:
    """Return the answers by question id.

    Raises:
        RunError: an answer is for an unknown question, or it is not clear for which one.
    """
    questions = [crew_question(item) for item in interrupts]
    ids = {question.id for question in questions}
    if is_mapping(answer) and answer and set(answer) <= ids:
        answers = dict(answer)
    elif len(questions) == 1 and not _needs_ids(questions[0], answer):
        answers = {questions[0].id: answer}
    else:
        raise RunError(
            f"{where} waits for {len(questions)} answer{'s' if len(questions) > 1 else ''}, but {answer!r:.200} matches "
            f"none of its questions. Pass a dict of answers by question id. The questions: {format_questions(questions)}"
        )
    try:
        return {name: plain(value) for name, value in answers.items()}
    except NotPlain as error:
        raise RunError(f"an answer to {where} is {error}") from error


def _needs_ids(question: CrewQuestion, answer: Any) -> bool:
    """Whether an answer can only be a dict of answers by question id."""
    if not is_mapping(answer) or question.kind == "question":
        return False
    inbox = {"decisions", "type", "args"}
    known = {"feedback": {"feedback"} | inbox, "approval": {"args", "approved", "reason"} | inbox}[question.kind]
    return not set(answer) <= known


def _store_answers(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object], saver: object, config: RunnableConfig
) -> Program[Command[object] | None]:
    """Store the answers at the pending checkpoint; return the command that answers calls of `interrupt` in user code.

    Raises:
        RunError: a question has been answered in the meantime.
    """
    command: dict[str, object] = {}
    for item in interrupts:
        name = own_id(item)
        if (name or item.id) not in answers:
            continue
        if name is None:
            of_middleware = is_mapping(item.value) and "action_requests" in item.value
            answer = answers[item.id]
            command[item.id] = decisions_of(item.value, answer) if of_middleware else answer
        elif not (yield from file_answer(saver, config, name, answers[name])):
            raise RunError(
                f"the question `{name}` has been answered elsewhere in the meantime, so this answer is discarded. For the "
                f"result: `resume({config.get('configurable', {}).get('thread_id')!r})`."
            )
    return Command(resume=command) if command else None
