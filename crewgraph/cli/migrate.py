"""`crewgraph migrate`: a CrewAI project rewritten so that it runs on crewgraph by itself."""

from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.errors import CrewgraphError
from crewgraph.extras import load, require

__all__ = ["migrate"]


def migrate(
    path: Annotated[Path, typer.Argument(help="A project's folder, or one file.", show_default=False)],
    write: Annotated[bool, typer.Option("--write", help="Write the files; else only the diff is shown.")] = False,
) -> None:
    """Rewrite a CrewAI project for crewgraph: imports, what older versions wrote otherwise, dependencies.

    Shows the changes as a diff, and what is left to be done by hand. Nothing is imported or run. Ends with 1 where a file
    could not be read, and with 2 where there is no such path.
    """
    for package in ("libcst", "tomlkit"):
        require(package, extra="migrate", purpose="`crewgraph migrate`")
    try:
        made: Any = load("crewgraph_compat.moving.migration").plan_migration(path)
    except CrewgraphError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(made.diff(), nl=False)
    for note in (*made.broken, *made.notes):
        typer.echo(f"{note.file}:{note.line}: {note.text}", err=True)
    if write:
        _write(made)
    typer.echo(_summary(made, written=write), err=True)
    if made.broken:
        raise typer.Exit(1)


def _write(made: Any) -> None:
    try:
        made.write()
    except OSError as error:
        typer.echo(
            f"Error: `{error.filename}` cannot be written: {error.strerror}. Run it again for what is left.", err=True
        )
        raise typer.Exit(1) from None


def _summary(made: Any, *, written: bool) -> str:
    changed = f"{len(made.files)} file{'' if len(made.files) == 1 else 's'}"
    told = f"{changed} {'rewritten' if written else 'to rewrite'}, {len(made.notes)} to look at"
    if made.broken:
        told += f", {len(made.broken)} that could not be read"
    return f"{told}." if written or not made.files else f"{told}. `--write` writes them."
