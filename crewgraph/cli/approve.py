"""`crewgraph approve` and `crewgraph resume`: continue stored runs, with answers to their questions or without."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from crewgraph.cli.output import EXIT_PENDING, print_line, print_text
from crewgraph.cli.runs import RunDatabase
from crewgraph.cli.target import Target, load_target
from crewgraph.compiler.agent.human_review import has_terminal
from crewgraph.crew import Crew
from crewgraph.definitions.crew.pending import CrewQuestion, PendingCrew
from crewgraph.definitions.flow.feedback import PendingFlow, Question
from crewgraph.errors import RunError
from crewgraph.flow.flow import Flow
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.settings import storage_dir

_AnyQuestion = CrewQuestion | Question


def approve(
    thread: Annotated[
        str | None, typer.Argument(help="The thread id of the run. Without it, the runs that wait are listed.")
    ] = None,
    target: Target = None,
    database: RunDatabase = None,
    yes: Annotated[bool, typer.Option("--yes", help="Allow the tool call, or accept the output.")] = False,
    no: Annotated[
        str | None,
        typer.Option(
            metavar="REASON", help="Refuse the tool call, or reject the output, for this reason.", show_default=False
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Answer with a text: what to change in the output, or other arguments for the tool as '{\"args\": {...}}'.",
            show_default=False,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The id of the question to answer, if the run waits for several.", show_default=False
        ),
    ] = None,
) -> None:
    """Answer a run's pending questions and resume it.

    Without THREAD, lists the runs that wait for an answer. At a terminal, asks for the answers unless --yes, --no or --answer
    gives one.

    Exit codes: 0 if the run finished, 1 on errors, 2 on invalid usage, 3 if the run waits for an answer.
    """
    given = [one for one in (yes or None, no, answer) if one is not None]
    if len(given) > 1:
        raise typer.BadParameter("--yes, --no and --answer exclude each other; pass one of them.")
    saver = _open_database(database)
    if thread is None:
        _list_pending(saver)
        return
    definition = _loaded(target, saver)
    questions = _pending_questions(definition, thread)
    for item in questions:
        print_text(f"{_question_text(item)}\n")
    if given:
        selected = _select_question(questions, question)
        result = definition.resume(thread, {selected.id: _answer_to(selected, yes, no) if answer is None else answer})
    elif has_terminal():  # a crew prompts by itself
        result = definition.resume(thread, None if isinstance(definition, Crew) else _typed_answers(questions))
    else:
        print_text("Answer with --yes, --no REASON or --answer TEXT, or run this command in a terminal.", err=True)
        raise typer.Exit(EXIT_PENDING)
    print_text(str(result))
    if isinstance(result, (PendingCrew, PendingFlow)):
        raise typer.Exit(EXIT_PENDING)


def resume(
    thread: Annotated[str, typer.Argument(help="The thread id of the run, as `crewgraph runs` lists it.")],
    target: Target = None,
    database: RunDatabase = None,
) -> None:
    """Resume a run that failed, was interrupted or killed.

    Recorded work is not repeated. Prints the result, also if the run is already done. At a terminal, asks for the
    answers that the run waits for.

    Exit codes: 0 if the run finished, 1 on errors, 2 on invalid usage, 3 if the run waits for an answer.
    """
    definition = _loaded(target, _open_database(database))
    result = definition.resume(thread)
    while isinstance(result, PendingFlow) and has_terminal():  # a crew prompts by itself
        questions: list[_AnyQuestion] = [*result.questions]
        for item in questions:
            print_text(f"{_question_text(item)}\n")
        result = definition.resume(thread, _typed_answers(questions))
    print_text(str(result))
    if isinstance(result, (PendingCrew, PendingFlow)):
        print_text(f"Answer with `crewgraph approve {thread}`.", err=True)
        raise typer.Exit(EXIT_PENDING)


def _answer_to(question: _AnyQuestion, yes: bool, no: str | None) -> object:
    """Return `--yes` or `--no` in the form that a question expects.

    Raises:
        typer.BadParameter: `--no` without a text rejects an output, which needs feedback.
    """
    posed = question if isinstance(question, CrewQuestion) else CrewQuestion.from_plain(question.id, question.output)
    if yes:
        return True if posed.kind in ("feedback", "approval") else "yes"
    if posed.kind == "approval":
        return {"approved": False, "reason": no}
    if posed.kind == "feedback" and not (no or "").strip():
        raise typer.BadParameter("--no needs a text that says what to change in the output.")
    return no or "no"


def _loaded(target: str | None, saver: Any) -> Any:
    """Load a crew or a flow, whose runs are in the given database, or in its own one if that is None."""
    definition = load_target(target)
    if saver is not None:
        definition.checkpointer = saver
    return definition


def _pending_questions(definition: "Crew | Flow[Any]", thread: str) -> list[_AnyQuestion]:
    """Return the pending questions of a run.

    Raises:
        RunError: The run has no pending questions.
    """
    for pending in definition.pending():
        if (pending.flow_id if isinstance(pending, PendingFlow) else pending.thread_id) == thread:
            return [*pending.questions]
    name = f"flow `{definition.flow_name}`" if isinstance(definition, Flow) else f"crew `{definition.name}`"
    raise RunError(
        f"no run of {name} with thread `{thread}` waits for an answer; `crewgraph approve` lists the runs that do"
    )


def _typed_answers(questions: list[_AnyQuestion]) -> PlainDict:
    return {question.id: input("> ") for question in questions}


def _open_database(database: Path | None) -> object:
    """Open the database given on the command line; None for the crew's or flow's own one."""
    if database is None:
        return None
    if not database.is_file():
        raise RunError(f"database `{database}` does not exist")
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    return SqliteCheckpointer(database)


def _list_pending(saver: object) -> None:
    from crewgraph.runtime.runs import storage

    if saver is None and not (storage_dir() / storage.DATABASE).is_file():
        print_text("no run waits for an answer")
        return
    from crewgraph.runtime.runs.index import pending_runs

    runs = pending_runs(saver or storage.default_checkpointer())
    for run in runs:
        print_line(f"{run.thread_id}  {run.kind} {run.name}  since {run.updated_at.astimezone():%Y-%m-%d %H:%M %Z}")
        for question in run.questions:
            print_line(f"  {question.id}  {question.summary()}")
    if not runs:
        print_text("no run waits for an answer")


def _select_question(questions: list[_AnyQuestion], question_id: str | None) -> _AnyQuestion:
    if question_id is None and len(questions) == 1:
        return questions[0]
    for question in questions:
        if question.id == question_id:
            return question
    ids = ", ".join(f"`{question.id}`" for question in questions)
    raise typer.BadParameter(f"several questions are pending: pass --question with one of {ids}")


def _question_text(question: _AnyQuestion) -> str:
    """Format a question with its context for the terminal."""
    if isinstance(question, CrewQuestion):
        location = " / ".join(part for part in (question.task, question.agent) if part)
        return "\n".join(filter(None, [f"[{question.id}] {location}".rstrip(), question.refused, question.text]))
    output: object = question.output
    is_crew_question = isinstance(output, Mapping) and "text" in cast("PlainMapping", output)
    if is_crew_question:
        body = None
    else:
        body = output if output is None or isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
    outcomes = f" ({' / '.join(question.outcomes)})" if question.outcomes else ""
    return "\n".join(
        filter(None, [f"[{question.id}] {question.method}", body, question.refused, f"{question.message}{outcomes}"])
    )
