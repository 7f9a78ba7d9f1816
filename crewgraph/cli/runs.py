"""`crewgraph runs`: the runs that are kept.

The database a command reads: the one that is named, or the default one.

`crewgraph diff`: two runs of a crew beside each other.

`crewgraph log-tasks-outputs`: what the tasks of a run gave.

`crewgraph replay`: a task of a run that is kept, done again with all behind it.

`crewgraph where`: the place where runs are kept.
"""

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crewgraph.cli.table import print_fields, print_json, print_table
from crewgraph.cli.target import Target, target_crew
from crewgraph.definitions.crew.history import RunDiff, TaskDiff
from crewgraph.definitions.crew.pending import RunFilter
from crewgraph.errors import RunError, StorageError
from crewgraph.lazy import lazy, lazy_module
from crewgraph.settings import storage_dir
from crewgraph.text import shorten

__all__ = ["DatabaseFile", "Status", "Thread", "diff", "log_tasks_outputs", "open_database", "replay", "runs", "where"]


if TYPE_CHECKING:
    from crewgraph.runtime.runs import storage
    from crewgraph.storage.checkpoints import schema
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
    from crewgraph.storage.database import Database
else:
    storage = lazy_module("crewgraph.runtime.runs.storage")
    SqliteCheckpointer = lazy("crewgraph.storage.checkpoints.sqlite:SqliteCheckpointer")
    Database = lazy("crewgraph.storage.database:Database")
    schema = lazy_module("crewgraph.storage.checkpoints.schema")

DatabaseFile = Annotated[
    Path | None,
    typer.Option("--database", help="The file runs are kept in; the default database without it.", show_default=False),
]
"""The option of a command that reads what is kept."""


@contextmanager
def open_database(path: Path | None) -> Generator[Any]:
    """The checkpointer on the database; nothing in it is forgotten because it is read.

    Raises:
        StorageError: there is no such file, or it is no database of ours.
    """
    file = path or storage_dir() / storage.DATABASE
    if not file.is_file():
        hint = "" if path else "; the first run that is kept creates it"
        raise StorageError(f"there is no database `{file}`{hint}")
    with SqliteCheckpointer(file) as saver:
        yield saver


if TYPE_CHECKING:
    from crewgraph.runtime.runs.index import all_runs
else:
    all_runs = lazy("crewgraph.runtime.runs.index:all_runs")


class Status(StrEnum):
    """How far a run is."""

    finished = "finished"
    pending = "pending"
    open = "open"


