"""The command `crewgraph`, also as `python -m crewgraph`.

A program is run at once: the parser of the other commands takes longer to load than most programs to start.
"""

import sys
from typing import TYPE_CHECKING

from crewgraph.cli.program import Program, RunProgram
from crewgraph.errors import CrewgraphError
from crewgraph.lazy import lazy, lazy_module

if TYPE_CHECKING:
    from crewgraph_compat import install

    from crewgraph.cli import app as parser
else:
    parser = lazy_module("crewgraph.cli.app")
    install = lazy("crewgraph_compat:install")

__all__ = ["main"]


def main() -> object:
    """Carry out what the command line asks for; does not return where that exits."""
    program = Program.named(sys.argv[2:]) if sys.argv[1:2] == ["run"] else None
    if program is None:
        hook = sys.excepthook
        try:
            return parser.app()
        except RunProgram as asked:
            program = asked.program
            sys.excepthook = hook  # typer has set its own, which the program is not to find
    try:
        install()
    except CrewgraphError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
    return program.run()
