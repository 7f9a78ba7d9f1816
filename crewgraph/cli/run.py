"""`crewgraph run`: an unmodified CrewAI program, run on crewgraph."""

from typing import Annotated

import typer

from crewgraph.cli.program import Program, RunProgram

__all__ = ["run"]


def run(
    program: Annotated[str, typer.Argument(help="A script; with -m, a module.")],
    args: Annotated[list[str] | None, typer.Argument(help="What the program gets in sys.argv.")] = None,
    module: Annotated[bool, typer.Option("-m", help="PROGRAM is a module, as in `python -m`.")] = False,
) -> None:
    """Run an unmodified CrewAI program: in it, `import crewai` means crewgraph.

    The program sees what it would under `python`: sys.argv, sys.path, __main__, exit codes, tracebacks.

    This holds in its process and in those forked from it. Where it starts Python anew (multiprocessing's "spawn" and
    "forkserver"), let it begin with `import crewgraph_compat; crewgraph_compat.install()`, and run it with `python`.
    """
    raise RunProgram(Program(program, args or [], is_module=module))
