"""Infer the return types of a program's functions and methods: `def run(self): return self.crew.kickoff()`."""

import ast
from collections import defaultdict
from collections.abc import Iterable

from crewgraph_compat.moving.reading.python_uses import UseVisitor
from crewgraph_compat.moving.reading.types import Imports, OwnClass, TypeScope, own_classes, plain_classes

_ROUNDS = 3
"""How many calls deep return types are followed."""


def classes_with_returns(tree: ast.AST, imports: Imports) -> dict[str, OwnClass]:
    """Return the classes of a file that derive from CrewAI's, and those without a base."""
    classes = {**dict(plain_classes(tree, imports)), **dict(own_classes(tree, imports))}
    for _ in range(_ROUNDS):
        if not any([_learn(classes, named, kind) for named, kind in _kinds(tree, imports, classes, {}).items()]):
            break
    return classes


def _learn(classes: dict[str, OwnClass], named: "_Named", kind: str) -> bool:
    """Store the return type of a method; whether it is new."""
    owner, name = named
    if owner not in classes:
        return False
    into = classes[owner].attributes if name in classes[owner].properties else classes[owner].makes
    return name not in into and into.setdefault(name, kind) == kind


def return_types(tree: ast.AST, imports: Imports, classes: dict[str, OwnClass]) -> dict[str, str]:
    """Return the return types of a file's functions by name."""
    functions: dict[str, str] = {}
    for _ in range(_ROUNDS):
        results = {
            name: kind for (owner, name), kind in _kinds(tree, imports, classes, functions).items() if owner is None
        }
        if results == functions:
            break
        functions = results
    return functions


def merge_classes(classes: dict[str, OwnClass], more: Iterable[tuple[str, OwnClass]]) -> None:
    """Add the classes of another file; of two classes with the same name, keep what both have in common."""
    for name, own in more:
        classes[name] = own if name not in classes else _both(classes[name], own)


def informative_classes(classes: dict[str, OwnClass]) -> dict[str, OwnClass]:
    """Return the classes that derive from, create or hold CrewAI's objects."""
    return {name: own for name, own in classes.items() if own.base or own.makes or own.attributes}


def _both(first: OwnClass, other: OwnClass) -> OwnClass:
    return OwnClass(
        first.base if first.base == other.base else "",
        first.own | other.own,
        dict(first.makes.items() & other.makes.items()),
        dict(first.attributes.items() & other.attributes.items()),
        first.properties & other.properties,
        first.takes_any or other.takes_any,
    )


_Named = tuple[str | None, str]
"""A class, None for a module, and a function in it."""


def _kinds(
    tree: ast.AST, imports: Imports, classes: dict[str, OwnClass], functions: dict[str, str]
) -> dict[_Named, str]:
    returning = _Returning(imports, TypeScope(imports, classes, functions))
    returning.visit(tree)
    return {named: next(iter(kinds)) for named, kinds in returning.kinds.items() if len(kinds) == 1 and all(kinds)}


class _Returning(UseVisitor):
    """Walks a file and collects the types of its `return` values."""

    def __init__(self, imports: Imports, types: TypeScope) -> None:
        super().__init__(imports, types)
        self.kinds: dict[_Named, set[str]] = defaultdict(set)
        self._within: list[tuple[ast.AST, str]] = []

    def _inside(self, node: ast.AST, own: str | None) -> None:
        self._within.append((node, getattr(node, "name", "")))
        super()._inside(node, own)
        self._within.pop()

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        is_nothing = node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None
        if not is_nothing and (named := self._named()) is not None:
            self.kinds[named].add(self.types.of(node.value) or "")

    def visit_Yield(self, node: ast.Yield) -> None:
        self.generic_visit(node)
        if (named := self._named()) is not None:
            self.kinds[named].add("")

    def _named(self) -> _Named | None:
        """Return the enclosing function; None if it is nested in another function."""
        if not self._within or isinstance(self._within[-1][0], ast.ClassDef):
            return None
        if len(self._within) == 1:
            return None, self._within[-1][1]
        above, owner = self._within[-2]
        is_method = isinstance(above, ast.ClassDef) and len(self._within) == 2
        return (owner, self._within[-1][1]) if is_method else None
