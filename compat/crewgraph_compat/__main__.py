"""`python -m crewgraph_compat script.py [args...]` runs an unmodified CrewAI program."""

import sys

from crewgraph.cli.run import Program
from crewgraph_compat.surface.installation import CrewaiImported, install

_USAGE = """\
usage: python -m crewgraph_compat script.py [args...]
       python -m crewgraph_compat -m module [args...]

Runs an unmodified CrewAI program on crewgraph; `crewgraph run` does the same.
"""


def main(arguments: list[str]) -> None:
    """Run the program named on the command line; exits the process on an error."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return
    program = Program.named(arguments)
    if program is None:
        sys.stderr.write(f"{_USAGE}\nError: `{' '.join(arguments)}` does not name a program.\n")
        sys.exit(2)
    try:
        install()
    except CrewaiImported as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
    program.run()


if __name__ == "__main__":
    main(sys.argv[1:])
