"""`crewgraph run`: an unmodified CrewAI program, or the project in the current folder, run on crewgraph."""

import re
import sys
import tomllib
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from crewgraph.cli.program import Program, RunProgram
from crewgraph.errors import CrewgraphError, RunError
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.project.env_file import load_env
else:
    load_env = lazy("crewgraph.project.env_file:load_env")

__all__ = ["ProjectProgram", "run"]

_ENTRY = re.compile(r"^(?P<module>[\w.]+):(?P<function>[\w.]+)$")
_SCRIPTS = {"crew": ("run_crew", "kickoff"), "flow": ("kickoff", "run_crew")}
"""The scripts of a project that begin its run, by what it is; the first that there is."""

_OF_JSON = ("crew.jsonc", "crew.json")
_FORM = (
    "name a program, `crewgraph run program.py`, or `crewgraph run` in the folder of a project whose `pyproject.toml` "
    "has `run_crew` or `kickoff` in `[project.scripts]`"
)


class ProjectProgram(Program):
    """A project's own beginning: a function of its scripts, a flow that a file declares, or a crew in JSON."""

    def __init__(self, name: str, code: str) -> None:
        """Name a beginning.

        Args:
            name: what `sys.argv` and tracebacks call it.
            code: what begins it.
        """
        super().__init__(name)
        self._code = code

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The beginning of the project in a folder.

        Raises:
            RunError: there is none; says what was looked for.
        """
        described = _described(folder / "pyproject.toml")
        tool, poetry = described.get("tool", {}), described.get("tool", {}).get("poetry", {})
        scripts: dict[str, object] = {**poetry.get("scripts", {}), **described.get("project", {}).get("scripts", {})}
        theirs: dict[str, Any] = tool.get("crewai", {})
        if isinstance(declared := theirs.get("definition"), str):
            return cls(declared, _DECLARED.format(path=declared))
        for name in _SCRIPTS.get(str(theirs.get("type")), _SCRIPTS["crew"]):
            if (entry := _ENTRY.match(str(scripts.get(name, "")))) is not None:
                return cls(name, _CALLED.format(**entry.groupdict(), first=entry["function"].partition(".")[0]))
        for name in _OF_JSON:
            if (folder / name).is_file():
                return cls(name, _JSON.format(path=name))
        raise RunError(f"there is nothing in `{folder}` to run: {_FORM}.")

    def _script(self, main: ModuleType) -> CodeType:
        for folder in (Path.cwd() / "src", Path.cwd()):
            if folder.is_dir() and str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
        try:
            load_env()
        except CrewgraphError as error:
            sys.stderr.write(f"Error: {error}\n")
            sys.exit(2)
        main.__dict__.update(__package__=None, __spec__=None)
        return compile(self._code, f"<{self.target}>", "exec")


_CALLED = "from {module} import {first}\n\n{function}()\n"
_DECLARED = "from crewgraph.flow import Flow\n\nprint(Flow.from_declaration(path={path!r}).kickoff())\n"
_JSON = "from crewgraph.project import load_crew_and_kickoff\n\nprint(load_crew_and_kickoff({path!r}))\n"


def _described(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"`{path.absolute()}` cannot be read: {error}") from error


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
