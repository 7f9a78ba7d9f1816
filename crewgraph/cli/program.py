"""Run a Python program as `python` would, in this process; its tracebacks start in the program."""

import builtins
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Self

from crewgraph.text import printable
from crewgraph.tracebacks import keep_frames, led_to

_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def traced_from(file: str, hook: _Hook) -> _Hook:
    """Wrap an exception hook to hide the frames up to the last one in `file`, and all frames of `crewgraph_compat`."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        error.with_traceback(_frames_below(file, trace))
        for one in led_to(error):
            one.with_traceback(keep_frames(one.__traceback__, lambda it: _package(it) != "crewgraph_compat"))
        hook(kind, error, error.__traceback__)

    return show


def _frames_below(file: str, trace: TracebackType | None) -> TracebackType | None:
    below = trace
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            below = trace.tb_next
        trace = trace.tb_next
    while below is not None and _package(below) == "importlib":
        below = below.tb_next
    return below


def _package(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


class _ProgramNotFound(Exception):
    """The program does not exist, or cannot be run."""


class _CodeLoader(InspectLoader):
    """A loader for code that is already compiled."""

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def get_source(self, fullname: str) -> str | None:
        return None


class Program:
    """A script, a module, or a directory or archive with a `__main__`.

    `runpy` restores `sys.argv` and `sys.modules["__main__"]` after the last line, which is too early for threads and exit
    handlers; here they stay in place, as under `python`.
    """

    def __init__(self, target: str, arguments: Sequence[str] = (), *, is_module: bool = False) -> None:
        """Create a program.

        Args:
            target: The path of a file or directory, or the dotted name of a module.
            arguments: The rest of `sys.argv`.
            is_module: Whether the target is a module.
        """
        self.target = target
        self.arguments = list(arguments)
        self.is_module = is_module

    @classmethod
    def named(cls, argv: Sequence[str]) -> Self | None:
        """Parse `[-m] PROGRAM [ARGS]...`; None if the arguments start with another option, or are empty."""
        is_module = argv[:1] == ["-m"]
        target, *arguments = argv[is_module:] or [""]
        if not target or target.startswith("-"):
            return None
        return cls(target, arguments, is_module=is_module)

    def run(self) -> None:
        """Run the program as `__main__` in this process; its exceptions pass through.

        Raises:
            SystemExit: The program exited, or it cannot be run (status 2, with a message on stderr).
        """
        main = ModuleType("__main__")
        sys.argv = [self.target, *self.arguments]
        try:
            code = self._module(main) if self.is_module else self._script(main)
            main.__dict__["__builtins__"] = builtins
            sys.modules["__main__"] = main
            _CodeLoader(code).exec_module(main)
        except _ProgramNotFound as error:
            sys.stderr.write(printable(f"Error: {error}\n"))
            sys.exit(2)
        except BaseException:  # also SystemExit: the hook prints whatever ends the program
            sys.excepthook = traced_from(__file__, sys.excepthook)
            raise

    def _script(self, main: ModuleType) -> CodeType:
        path = os.path.join(os.getcwd(), self.target)
        if os.path.isdir(path) or (os.path.isfile(path) and path.endswith((".zip", ".pyz"))):
            spec = PathFinder.find_spec("__main__", [path])
            if spec is None:
                raise _ProgramNotFound(f"`{self.target}` has no `__main__.py`.")
            _set_script_dir(path)
            return _load_code(main, spec)
        loader = SourceFileLoader("__main__", path)
        try:
            source = loader.get_data(path)
        except OSError as error:
            raise _ProgramNotFound(f"Cannot open `{self.target}` in `{os.getcwd()}`: {error.strerror}.") from error
        _set_script_dir(os.path.dirname(os.path.realpath(path)))
        main.__dict__.update(__file__=path, __loader__=loader, __package__=None, __spec__=None, __cached__=None)
        return loader.source_to_code(source, path)

    def _module(self, main: ModuleType) -> CodeType:
        _set_script_dir(os.getcwd())
        spec = _module_spec(self.target)
        sys.argv[0] = spec.origin or self.target
        return _load_code(main, spec)


class RunProgram(BaseException):
    """Raised by a command to run a program after the command line has been left.

    Inside Typer, the program's KeyboardInterrupt, EOFError and OSError would be handled as errors of the command.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program.target)
        self.program = program


def _module_spec(name: str) -> ModuleSpec:
    if name.startswith(".") or not name:
        raise _ProgramNotFound(f"`{name}` is not an absolute module name.")
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = importlib.util.find_spec(name)
            if spec is None:
                raise _ProgramNotFound(f"`{package}` is a package without a `__main__` and cannot be run.")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the package exists, but one of its imports does not
        spec = None
    if spec is None:
        hint = " Use the module name without `.py`." if name.endswith(".py") else ""
        raise _ProgramNotFound(f"Module `{name}` not found in `{os.getcwd()}`, in its `src` or on Python's path.{hint}")
    return spec


def _load_code(main: ModuleType, spec: ModuleSpec) -> CodeType:
    """Load the code of a module spec, and set the attributes of `__main__` that describe its origin."""
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if isinstance(loader, InspectLoader) or hasattr(loader, "get_code") else None
    if code is None:
        raise _ProgramNotFound(f"`{spec.name}` (from {spec.origin}) has no Python code to run.")
    main.__dict__.update(
        __file__=spec.origin, __loader__=loader, __package__=spec.parent, __spec__=spec, __cached__=spec.cached
    )
    return code


def _set_script_dir(folder: str) -> None:
    """Replace the command's own directory at the front of `sys.path` by the program's.

    The working directory's `src`, where CrewAI projects have their package, comes last, as if the project were installed.
    """
    if sys.flags.safe_path:
        return
    sys.path[0] = folder
    source = os.path.join(os.getcwd(), "src")
    if os.path.isdir(source) and source not in sys.path:
        sys.path.append(source)
