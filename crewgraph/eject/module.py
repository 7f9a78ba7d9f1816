"""A module of the user's as source: what its top level defines, and what it imports."""

import ast
import inspect
import linecache
import symtable
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

__all__ = ["FRAMEWORKS", "UserModule", "globals_in", "imported_by", "is_installed"]

FRAMEWORKS = frozenset({"crewgraph", "crewai", "crewai_tools", "crewgraph_compat"})
"""The packages that an ejected program does without."""


class UserModule:
    """A module's source.

    Args:
        file: where it stands.
        values: its global names, as they are now.
        name: what it is imported as.
    """

    def __init__(self, file: str, values: Mapping[str, Any], name: str) -> None:
        self.file, self.values, self.name = file, values, name

    @cached_property
    def text(self) -> str:
        """Its source; empty where there is none."""
        return "".join(linecache.getlines(self.file))

    @cached_property
    def tree(self) -> ast.Module:
        """Its source, read."""
        return ast.parse(self.text)

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """By name, the statement of its top level that defines it, the last one where there are several."""
        return {name: one for one in _top(self.tree.body) for name in _bound(one)}

    def segment(self, node: ast.AST) -> str:
        """The text of a statement, decorators included."""
        first = min([cast("Any", node).lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        lines = self.text.splitlines()[first - 1 : cast("Any", node).end_lineno]
        return "\n".join(lines)

    def name_of(self, value: object) -> str | None:
        """The global name that stands for an object."""
        return next((name for name, one in self.values.items() if one is value and name in self.definitions), None)

    @property
    def is_free(self) -> bool:
        """Whether it can be imported where the frameworks are not installed."""
        return _is_free(self.name, set())

    @classmethod
    def of(cls, value: Any) -> "UserModule | None":
        """The module that a function or class is defined in; None where its source is not to be had."""
        plain = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
        values: Any = getattr(plain, "__globals__", None)
        name = str(getattr(value, "__module__", None) or "")
        module = sys.modules.get(name)
        if values is None and module is not None:
            values = vars(module)
        if values is None:
            return None
        file: Any = getattr(getattr(plain, "__code__", None), "co_filename", None) or values.get("__file__")
        return cls(file, values, name) if isinstance(file, str) and linecache.getlines(file) else None

    @classmethod
    def named(cls, name: str) -> "UserModule | None":
        """A module that was imported."""
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        return cls(file, vars(module), name) if isinstance(module, ModuleType) and isinstance(file, str) else None


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a top level, those within `try` and `if` with them."""
    for one in body:
        if isinstance(one, (ast.Try, ast.If)):
            yield from (inner for inner in _top(one.body) if isinstance(inner, (ast.Import, ast.ImportFrom)))
        else:
            yield one


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (one.asname or one.name.partition(".")[0] for one in names)
        case ast.ImportFrom(names=names):
            yield from (one.asname or one.name for one in names)
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in ast.walk(target) if _is_set(one))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def _is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def globals_in(source: str) -> set[str]:
    """The global names that a piece of source uses."""
    table = symtable.symtable(source, "<lifted>", "exec")
    found = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    below = [*table.get_children()]
    while below:
        inner = below.pop()
        found |= {one.get_name() for one in inner.get_symbols() if one.is_global()}
        below += inner.get_children()
    return found | _quoted(ast.parse(source))


def _quoted(tree: ast.AST) -> set[str]:
    """The names in annotations that are written as texts."""
    noted = [one.annotation for one in ast.walk(tree) if isinstance(one, (ast.arg, ast.AnnAssign)) and one.annotation]
    noted += [
        one.returns
        for one in ast.walk(tree)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.returns
    ]
    texts = [one.value for note in noted for one in ast.walk(note) if isinstance(one, ast.Constant)]
    names: set[str] = set()
    for text in texts:
        if isinstance(text, str):
            try:
                names |= {one.id for one in ast.walk(ast.parse(text, mode="eval")) if isinstance(one, ast.Name)}
            except SyntaxError:  # a text in a Literal
                continue
    return names


def imported_by(statement: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, str, str | None]]:
    """What an import brings: for each name that it binds, the name, the module, and the name in that (None: itself)."""
    if isinstance(statement, ast.Import):
        return [(one.asname or one.name.partition(".")[0], one.name, None) for one in statement.names]
    above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
    module = ".".join([*filter(None, above), *filter(None, [statement.module])])
    return [(one.asname or one.name, module, one.name) for one in statement.names]


def is_installed(name: str) -> bool:
    """Whether a module is the standard library's or an installed package's."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(root), "__file__", None)
    return file is None or "site-packages" in Path(file).parts or "dist-packages" in Path(file).parts


def _is_free(name: str, seen: set[str]) -> bool:
    root = name.partition(".")[0]
    if root in FRAMEWORKS or name == "__main__":
        return False
    if name in seen or is_installed(name):
        return True
    seen.add(name)
    module = UserModule.named(name)
    if module is None:
        return False
    package = str(module.values.get("__package__") or "")
    brought = [
        source
        for one in ast.walk(module.tree)
        if isinstance(one, (ast.Import, ast.ImportFrom))
        for _, source, _ in imported_by(one, package)
    ]
    return all(_is_free(one, seen) for one in brought)
