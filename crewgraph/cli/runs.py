"""Commands that work on stored runs: `crewgraph runs`, `diff`, `log-tasks-outputs`, `replay` and `where`."""

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.cli.crews import Inputs, read_inputs
from crewgraph.cli.output import EXIT_PENDING, AsJson, print_fields, print_json, print_line, print_table, print_text
from crewgraph.cli.target import CrewTarget, load_crew_target
from crewgraph.definitions.crew.history import RunDiff, TaskDiff
from crewgraph.definitions.crew.pending import PendingCrew, RunFilter
from crewgraph.errors import RunError, StorageError
from crewgraph.schema import PlainMapping
from crewgraph.settings import storage_dir
from crewgraph.text import shorten

DatabaseFile = Annotated[
    Path | None,
    typer.Option(
        "--database",
        help="The database file with the runs. By default the one that `crewgraph where` shows.",
        show_default=False,
    ),
]
"""The `--database` option of commands that read stored runs."""

RunDatabase = Annotated[
    Path | None,
    typer.Option(
        "--database",
        help="The database file with the run. By default the one that the crew or flow uses.",
        show_default=False,
    ),
]
"""The `--database` option of commands that continue a run."""


@contextmanager
def open_database(path: Path | None) -> Generator[Any]:
    """Open a checkpointer on a database without deleting anything from it.

    Args:
        path: The database file; None for the default one.

    Raises:
        StorageError: The file does not exist, or is not a crewgraph database.
    """
    from crewgraph.runtime.runs import storage

    file = path or storage_dir() / storage.DATABASE
    if not file.is_file():
        hint = "" if path else "; it is created when the first run is stored"
        raise StorageError(f"database `{file}` does not exist{hint}")
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    with SqliteCheckpointer(file) as saver:
        yield saver


class Status(StrEnum):
    """The status of a stored run."""

    working = "working"
    waiting = "waiting"
    failed = "failed"
    abandoned = "abandoned"
    done = "done"
    open = "open"


def runs(
    status: Annotated[
        Status | None, typer.Option("--status", help="List only runs with this status.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many runs to list at most.")] = 20,
    inside: Annotated[bool, typer.Option("--inside", help="Also list runs that methods of flows started.")] = False,
    everywhere: Annotated[bool, typer.Option("--all", help="Also list runs of other projects.")] = False,
    as_json: AsJson = False,
    database: DatabaseFile = None,
) -> None:
    """List the stored runs of this directory's project, the last updated first.

    In a directory without a project (`pyproject.toml`), lists those of all.

    A run is `working` in some process, `waiting` for an answer, `failed`, `abandoned` (its process ended before it did) or
    `done`. `--status open` lists the runs that can be resumed: the failed and the abandoned ones.
    """
    run_filter = RunFilter(status=None if status is None else status.value, inside=inside, limit=limit)
    from crewgraph.runtime.runs.index import all_runs
    from crewgraph.runtime.runs.metadata import project_labels

    project = {} if everywhere or database is not None else project_labels()
    with open_database(database) as saver:
        stored = all_runs(saver, run_filter, project=project)
    if as_json:
        print_json([asdict(run) for run in stored])
    elif stored:
        columns = ("thread", "kind", "name", "status", "last", "written")
        rows = (
            (
                run.thread_id,
                run.kind,
                run.name,
                run.status,
                run.last or "-",
                f"{run.updated_at.astimezone():%Y-%m-%d %H:%M %Z}",
            )
            for run in stored
        )
        print_table(columns, rows, no_wrap=("thread",))
    else:
        kind = f"{status.value} runs" if status else "runs"
        print_text(
            f"no {kind} of this project; `crewgraph runs --all` lists those of others" if project else f"no {kind}"
        )


_EXCERPT = 80


def diff(
    a: Annotated[str, typer.Argument(help="The thread id of the first run.", show_default=False)],
    b: Annotated[str, typer.Argument(help="The thread id of the second run.", show_default=False)],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if the runs differ.")] = False,
    as_json: AsJson = False,
    database: DatabaseFile = None,
) -> None:
    """Compare two runs of a crew, task by task.

    `crewgraph runs` lists the thread ids.
    """
    from crewgraph.runtime.runs.crew_history import diff_stored_runs

    with open_database(database) as saver:
        comparison = diff_stored_runs(saver, a, b)
    if as_json:
        print_json(_diff_as_data(comparison))
    else:
        _print_diff(comparison)
    if exit_code and not comparison.same:
        raise typer.Exit(1)


def _print_diff(comparison: RunDiff) -> None:
    print_line(f"a  {comparison.a}")
    print_line(f"b  {comparison.b}")
    for name, (a, b) in comparison.inputs.items():
        print_line(f"input {name}: {shorten(repr(a), _EXCERPT)} -> {shorten(repr(b), _EXCERPT)}")
    print_table(
        ("task", "", "agent", "tokens", "seconds", "output"), map(_diff_row, comparison.tasks), no_wrap=("task",)
    )


def _diff_row(task: TaskDiff) -> tuple[str, ...]:
    agents = list(dict.fromkeys(side.agent for side in (task.a, task.b) if side is not None))
    outputs = [
        f"{sign} {shorten(side.raw, _EXCERPT)}" for sign, side in (("-", task.a), ("+", task.b)) if side is not None
    ]
    return (
        task.task,
        task.status,
        " -> ".join(agents),
        f"{task.tokens:+d}",
        "" if task.seconds is None else f"{task.seconds:+.1f}",
        "\n".join(outputs) if task.status != "same" else outputs[0][2:],
    )


