"""Entry point of `crewgraph` and `python -m crewgraph`.

`crewgraph run PROGRAM` bypasses the Typer application, which takes longer to load than most programs take to start.
"""

import os
import sys

from crewgraph.cli.program import Program, RunProgram
from crewgraph.errors import CrewgraphError
from crewgraph.text import printable


def main() -> object:
    """Run the command given in `sys.argv`; most commands exit the process."""
    program = Program.named(sys.argv[2:]) if sys.argv[1:2] == ["run"] else None
    if program is None:
        hook = sys.excepthook
        from crewgraph.cli import app as parser

        try:
            return parser.app()
        except RunProgram as request:
            program = request.program
            sys.excepthook = hook  # Typer installs its own, which the program must not see
    from crewgraph_compat import install

    from crewgraph.cli.run import ProjectProgram

    try:
        if not program.is_module and type(program) is Program and not os.path.exists(program.target):
            program = ProjectProgram.script(program.target, program.arguments) or program
        install()
    except CrewgraphError as error:
        sys.stderr.write(printable(f"Error: {error}\n"))
        sys.exit(2)
    return program.run()
