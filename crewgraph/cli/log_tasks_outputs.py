"""`crewgraph log-tasks-outputs`: what the tasks of a run gave."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from crewgraph.cli.database import Database, opened
from crewgraph.cli.table import print_fields, print_json
from crewgraph.errors import RunError
from crewgraph.extras import load

__all__ = ["Thread", "log_tasks_outputs"]

Thread = Annotated[str | None, typer.Option("--thread", help="The run; the latest one without it.", show_default=False)]
"""The option of a command that works on one run of a crew."""

_OF_TASK = ("id", "key")


def log_tasks_outputs(
    thread: Thread = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: Database = None,
) -> None:
    """Show what the tasks of the latest run of a crew gave, with the ids that `crewgraph replay -t` takes."""
    kept: Any = load("crewgraph.runtime.stored_run")
    index: Any = load("crewgraph.runtime.runs")
    with opened(database) as saver:
        if thread is None:
            latest = index.all_runs(saver, None, True, 1, "crew")
            if not latest:
                raise RunError("no run of a crew is kept there; `crewgraph where` tells where runs are kept")
            thread = latest[0].thread_id
        run = kept.stored_run(saver, thread)
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
    state: Any = load("crewgraph.compiler.state")
    task: Mapping[str, Any] = output.get(state.TASK) or {}
    return {
        "name": name,
        **{one: task.get(one) for one in _OF_TASK},
        "description": output.get("description"),
        "expected_output": output.get("expected_output"),
        "agent": output["agent"],
        "output": output["raw"],
    }
