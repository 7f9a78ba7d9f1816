"""Commands for moving between libraries.

`crewgraph check` and `crewgraph migrate` bring a CrewAI project to crewgraph; `crewgraph eject` turns a crew or flow into a
LangGraph program.
"""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crewgraph.cli.output import print_error, print_json, print_line, print_source, print_text
from crewgraph.cli.target import load_target, project_target
from crewgraph.compiler.agent.human_review import has_terminal
from crewgraph.errors import CrewgraphError
from crewgraph.extras import require
from crewgraph.lazy import lazy
from crewgraph.text import printable_line

__all__ = ["check", "eject", "migrate"]


if TYPE_CHECKING:
    from crewgraph_compat.moving.check import check_project
    from crewgraph_compat.moving.report import report
else:
    check_project = lazy("crewgraph_compat.moving.check:check_project")
    report = lazy("crewgraph_compat.moving.report:report")


def check(
    path: Annotated[Path, typer.Argument(help="Project directory or single file.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also exit with 1 if features differ.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list what works, and all occurrences instead of the first three.")
    ] = False,
) -> None:
    """Report which CrewAI features a project uses.

    Lists the features that are absent and what to use instead, and those that differ and how; with `--all` also those that
    work. Nothing is imported or run.

    Exit codes: 0 if no features are absent, 1 if some are, 2 if the path does not exist.
    """
    try:
        checked = check_project(path)
    except CrewgraphError as error:
        print_error(error)
        raise typer.Exit(2) from None
    if as_json:
        print_json(checked.as_data())
    else:
        print_text(report(checked, everything=everything))
    marks = {feature.state.mark.value for feature in checked.found}
    if "absent" in marks or strict and "differs" in marks:
        raise typer.Exit(1)


if TYPE_CHECKING:
    from crewgraph_compat.moving.migration import plan_migration
else:
    plan_migration = lazy("crewgraph_compat.moving.migration:plan_migration")


def migrate(
    path: Annotated[Path, typer.Argument(help="Project directory or single file.", show_default=False)],
    write: Annotated[bool, typer.Option("--write", help="Write the changes instead of only showing them.")] = False,
) -> None:
    """Rewrite a CrewAI project to use crewgraph.

    Updates imports, deprecated names and dependencies. Shows the changes as a diff, and lists what has to be changed by
    hand. Nothing is imported or run.

    Exit codes: 0 on success, 1 if a file could not be read, 2 if the path does not exist.
    """
    for package in ("libcst", "tomlkit"):
        require(package, extra="migrate", purpose="`crewgraph migrate`")
    try:
        migration = plan_migration(path)
    except CrewgraphError as error:
        print_error(error)
        raise typer.Exit(2) from None
    print_source(migration.diff())
    for note in (*migration.broken, *migration.notes):
        print_line(f"{note.file}:{note.line}: {note.text}", err=True)
    if write:
        _write(migration)
    print_text(_summary(migration, written=write), err=True)
    if migration.broken:
        raise typer.Exit(1)


def _write(migration: Any) -> None:
    try:
        migration.write()
    except OSError as error:
        print_error(f"cannot write `{error.filename}`: {error.strerror}. Run again to write the remaining files.")
        raise typer.Exit(1) from None


def _summary(migration: Any, *, written: bool) -> str:
    changed = f"{len(migration.files)} file{'' if len(migration.files) == 1 else 's'}"
    notes = f"{len(migration.notes)} note{'' if len(migration.notes) == 1 else 's'}"
    summary = f"{changed} {'rewritten' if written else 'to rewrite'}, {notes}"
    if migration.broken:
        summary += f", {len(migration.broken)} could not be read"
    return f"{summary}." if written or not migration.files else f"{summary}. Run with `--write` to apply the changes."


if TYPE_CHECKING:
    from crewgraph_compat.eject.program import eject_program
else:
    eject_program = lazy("crewgraph_compat.eject.program:eject_program")


def _ask_to_import(target: str) -> None:
    """Ask at the terminal whether a target may be imported.

    Raises:
        typer.Exit: It may not, or there is no terminal.
    """
    runs = f"`crewgraph eject` imports `{target}`, which runs the code of its module and of those that it imports"
    if not has_terminal():
        print_error(f"{runs}. Pass `--import` if you trust them.")
        raise typer.Exit(2)
    if not typer.confirm(printable_line(f"{runs}. Import it?"), err=True):
        raise typer.Exit(1)


_EXIT_TODO = 3
"""Exit code of a program that still contains TODOs."""


def eject(
    target: Annotated[
        str | None,
        typer.Argument(
            help="Crew or flow, as `file.py:name` or `package.module:name`. Defaults to the project's target, or its only one."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to instead of stdout.")] = None,
    is_import_agreed: Annotated[
        bool, typer.Option("--import", help="Import the target's module, which runs its code, without asking.")
    ] = False,
) -> None:
    """Export a crew or flow as a LangGraph program.

    The target's module is imported, which runs its code and that of the modules it imports, except for statements that run a
    crew or flow. At a terminal you are asked; elsewhere `--import` is needed.

    The program does not depend on crewgraph. If something cannot be translated, lists it with the reason and writes
    nothing. Exits with 3 if the source of a tool is unavailable; the program then contains a TODO in its place.
    """
    path = target or project_target()
    if not is_import_agreed:
        _ask_to_import(path)
    folder = Path.cwd() if output is None else output.parent
    search_path = [folder, *map(Path, sys.path)]
    with redirect_stdout(sys.stderr):  # what modules print is no part of the program
        definition = load_target(path, is_run=False)
    module = path.rpartition(":")[0]
    program = eject_program(definition, Path(module).stem if module.endswith(".py") else module, search_path)
    if output is None:
        print_source(program.source)
    else:
        output.write_text(program.source, "utf-8")
        print_text(f"written to {output}", err=True)
    for item in program.notes:
        print_text(f"note: {item}", err=True)
    for item in program.todo:
        print_text(f"TODO: {item}", err=True)
    if program.todo:
        raise typer.Exit(_EXIT_TODO)
