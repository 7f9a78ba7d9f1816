"""`crewgraph check`: what a CrewAI project uses, and whether it works on crewgraph."""

from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.cli.table import print_json
from crewgraph.errors import CrewgraphError
from crewgraph.extras import load

__all__ = ["check"]


def check(
    path: Annotated[Path, typer.Argument(help="A project's folder, or one file.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 for what differs, too.")] = False,
    everywhere: Annotated[bool, typer.Option("--all", help="Tell every place, not the first three.")] = False,
) -> None:
    """List what a project uses of CrewAI: what works here, what differs and how, what is absent and what to do instead.

    Nothing is imported or run. Ends with 0 where nothing is absent, with 1 where something is, with 2 where there is no
    such path.
    """
    try:
        checked: Any = load("crewgraph_compat.moving.check").check_project(path)
    except CrewgraphError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        print_json(checked.as_data())
    else:
        typer.echo(load("crewgraph_compat.moving.report").report(checked, everywhere=everywhere))
    marks = {one.state.mark.value for one in checked.found}
    if "absent" in marks or strict and "differs" in marks:
        raise typer.Exit(1)
