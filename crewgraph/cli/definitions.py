"""Import modules for their definitions: statements at their top level that run a crew or flow are left out."""

import ast
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

_RUNNING = frozenset(
    {
        *("akickoff", "kickoff", "kickoff_async", "kickoff_for_each", "kickoff_for_each_async", "akickoff_for_each"),
        *("plot", "replay", "stream", "train"),
    }
)
"""Methods of crews, agents and flows that run something."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PARTS = ("body", "orelse", "finalbody", "handlers")


class DefinitionsLoader(SourceFileLoader):
    """Loads a Python file without the statements that run a crew or flow, and without a bytecode cache."""

    def path_stats(self, path: str) -> Any:
        """Raise OSError, as for a file without stats, so that no bytecode of the complete file is read or written.

        Raises:
            OSError: Always.
        """
        raise OSError(f"`{path}` is loaded without a cache")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        """Compile the file without the statements that run something."""
        tree = ast.parse(data, path)
        running = _running_functions(tree)
        tree.body = list(_defining(tree.body, running, set()))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)


class _Finder(MetaPathFinder):
    """Finds the modules in a directory, which are loaded for their definitions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        file = Path(spec.origin).resolve()
        if not file.is_relative_to(self._folder) or "site-packages" in file.parts:
            return None
        spec.loader = DefinitionsLoader(fullname, spec.origin)
        return spec


@contextmanager
def definitions_only(folder: Path) -> Generator[None]:
    """Import the modules in a directory for their definitions while the context is open."""
    finder = _Finder(folder)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _defining(body: Iterable[ast.stmt], running: set[str], lost: set[str]) -> Iterator[ast.stmt]:
    """Yield the statements that run nothing and need no result of a run; `lost` collects the names that are not defined."""
    for statement in body:
        if isinstance(statement, (ast.Try, ast.With, ast.If)) and not _is_main_guard(statement):
            if any(_starts_run(item, running, lost) for item in _heads(statement)):
                lost |= set(_stored(statement))
                continue
            for part in (statement, *getattr(statement, "handlers", ())):
                for name in _PARTS[:3]:
                    if kept := getattr(part, name, None):
                        setattr(part, name, [*_defining(kept, running, lost)] or [ast.Pass(lineno=1, col_offset=0)])
            yield ast.fix_missing_locations(statement)
        elif _starts_run(statement, running, lost):
            lost |= set(_stored(statement))
        else:
            lost -= set(_stored(statement))
            yield statement


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _heads(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.With):
        return [item.context_expr for item in statement.items]
    return [statement.test] if isinstance(statement, ast.If) else []


def _starts_run(statement: ast.AST, running: set[str], lost: set[str]) -> bool:
    """Whether executing a statement runs a crew or flow, or reads the result of a run."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or (
        isinstance(statement, ast.stmt) and _is_main_guard(statement)
    ):
        return False
    for node in _executed(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in lost:
            return True
        if isinstance(node, ast.Call) and _is_run(node, running):
            return True
    return False


def _is_run(call: ast.Call, running: set[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _RUNNING:
        return True
    return isinstance(call.func, ast.Name) and call.func.id in running


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed with a statement: not the bodies of functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _FUNCTIONS):
            yield from _executed(child)


def _stored(node: ast.AST) -> Iterator[str]:
    for item in _executed(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            yield item.id


def _running_functions(tree: ast.Module) -> set[str]:
    """Return the functions of a file that run a crew or flow, directly or through others."""
    functions = {item.name: item for item in tree.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
    running: set[str] = set()
    while True:
        more = {
            name
            for name, function in functions.items()
            if any(isinstance(node, ast.Call) and _is_run(node, running) for node in ast.walk(function))
        }
        if more == running:
            return running
        running = more
