"""`crewgraph eject`: a crew or flow as the source of a LangGraph program."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.cli.target import target_of_either
from crewgraph.extras import load

__all__ = ["eject"]

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
    # LangGraph comes with it, and the other commands do not need it.
    eject_room: Any = load("crewgraph_compat.eject.program")
    made = eject_room.eject_program(found, Path(module).stem if module.endswith(".py") else module)
    if output is None:
        sys.stdout.write(made.source)
    else:
        output.write_text(made.source, "utf-8")
        typer.echo(f"written to {output}", err=True)
    for left in made.todo:
        typer.echo(f"TODO: {left}", err=True)
    if made.todo:
        raise typer.Exit(_UNFINISHED)
