"""`crewgraph diff`: two runs of a crew beside each other."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from crewgraph.cli.database import Database, opened
from crewgraph.cli.table import print_json, print_table
from crewgraph.definitions.crew_diff import RunDiff, TaskDiff
from crewgraph.lazy import lazy
from crewgraph.text import shorten

if TYPE_CHECKING:
    from crewgraph.runtime.crew_diff import between
else:
    between = lazy("crewgraph.runtime.crew_diff:between")

__all__ = ["diff"]

_EXCERPT = 80


def diff(
    a: Annotated[str, typer.Argument(help="The thread of a run.", show_default=False)],
    b: Annotated[str, typer.Argument(help="The thread of another.", show_default=False)],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 where the runs differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: Database = None,
) -> None:
    """Show what differs between two runs of a crew, task by task; `crewgraph runs` lists them."""
    with opened(database) as saver:
        found = between(saver, a, b)
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
