"""`crewgraph replay`: a task of a run that is kept, done again with all behind it."""

import json
from contextlib import ExitStack
from typing import Annotated, Any, cast

import typer

from crewgraph.cli.database import Database, opened
from crewgraph.cli.log_tasks_outputs import Thread
from crewgraph.cli.table import print_json
from crewgraph.cli.target import Target, target_crew

__all__ = ["replay"]


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
    database: Database = None,
) -> None:
    """Do a task of the latest run again, and all tasks behind it; what was found out before is taken from that run.

    `crewgraph log-tasks-outputs` shows the tasks and their ids.
    """
    given = _inputs(inputs)
    crew = target_crew(target)
    with ExitStack() as stack:
        saver = None if database is None else stack.enter_context(opened(database))
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
