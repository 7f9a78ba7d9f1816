"""`crewgraph run`: run an unmodified CrewAI program, or the project in the current directory."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Annotated, Self

import typer

from crewgraph.cli.discovery import main_function, read_project, search_project
from crewgraph.cli.output import print_error
from crewgraph.cli.program import Program, RunProgram
from crewgraph.errors import CrewgraphError, RunError
from crewgraph.text import printable

_ENTRY = re.compile(r"^(?P<module>[\w.]+):(?P<function>[\w.]+)$")
_MAIN_FUNCTIONS = {"flow": ("kickoff", "run", "plot")}
"""Functions of `main.py` that run a project, by its type, in order of preference."""

_USAGE = (
    "pass a program, as in `crewgraph run program.py`, or name the entry point in `pyproject.toml`: a script `run_crew` or "
    '`kickoff` in `[project.scripts]`, or a crew or flow, `target = "package.module:name"`, in `[tool.crewgraph]`'
)


class ProjectProgram(Program):
    """A project's entry point: one of its scripts, a declared flow, or a crew in JSON."""

    def __init__(self, name: str, code: str, arguments: Sequence[str] = ()) -> None:
        """Create the program.

        Args:
            name: The name shown in `sys.argv` and tracebacks.
            code: The Python source that starts the project.
            arguments: The rest of `sys.argv`.
        """
        super().__init__(name, arguments)
        self._code = code

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Find the entry point of the project in a directory.

        Raises:
            RunError: The directory has no entry point, or its `pyproject.toml` cannot be read.
        """
        project = read_project(folder)
        if isinstance(definition := project.crewai.get("definition"), str):
            call = _CREW_CALL if project.kind == "crew" else _FLOW_CALL
            return cls(definition, call.format(path=definition))
        for name, entry_point in project.run_scripts():
            if (entry := _ENTRY.match(entry_point)) is not None:
                return cls(name, _function_call(entry["module"], entry["function"]))
        if project.target is not None:
            return cls(project.target, _TARGET_CALL.format(target=project.target))
        if project.definition is not None:
            return cls(project.definition, _CREW_CALL.format(path=project.definition))
        if (main := main_function(folder, _MAIN_FUNCTIONS.get(project.kind, ("run", "kickoff", "plot")))) is not None:
            return cls(main[1], _function_call(*main))
        raise RunError(f"nothing to run in `{folder}`: {_USAGE}.")

    @classmethod
    def script(cls, name: str, arguments: Sequence[str]) -> Self | None:
        """Return a script of the project in this directory by its name in `[project.scripts]`; None if it has no scripts.

        Raises:
            RunError: The project's `pyproject.toml` cannot be read, or only has other scripts.
        """
        scripts = read_project(Path.cwd()).scripts
        entry_point = scripts.get(name)
        if entry_point is None and scripts and name.isidentifier():
            raise RunError(
                f"there is no file `{name}` in `{Path.cwd()}`, and no script of that name in `pyproject.toml`, which has "
                f"{', '.join(f'`{script}`' for script in scripts)}."
            )
        entry = _ENTRY.match(entry_point) if isinstance(entry_point, str) else None
        return None if entry is None else cls(name, _function_call(entry["module"], entry["function"]), arguments)

    def _script(self, main: ModuleType) -> CodeType:
        search_project()
        from crewgraph.project.env_file import load_env

        try:
            load_env()
        except CrewgraphError as error:
            sys.stderr.write(printable(f"Error: {error}\n"))
            sys.exit(2)
        main.__dict__.update(__package__=None, __spec__=None)
        return compile(self._code, f"<{self.target}>", "exec")


_SCRIPT_CALL = "from {module} import {first}\n\n{function}()\n"
_SHOW = "from crewgraph.cli.run import show\n\nshow"
_FLOW_CALL = f"from crewgraph.flow import Flow\n{_SHOW}(Flow.from_declaration(path={{path!r}}).kickoff())\n"
_CREW_CALL = f"from crewgraph.project import load_crew_and_kickoff\n{_SHOW}(load_crew_and_kickoff({{path!r}}))\n"
_TARGET_CALL = f"from crewgraph.cli.target import load_target\n{_SHOW}(load_target({{target!r}}).kickoff())\n"


def show(result: object) -> None:
    """Print the result of a project's crew or flow."""
    sys.stdout.write(printable(f"{result}\n"))


def _function_call(module: str, function: str) -> str:
    return _SCRIPT_CALL.format(module=module, function=function, first=function.partition(".")[0])


def run(
    program: Annotated[
        str | None,
        typer.Argument(
            help="The file to run, or a script of this directory's project by its name; with -m, the module. By default the "
            "project in this directory."
        ),
    ] = None,
    args: Annotated[list[str] | None, typer.Argument(help="The arguments of the program.")] = None,
    module: Annotated[bool, typer.Option("-m", help="Run PROGRAM as a module, like `python -m`.")] = False,
) -> None:
    """Run a CrewAI program, or this directory's project.

    The program runs unchanged: inside it, `import crewai` imports crewgraph. sys.argv, sys.path, __main__, exit codes and
    tracebacks are the same as under `python`, except that sys.path also has a directory of crewgraph in second place, and at the
    end `src` of this directory, if it exists.

    Without PROGRAM, loads `.env` and runs the first of these that the project has: the flow or crew set as `definition` in
    `[tool.crewai]`; `run_crew`, `kickoff` or the script with the project's name in `[project.scripts]`; the `target` in
    `[tool.crewgraph]`; `crew.jsonc` or `crew.json`; the function `run` or `kickoff` in the project's `main.py`. PROGRAM may
    also be a name in `[project.scripts]`, such as `plot` or `run_with_trigger`, if there is no file of that name.

    Processes that the program starts with multiprocessing import crewgraph as crewai, too. Commands that it starts need their
    own `crewgraph run`.
    """
    if program is None:
        if module:
            raise typer.BadParameter("-m needs the name of a module, as in `crewgraph run -m my_crew.main`.")
        try:
            raise RunProgram(ProjectProgram.of(Path.cwd()))
        except RunError as error:
            print_error(error)
            raise typer.Exit(2) from None
    raise RunProgram(Program(program, args or [], is_module=module))
