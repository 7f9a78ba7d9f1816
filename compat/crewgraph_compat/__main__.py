"""`python -m crewgraph_compat script.py [args...]` runs an unmodified CrewAI program."""

import sys

from crewgraph.cli.program import Program
from crewgraph_compat.surface import CrewaiImported, install

__all__ = ["main"]

_USAGE = """\
usage: python -m crewgraph_compat script.py [args...]
       python -m crewgraph_compat -m module [args...]

Runs an unmodified CrewAI program on crewgraph; `crewgraph run` does the same.
"""


def main(arguments: list[str]) -> None:
    """Run the program that the command line names; does not return where it exits."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return
    is_module = arguments[0] == "-m"
    target, *given = arguments[is_module:] or [""]
    if not target or target.startswith("-"):
        sys.stderr.write(f"{_USAGE}\nError: there is no option `{target or '-m'}` without a program.\n")
        sys.exit(2)
    try:
        install()
    except CrewaiImported as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
    Program(target, given, is_module=is_module).run()


if __name__ == "__main__":
    main(sys.argv[1:])
