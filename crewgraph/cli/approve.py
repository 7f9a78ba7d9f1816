"""`crewgraph approve`: what waits for an answer, and answering it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crewgraph.cli.target import Target, target_of_either
from crewgraph.compiler.agent.human_review import has_terminal
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.pending import CrewQuestion, PendingCrew
from crewgraph.definitions.flow.feedback import PendingFlow, Question
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import RunError
from crewgraph.lazy import lazy, lazy_module
from crewgraph.settings import storage_dir
from crewgraph.text import printable

__all__ = ["approve"]


if TYPE_CHECKING:
    from crewgraph.runtime.runs import storage
    from crewgraph.runtime.runs.index import pending_runs
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
else:
    SqliteCheckpointer = lazy("crewgraph.storage.checkpoints.sqlite:SqliteCheckpointer")
    pending_runs = lazy("crewgraph.runtime.runs.index:pending_runs")
    storage = lazy_module("crewgraph.runtime.runs.storage")

_WAITS = 3
"""The exit code where the run waits for an answer, still or again."""

_Asked = CrewQuestion | Question


def approve(
    thread: Annotated[str | None, typer.Argument(help="The run; without it, those that wait are listed.")] = None,
    target: Target = None,
    database: Annotated[
        Path | None, typer.Option(help="Where runs are kept; the default database if not given.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Allow the call, or accept the answer.")] = False,
    no: Annotated[str | None, typer.Option(metavar="REASON", help="Refuse, and say why.", show_default=False)] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Answer with a text: what to change, or other arguments: '{\"args\": {...}}'.",
            show_default=False,
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="ID", help="Which question, where several wait.", show_default=False)
    ] = None,
) -> None:
    """Show what waits for an answer, answer it, and let the run go on.

    At a terminal, and without --yes, --no or --answer, the questions are asked there. The exit code is 0 when the run is done,
    3 when it waits for an answer, 1 where something failed, 2 where the command was misunderstood.
    """
    given = _Given(yes, no, answer)
    saver = _opened(database)
    if thread is None:
        _list(saver)
        return
    run = _Run(target_of_either(target), thread, saver)
    waiting = run.waiting()
    for one in waiting:
        typer.echo(printable(f"{_shown(one)}\n"))
    if given.is_there:
        asked = _chosen(waiting, question)
        result = run.resumed({asked.id: given.to(asked)})
    elif has_terminal():
        result = run.resumed(run.answers(waiting))
    else:
        typer.echo("Answer with --yes, --no REASON or --answer TEXT, or at a terminal.", err=True)
        raise typer.Exit(_WAITS)
    typer.echo(printable(str(result)))
    if isinstance(result, (PendingCrew, PendingFlow)):
        raise typer.Exit(_WAITS)


@dataclass(frozen=True)
class _Given:
    """The answer on the command line."""

    yes: bool
    no: str | None
    answer: str | None

    def __post_init__(self) -> None:
        if self.yes + (self.no is not None) + (self.answer is not None) > 1:
            raise typer.BadParameter("give one of --yes, --no and --answer")

    @property
    def is_there(self) -> bool:
        return self.yes or self.no is not None or self.answer is not None

    def to(self, asked: _Asked) -> Any:
        """What it means for a question."""
        kind = _kind(asked)
        if self.answer is not None:
            return self.answer
        if self.yes:
            return True if kind in ("feedback", "approval") else "yes"
        if kind == "approval":
            return {"approved": False, "reason": self.no}
        if kind == "feedback" and not (self.no or "").strip():
            raise typer.BadParameter("--no says what should be changed in the answer: it takes a text")
        return self.no or "no"


class _Run:
    """A run that waits, of a crew or of a flow."""

    def __init__(self, of: "Crew | Flow", thread: str, saver: Any) -> None:
        self._of, self._thread, self._saver = of, thread, saver
        if isinstance(of, Flow) and saver is not None:
            of.checkpointer = saver

    def waiting(self) -> list[_Asked]:
        """What it asks.

        Raises:
            RunError: it asks nothing.
        """
        of = self._of
        found = of.pending() if isinstance(of, Flow) else of.pending(checkpointer=self._saver)
        for one in found:
            if (one.flow_id if isinstance(one, PendingFlow) else one.thread_id) == self._thread:
                return [*one.questions]
        what = f"flow `{of.flow_name}`" if isinstance(of, Flow) else f"crew `{of.name}`"
        raise RunError(
            f"no run of {what} waits for an answer under `{self._thread}`; `crewgraph approve` lists those that do"
        )

    def answers(self, waiting: list[_Asked]) -> dict[str, Any] | None:
        """What somebody at the terminal says to a flow's questions; a crew's run asks there itself."""
        return None if isinstance(self._of, Crew) else {one.id: input("> ") for one in waiting}

    def resumed(self, answers: dict[str, object] | None) -> object:
        """What came of going on."""
        if isinstance(self._of, Flow):
            return self._of.resume(self._thread, answers)
        return self._of.resume(self._thread, answers, checkpointer=self._saver)


def _opened(database: Path | None) -> Any:
    """The database that was named; None for the one that the crew is kept in."""
    if database is None:
        return None
    if not database.is_file():
        raise RunError(f"there is no database `{database}`")
    return SqliteCheckpointer(database)


def _list(saver: object) -> None:
    if saver is None and not (storage_dir() / storage.DATABASE).is_file():
        typer.echo("nothing waits for an answer")
        return
    found = pending_runs(saver or storage.default_checkpointer())
    for run in found:
        typer.echo(f"{run.thread_id}  {run.kind} {run.name}  since {run.updated_at:%Y-%m-%d %H:%M} UTC")
        for one in run.questions:
            typer.echo(printable(f"  {one.id}  {one.told()}"))
    if not found:
        typer.echo("nothing waits for an answer")


def _chosen(waiting: list[_Asked], wanted: str | None) -> _Asked:
    if wanted is None and len(waiting) == 1:
        return waiting[0]
    for one in waiting:
        if one.id == wanted:
            return one
    ids = ", ".join(f"`{one.id}`" for one in waiting)
    raise typer.BadParameter(f"which question? --question takes one of {ids}")


def _kind(asked: _Asked) -> str:
    if isinstance(asked, CrewQuestion):
        return asked.kind
    of_crew = CrewQuestion.from_plain(asked.id, asked.output)
    return of_crew.kind


def _shown(asked: _Asked) -> str:
    """A question with everything there is to look at."""
    if isinstance(asked, CrewQuestion):
        where = " / ".join(one for one in (asked.task, asked.agent) if one)
        return "\n".join(filter(None, [f"[{asked.id}] {where}".rstrip(), asked.refused, asked.text]))
    shown: Any = asked.output
    is_of_crew = isinstance(shown, Mapping) and "text" in cast("Mapping[str, Any]", shown)
    output: object = None if is_of_crew else cast("Any", shown)
    told = output if output is None or isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
    words = f" ({' / '.join(asked.outcomes)})" if asked.outcomes else ""
    return "\n".join(filter(None, [f"[{asked.id}] {asked.method}", told, asked.refused, f"{asked.message}{words}"]))