def runs(
    status: Annotated[Status | None, typer.Option("--status", help="Those alone.", show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, the latest.")] = 20,
    inside: Annotated[bool, typer.Option("--inside", help="Also those inside the methods of flows.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: DatabaseFile = None,
) -> None:
    """List the runs of crews and flows that are kept, those written last first.

    finished: it is done. pending: it waits for an answer. open: it goes on in some process, or can be resumed.
    """
    wanted = RunFilter(status=None if status is None else status.value, inside=inside, limit=limit)
    with open_database(database) as saver:
        found = all_runs(saver, wanted)
    if as_json:
        print_json([asdict(one) for one in found])
    elif found:
        columns = ("thread", "kind", "name", "status", "last", "written")
        rows = (
            (one.thread_id, one.kind, one.name, one.status, one.last or "-", f"{one.updated_at:%Y-%m-%d %H:%M} UTC")
            for one in found
        )
        print_table(columns, rows, whole=("thread",))
    else:
        typer.echo("no such runs are kept" if status else "no runs are kept")


if TYPE_CHECKING:
    from crewgraph.runtime.runs.crew_history import diff_stored_runs
else:
    diff_stored_runs = lazy("crewgraph.runtime.runs.crew_history:diff_stored_runs")

_EXCERPT = 80


def diff(
    a: Annotated[str, typer.Argument(help="The thread of a run.", show_default=False)],
    b: Annotated[str, typer.Argument(help="The thread of another.", show_default=False)],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 where the runs differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: DatabaseFile = None,
) -> None:
    """Show what differs between two runs of a crew, task by task; `crewgraph runs` lists them."""
    with open_database(database) as saver:
        found = diff_stored_runs(saver, a, b)
    if as_json:
        print_json(_plain(found))
    else:
        _show(found)
    if exit_code and not found.same:
        raise typer.Exit(1)


def _show(found: RunDiff) -> None:
    typer.echo(f"a  {found.a}\nb  {found.b}")
    for name, (a, b) in found.inputs.items():
        typer.echo(f"input {name}: {shorten(repr(a), _EXCERPT)} -> {shorten(repr(b), _EXCERPT)}")
    print_table(("task", "", "agent", "tokens", "seconds", "output"), map(_row, found.tasks), whole=("task",))


def _row(one: TaskDiff) -> tuple[str, ...]:
    agents = list(dict.fromkeys(side.agent for side in (one.a, one.b) if side is not None))
    outputs = [
        f"{sign} {shorten(side.raw, _EXCERPT)}" for sign, side in (("-", one.a), ("+", one.b)) if side is not None
    ]
    return (
        one.task,
        one.status,
        " -> ".join(agents),
        f"{one.tokens:+d}",
        "" if one.seconds is None else f"{one.seconds:+.1f}",
        "\n".join(outputs) if one.status != "same" else outputs[0][2:],
    )


def _plain(found: RunDiff) -> dict[str, Any]:
    return {
        "a": found.a,
        "b": found.b,
        "same": found.same,
        "inputs": {name: list(values) for name, values in found.inputs.items()},
        "tasks": [
            {
                "task": one.task,
                "status": one.status,
                "differs": one.differs,
                "tokens": one.tokens,
                "seconds": one.seconds,
                "a": None if one.a is None else {"agent": one.a.agent, "output": one.a.raw},
                "b": None if one.b is None else {"agent": one.b.agent, "output": one.b.raw},
            }
            for one in found.tasks
        ],
    }


if TYPE_CHECKING:
    from crewgraph.compiler.crew import state
    from crewgraph.runtime.runs.index import all_runs
    from crewgraph.runtime.runs.stored_run import stored_run
else:
    stored_run = lazy("crewgraph.runtime.runs.stored_run:stored_run")
    all_runs = lazy("crewgraph.runtime.runs.index:all_runs")
    state = lazy_module("crewgraph.compiler.crew.state")

Thread = Annotated[str | None, typer.Option("--thread", help="The run; the latest one without it.", show_default=False)]
"""The option of a command that works on one run of a crew."""

_OF_TASK = ("id", "key")


def log_tasks_outputs(
    thread: Thread = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: DatabaseFile = None,
) -> None:
    """Show what the tasks of the latest run of a crew gave, with the ids that `crewgraph replay -t` takes."""
    with open_database(database) as saver:
        if thread is None:
            latest = all_runs(saver, RunFilter(inside=True, limit=1), "crew")
            if not latest:
                raise RunError("no run of a crew is kept there; `crewgraph where` tells where runs are kept")
            thread = latest[0].thread_id
        run = stored_run(saver, thread)
    tasks = [_told(name, output) for name, output in run.finished.items()]
    if as_json:
        print_json({"thread_id": run.thread_id, "crew": run.crew, "inputs": run.inputs, "tasks": tasks})
        return
    typer.echo(f"run {run.thread_id} of crew `{run.crew or 'unknown'}`")
    for number, one in enumerate(tasks):
        fields = ("id", "key", "agent", "expected_output", "output")
        print_fields(
            f"{number}. {one['name']}", [(field.replace("_", " "), str(one[field] or "-")) for field in fields]
        )
    if not tasks:
        typer.echo("none of its tasks is done")


def _told(name: str, output: Mapping[str, Any]) -> dict[str, Any]:
    task: Mapping[str, Any] = output.get(state.TASK) or {}
    return {
        "name": name,
        **{one: task.get(one) for one in _OF_TASK},
        "description": output.get("description"),
        "expected_output": output.get("expected_output"),
        "agent": output["agent"],
        "output": output["raw"],
    }


def replay(
    task: Annotated[
        str,
        typer.Option(
            "-t", "--task_id", "--task-id", help="The task: its id, key or name, or its number.", show_default=False
        ),
    ],
    thread: Thread = None,
    inputs: Annotated[
        str | None,
        typer.Option("--inputs", help="A JSON object: values that replace those of that run.", show_default=False),
    ] = None,
    target: Target = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON, for programs.")] = False,
    database: DatabaseFile = None,
) -> None:
    """Do a task of the latest run again, and all tasks behind it; what was found out before is taken from that run.

    `crewgraph log-tasks-outputs` shows the tasks and their ids.
    """
    given = _inputs(inputs)
    crew = target_crew(target)
    with ExitStack() as stack:
        saver = None if database is None else stack.enter_context(open_database(database))
        result = crew.replay(task, given, thread, checkpointer=saver)
    if as_json:
        tasks = [{"name": one.name, "agent": one.agent, "output": one.raw} for one in result.tasks_output]
        print_json({"thread_id": result.thread_id, "output": result.raw, "tasks": tasks})
    else:
        typer.echo(f"run {result.thread_id}", err=True)
        typer.echo(result.raw)


def _inputs(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        given: Any = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"it is no JSON: {error}", param_hint="--inputs") from error
    if not isinstance(given, dict):
        raise typer.BadParameter('give a JSON object: {"topic": "rain"}', param_hint="--inputs")
    return cast("dict[str, Any]", given)


_SECONDS = 5
_STEP = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def where() -> None:
    """Show where runs are kept, how much room they take, and how many there are."""
    database = storage_dir() / storage.DATABASE
    typer.echo(f"database  {database}")
    if not database.is_file():
        typer.echo("          not there yet: the first run that is kept creates it")
        return
    typer.echo(f"size      {_readable(_size(database))}")
    with closing(
        Database(str(database), synchronous="NORMAL", timeout=_SECONDS, schema=schema.CHECKPOINT_SCHEMA)
    ) as opened:
        typer.echo(f"threads   {opened.read(_threads)}")


def _threads(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT COUNT(DISTINCT thread) FROM lineages").fetchone()[0]


def _size(database: Path) -> int:
    """The bytes on disk, with the files that SQLite keeps beside a database in use."""
    beside = (database.with_name(f"{database.name}{ending}") for ending in ("", "-wal", "-shm"))
    return sum(path.stat().st_size for path in beside if path.exists())


def _readable(size: float) -> str:
    unit = 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} {_UNITS[0]}"