def _diff_as_data(comparison: RunDiff) -> dict[str, object]:
    return {
        "a": comparison.a,
        "b": comparison.b,
        "same": comparison.same,
        "inputs": {name: list(values) for name, values in comparison.inputs.items()},
        "tasks": [
            {
                "task": task.task,
                "status": task.status,
                "differs": task.differs,
                "tokens": task.tokens,
                "seconds": task.seconds,
                "a": None if task.a is None else {"agent": task.a.agent, "output": task.a.raw},
                "b": None if task.b is None else {"agent": task.b.agent, "output": task.b.raw},
            }
            for task in comparison.tasks
        ],
    }


Thread = Annotated[
    str | None,
    typer.Argument(help="The thread id of the run. By default the latest run.", show_default=False),
]
"""The argument of commands that work on one run of a crew."""

_TASK_FIELDS = ("id", "key")


def log_tasks_outputs(
    thread: Thread = None,
    as_json: AsJson = False,
    database: DatabaseFile = None,
) -> None:
    """Show the task outputs of a crew's run.

    Each output is shown with the id of its task, which `crewgraph replay -t` takes.
    """
    from crewgraph.runtime.runs.index import all_runs
    from crewgraph.runtime.runs.metadata import project_labels
    from crewgraph.runtime.runs.stored_run import stored_run

    with open_database(database) as saver:
        if thread is None:
            project = {} if database is not None else project_labels()
            latest = all_runs(saver, RunFilter(inside=True, limit=1), "crew", project)
            if not latest:
                raise RunError(
                    "no runs of this project's crews are stored; `crewgraph runs --all` lists those of others"
                )
            thread = latest[0].thread_id
        run = stored_run(saver, thread)
    tasks = [_task_output(name, output) for name, output in run.finished.items()]
    if as_json:
        print_json({"thread_id": run.thread_id, "crew": run.shown_name, "inputs": run.inputs, "tasks": tasks})
        return
    print_line(f"run {run.thread_id} of crew `{run.shown_name}`")
    for number, one in enumerate(tasks):
        fields = ("id", "key", "agent", "expected_output", "output")
        print_fields(
            f"{number}. {one['name']}", [(field.replace("_", " "), str(one[field] or "-")) for field in fields]
        )
    if not tasks:
        print_text("none of its tasks is done")


def _task_output(name: str, output: PlainMapping) -> dict[str, object]:
    from crewgraph.compiler.crew import state

    task: Mapping[str, object] = output.get(state.TASK) or {}
    return {
        "name": name,
        **{field: task.get(field) for field in _TASK_FIELDS},
        "description": output.get("description"),
        "expected_output": output.get("expected_output"),
        "agent": output["agent"],
        "output": output["raw"],
    }


def replay(
    task: Annotated[
        str,
        typer.Option(
            "-t",
            "--task_id",
            "--task-id",
            help="The first task to run again: its id, key, name or number.",
            show_default=False,
        ),
    ],
    thread: Thread = None,
    inputs: Inputs = None,
    target: CrewTarget = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    database: RunDatabase = None,
) -> None:
    """Run a crew again, starting from one of its tasks.

    The task and all tasks after it run again, with the given inputs in place of the run's; the outputs of earlier tasks are
    taken from the stored run.
    `crewgraph log-tasks-outputs` lists the ids of the tasks.

    Exit codes: 0 if the run finished, 1 on errors, 2 on invalid usage, 3 if the run waits for an answer.
    """
    values = read_inputs(inputs) if inputs else None
    crew = load_crew_target(target)
    with ExitStack() as stack:
        saver = None if database is None else stack.enter_context(open_database(database))
        result = crew.replay(task, values, thread, checkpointer=saver)
    text = str(result) if isinstance(result, PendingCrew) else result.raw
    if as_json:
        tasks = [
            {"name": task_output.name, "agent": task_output.agent, "output": task_output.raw}
            for task_output in result.tasks_output
        ]
        print_json({"thread_id": result.thread_id, "output": text, "tasks": tasks})
    else:
        print_line(f"run {result.thread_id}", err=True)
        print_text(text)
    if isinstance(result, PendingCrew):
        print_line(f"Answer with `crewgraph approve {result.thread_id}`.", err=True)
        raise typer.Exit(EXIT_PENDING)


_BUSY_TIMEOUT = 5  # seconds


def where() -> None:
    """Show the default database: its path, size and threads."""
    from crewgraph.runtime.runs import storage

    database = storage_dir() / storage.DATABASE
    print_text(f"database  {database}")
    if not database.is_file():
        print_text("          does not exist yet; it is created when the first run is stored")
        return
    from rich.filesize import decimal

    files = (
        database.with_name(f"{database.name}{ending}") for ending in ("", "-wal", "-shm")
    )  # all that SQLite writes
    print_text(f"size      {decimal(sum(path.stat().st_size for path in files if path.exists()))}")
    from crewgraph.storage.checkpoints import schema
    from crewgraph.storage.database import Database

    with closing(
        Database(str(database), synchronous="NORMAL", timeout=_BUSY_TIMEOUT, schema=schema.CHECKPOINT_SCHEMA)
    ) as opened:
        print_text(f"threads   {opened.read(_count_threads)}")


def _count_threads(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT COUNT(DISTINCT thread) FROM lineages").fetchone()[0]
