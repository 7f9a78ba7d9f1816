"""Commands for moving between libraries.

`crewgraph check` and `crewgraph migrate` bring a CrewAI project to crewgraph; `crewgraph eject` turns a crew or flow into a
LangGraph program.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.cli.output import AsJson, print_error, print_json, print_line, print_source, print_text
from crewgraph.cli.target import load_target, project_target
from crewgraph.compiler.agent.human_review import has_terminal
from crewgraph.disk import replace_file
from crewgraph.errors import CrewgraphError
from crewgraph.extras import RELEASED, require
from crewgraph.text import printable_line


def check(
    path: Annotated[
        Path,
        typer.Argument(
            help="The directory of the project, or a single file. By default this directory.", show_default=False
        ),
    ] = Path(),
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also if features need attention.")] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also list what may differ and what works, and every place instead of the first three."
        ),
    ] = False,
) -> None:
    """Report which CrewAI features a project uses.

    Lists features that are not available and what to use instead, then those that differ wherever they are used. If there are
    none, the first line is "Nothing to do". `--all` also lists what may differ in cases that the code does not show, safer
    defaults, improvements and features that work. Nothing is imported or run.

    Exit codes: 0 if all features are available, 1 if some are not or a file could not be read, 2 if the path does not exist.
    """
    from crewgraph_compat.moving.check import check_project

    try:
        checked = check_project(path)
    except CrewgraphError as error:
        print_error(error)
        raise typer.Exit(2) from None
    if as_json:
        print_json(checked.as_data())
    else:
        from crewgraph_compat.moving.report import report

        print_text(report(checked, everything=everything))
    marks = {feature.state.mark.value for feature in checked.found}
    if checked.broken or "absent" in marks or strict and "differs" in marks:
        raise typer.Exit(1)


def migrate(
    path: Annotated[
        Path,
        typer.Argument(
            help="The directory of the project, or a single file. By default this directory.", show_default=False
        ),
    ] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write the changes instead of only showing them.")] = False,
) -> None:
    """Rewrite a CrewAI project to use crewgraph.

    Updates imports, deprecated names and dependencies. Shows the changes as a diff, lists the changes to make by hand, and
    writes nothing without `--write`. Nothing is imported or run.

    Exit codes: 0 on success, 1 if a file could not be read, 2 if the path does not exist.
    """
    for package in ("libcst", "tomlkit"):
        require(package, extra="migrate", purpose="`crewgraph migrate`")
    from crewgraph_compat.moving.migration import plan_migration

    try:
        migration = plan_migration(path)
    except CrewgraphError as error:
        print_error(error)
        raise typer.Exit(2) from None
    print_source(migration.diff())
    for note in (*migration.broken, *migration.notes):
        print_line(f"{note.file}:{note.line}: {note.text}", err=True)
    if not RELEASED and any(b"crewgraph>=" in file.after for file in migration.files):
        print_line("crewgraph is not on a package index yet: install its checkout before these requirements.", err=True)
    if write:
        _write_changes(migration.write, "Run again to write the remaining files.")
    print_text(_summary(migration, written=write), err=True)
    if migration.broken:
        raise typer.Exit(1)


def _write_changes(write: Callable[[], None], advice: str = "Choose another file.") -> None:
    try:
        write()
    except OSError as error:
        print_error(f"cannot write `{error.filename}`: {error.strerror}. {advice}")
        raise typer.Exit(1) from None


def _summary(migration: Any, *, written: bool) -> str:
    changed = f"{len(migration.files)} file{'' if len(migration.files) == 1 else 's'}"
    notes = f"{len(migration.notes)} note{'' if len(migration.notes) == 1 else 's'}"
    summary = f"{changed} {'rewritten' if written else 'to rewrite'}, {notes}"
    if migration.broken:
        summary += f", {len(migration.broken)} could not be read"
    return f"{summary}." if written or not migration.files else f"{summary}. Run with `--write` to apply the changes."


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
            help="The crew or flow, as `file.py:name` or `package.module:name`. By default the `target` in `[tool.crewgraph]` of "
            "`pyproject.toml`, or the project's only crew or flow."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write to. By default standard output.")
    ] = None,
    is_import_agreed: Annotated[
        bool, typer.Option("--import", help="Import the target's module without asking.")
    ] = False,
) -> None:
    """Export a crew or flow as a LangGraph program.

    The program does not depend on crewgraph. If something cannot be translated, the command says what and why, and writes
    nothing.

    The target's module is imported, which runs its code and that of the modules it imports, except for statements that run a
    crew or flow. At a terminal the command asks first; elsewhere it needs `--import`.

    Exit codes: 0 if the program is complete, 1 on errors, 2 if `--import` is missing, 3 if the source of a tool is not available:
    the program then contains a TODO in its place.
    """
    path = target or project_target(option="")
    if not is_import_agreed:
        _ask_to_import(path)
    folder = Path.cwd() if output is None else output.parent
    search_path = [folder, *map(Path, sys.path)]
    with redirect_stdout(sys.stderr):  # output of the modules must not mix with the program
        definition = load_target(path, is_run=False)
    module = path.rpartition(":")[0]
    from crewgraph_compat.eject.program import eject_program

    program = eject_program(definition, Path(module).stem if module.endswith(".py") else module, search_path)
    if output is None:
        print_source(program.source)
    else:
        _write_changes(partial(replace_file, output, program.source))
        print_text(f"written to {output}; it needs: {', '.join(program.requirements)}", err=True)
    for item in program.notes:
        print_text(f"note: {item}", err=True)
    for item in program.todo:
        print_text(f"TODO: {item}", err=True)
    if program.todo:
        raise typer.Exit(_EXIT_TODO)
