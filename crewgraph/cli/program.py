"""A Python program, run as `python` would run it, in a process that was prepared for it; its tracebacks begin in the program."""

import builtins
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Self

__all__ = ["Program", "RunProgram", "traced_from"]


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
