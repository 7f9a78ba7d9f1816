"""`crewgraph run`: an unmodified CrewAI program, run on crewgraph.

Tracebacks that begin in the program, not in the command that runs it.

A Python program that is run as `python` would run it, in a process that was prepared for it.

What `crewgraph run` runs in the folder of a CrewAI project, where no program is named.
"""

import builtins
import importlib.util
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Annotated, Any, Self

import typer

from crewgraph.errors import CrewgraphError, RunError
from crewgraph.extras import load

__all__ = ["Program", "ProjectProgram", "RunProgram", "run", "traced_from"]


_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def traced_from(file: str, hook: _Hook) -> _Hook:
    """An exception hook that is shown only what lies below the last frame of a file, and no frame of the import surface."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        error.with_traceback(_below(file, trace))
        for one in _told_with(error):
            one.with_traceback(_without_surface(one.__traceback__))
        hook(kind, error, error.__traceback__)

    return show


def _told_with(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that Python shows above it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _below(file: str, trace: TracebackType | None) -> TracebackType | None:
    below = trace
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            below = trace.tb_next
        trace = trace.tb_next
    while below is not None and _room(below) == "importlib":
        below = below.tb_next
    return below


def _without_surface(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if _room(trace) != "crewgraph_compat":
            kept.append(trace)
        trace = trace.tb_next
    below: TracebackType | None = None
    for one in reversed(kept):
        below = TracebackType(below, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return below


def _room(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


class _NoProgram(Exception):
    """There is nothing to run under the name given."""


class _Compiled(InspectLoader):
    """Runs code that is already there."""

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def get_source(self, fullname: str) -> str | None:
        return None


class Program:
    """A script, a folder or archive with a `__main__`, or a module.

    `runpy` puts `sys.argv` and `sys.modules["__main__"]` back when the last line is done, which is too early for threads
    and exit handlers; here they stay, as under `python`.
    """

    def __init__(self, target: str, arguments: Sequence[str] = (), *, is_module: bool = False) -> None:
        """Name a program.

        Args:
            target: the path of a file or folder, or the dotted name of a module.
            arguments: what `sys.argv` holds after the program.
            is_module: whether the target is a module.
        """
        self.target = target
        self.arguments = list(arguments)
        self.is_module = is_module

    @classmethod
    def named(cls, words: Sequence[str]) -> Self | None:
        """The program of `[-m] PROGRAM [ARGS]...`; None where the words are not that: an option, or nothing."""
        is_module = words[:1] == ["-m"]
        target, *arguments = words[is_module:] or [""]
        if not target or target.startswith("-"):
            return None
        return cls(target, arguments, is_module=is_module)

    def run(self) -> None:
        """Run it as `__main__`, in this process; what it raises passes through, shown from where the program begins.

        Raises:
            SystemExit: the program's own, or 2 where there is no such program; that is told on stderr.
        """
        main = ModuleType("__main__")
        sys.argv = [self.target, *self.arguments]
        try:
            code = self._module(main) if self.is_module else self._script(main)
            main.__dict__["__builtins__"] = builtins
            sys.modules["__main__"] = main
            _Compiled(code).exec_module(main)
        except _NoProgram as error:
            sys.stderr.write(f"Error: {error}\n")
            sys.exit(2)
        except BaseException:
            sys.excepthook = traced_from(__file__, sys.excepthook)
            raise

    def _script(self, main: ModuleType) -> CodeType:
        path = os.path.join(os.getcwd(), self.target)
        if os.path.isdir(path) or _is_archive(path):
            return self._archive(main, path)
        loader = SourceFileLoader("__main__", path)
        try:
            source = loader.get_data(path)
        except OSError as error:
            raise _NoProgram(f"`{self.target}` cannot be opened in `{os.getcwd()}`: {error.strerror}.") from error
        _first_on_path(os.path.dirname(os.path.realpath(path)))
        main.__dict__.update(__file__=path, __loader__=loader, __package__=None, __spec__=None, __cached__=None)
        return loader.source_to_code(source, path)

    def _archive(self, main: ModuleType, path: str) -> CodeType:
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise _NoProgram(f"There is no `__main__.py` in `{self.target}`.")
        _first_on_path(path)
        return _program_described(main, spec)

    def _module(self, main: ModuleType) -> CodeType:
        _first_on_path(os.getcwd())
        spec = _module_spec(self.target)
        sys.argv[0] = spec.origin or self.target
        return _program_described(main, spec)


class RunProgram(BaseException):
    """The command line asks for a program; raised so that it is run when the command line's own code is left.

    Inside, its KeyboardInterrupt, EOFError and OSError would be taken for those of the command.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program.target)
        self.program = program


def _module_spec(name: str) -> ModuleSpec:
    if name.startswith(".") or not name:
        raise _NoProgram(f"`{name}` is no module's full name.")
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = importlib.util.find_spec(name)
            if spec is None:
                raise _NoProgram(f"`{package}` is a package without a `__main__`, which cannot be run.")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the package is there, and imports something that is not
        spec = None
    if spec is None:
        hint = " Write the module's name, without `.py`." if name.endswith(".py") else ""
        raise _NoProgram(f"There is no module `{name}` in `{os.getcwd()}` or elsewhere on Python's path.{hint}")
    return spec


def _program_described(main: ModuleType, spec: ModuleSpec) -> CodeType:
    """Give the module what Python tells of its origin, and find its code."""
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if isinstance(loader, InspectLoader) or hasattr(loader, "get_code") else None
    if code is None:
        raise _NoProgram(f"`{spec.name}` (from {spec.origin}) has no Python code that could be run.")
    main.__dict__.update(
        __file__=spec.origin, __loader__=loader, __package__=spec.parent, __spec__=spec, __cached__=spec.cached
    )
    return code


def _is_archive(path: str) -> bool:
    return os.path.isfile(path) and path.endswith((".zip", ".pyz"))


def _first_on_path(folder: str) -> None:
    """Put the program's folder where Python put that of the command which runs it."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


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
        scripts: dict[str, Any] = {**poetry.get("scripts", {}), **described.get("project", {}).get("scripts", {})}
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
            load("crewgraph.project.env_file").load_env()
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
