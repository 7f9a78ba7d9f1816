"""`crewgraph run`: an unmodified CrewAI program, run on crewgraph."""

from pathlib import Path
from typing import Annotated

import typer

from crewgraph.cli.program import Program, RunProgram
from crewgraph.cli.project_program import ProjectProgram
from crewgraph.errors import RunError

__all__ = ["run"]


def run(
    program: Annotated[
        str | None, typer.Argument(help="A script; with -m, a module. Without it: the project in this folder.")
    ] = None,
    args: Annotated[list[str] | None, typer.Argument(help="What the program gets in sys.argv.")] = None,
    module: Annotated[bool, typer.Option("-m", help="PROGRAM is a module, as in `python -m`.")] = False,
) -> None:
    """Run an unmodified CrewAI program: in it, `import crewai` means crewgraph.

    Without a program, the project in this folder is run, as `crewai run` does it: `run_crew` or `kickoff` of its
    `[project.scripts]`, the flow that `definition` of `[tool.crewai]` names, or crew.jsonc. Its `.env` is read before.

    The program sees what it would under `python`: sys.argv, sys.path, __main__, exit codes, tracebacks.

    This holds in its process and in those forked from it. Where it starts Python anew (multiprocessing's "spawn" and
    "forkserver"), let it begin with `import crewgraph_compat; crewgraph_compat.install()`, and run it with `python`.
    """
    if program is None:
        if module:
            raise typer.BadParameter("-m wants the name of a module.")
        try:
            raise RunProgram(ProjectProgram.of(Path.cwd()))
        except RunError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None
    raise RunProgram(Program(program, args or [], is_module=module))
