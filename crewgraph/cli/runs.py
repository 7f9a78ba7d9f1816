"""`crewgraph runs`: the runs that are kept."""

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crewgraph.cli.database import Database, opened
from crewgraph.cli.table import print_json, print_table
from crewgraph.definitions.run_info import RunFilter
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.runtime.runs import all_runs
else:
    all_runs = lazy("crewgraph.runtime.runs:all_runs")

__all__ = ["Status", "runs"]


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
    database: Database = None,
) -> None:
    """List the runs of crews and flows that are kept, those written last first.

    finished: it is done. pending: it waits for an answer. open: it goes on in some process, or can be resumed.
    """
    wanted = RunFilter(status=None if status is None else status.value, inside=inside, limit=limit)
    with opened(database) as saver:
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
