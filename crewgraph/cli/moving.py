"""`crewgraph check`: what a CrewAI project uses, and whether it works on crewgraph.

`crewgraph migrate`: a CrewAI project rewritten so that it runs on crewgraph by itself.

`crewgraph eject`: a crew or flow as the source of a LangGraph program.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crewgraph.cli.table import print_json
from crewgraph.cli.target import target_of_either
from crewgraph.errors import CrewgraphError
from crewgraph.extras import require
from crewgraph.lazy import lazy

__all__ = ["check", "eject", "migrate"]


if TYPE_CHECKING:
    from crewgraph_compat.moving.check import check_project
    from crewgraph_compat.moving.report import report
else:
    check_project = lazy("crewgraph_compat.moving.check:check_project")
    report = lazy("crewgraph_compat.moving.report:report")


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
        checked = check_project(path)
    except CrewgraphError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        print_json(checked.as_data())
    else:
        typer.echo(report(checked, everywhere=everywhere))
    marks = {one.state.mark.value for one in checked.found}
    if "absent" in marks or strict and "differs" in marks:
        raise typer.Exit(1)


if TYPE_CHECKING:
    from crewgraph_compat.moving.migration import plan_migration
else:
    plan_migration = lazy("crewgraph_compat.moving.migration:plan_migration")


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
        made = plan_migration(path)
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


if TYPE_CHECKING:
    from crewgraph_compat.eject.program import eject_program
else:
    eject_program = lazy("crewgraph_compat.eject.program:eject_program")

_UNFINISHED = 3
"""The status where something is left to be written."""


def eject(
    target: Annotated[
        str | None,
        typer.Argument(
            help="The crew or flow: `file.py:name` or `package.module:name`; that of the project without it."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file it is written to; else it is shown.")
    ] = None,
) -> None:
    """Write a crew or flow out as a LangGraph program, which needs crewgraph no longer.

    What has no translation is listed, with the reason, and nothing is written. The status is 3 where the source of a tool
    is not to be had: its place is in the program, marked TODO.
    """
    found = target_of_either(target)
    module = (target or "").rpartition(":")[0]
    made = eject_program(found, Path(module).stem if module.endswith(".py") else module)
    if output is None:
        sys.stdout.write(made.source)
    else:
        output.write_text(made.source, "utf-8")
        typer.echo(f"written to {output}", err=True)
    for left in made.todo:
        typer.echo(f"TODO: {left}", err=True)
    if made.todo:
        raise typer.Exit(_UNFINISHED)
