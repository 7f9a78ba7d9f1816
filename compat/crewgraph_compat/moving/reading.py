"""A Python file as it is rewritten: its tree, what names in it mean, and the changes that are wished for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import libcst
from libcst.metadata import (
    ClassScope,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedNameProvider,
    QualifiedNameSource,
    Scope,
    ScopeProvider,
)

__all__ = ["Change", "Note", "Reading", "called", "dotted", "expression"]

Change = Callable[[Any], Any]
"""What becomes of a node: the node as its parts have become, to what stands in its place."""


@dataclass(frozen=True, order=True)
class Note:
    """Something that people have to look at."""

    file: str
    line: int
    text: str
    left: bool = False
    """Whether crewai is still needed because of it."""


@dataclass
class Reading:
    """A tree, and what is to become of it."""

    tree: libcst.Module
    file: str
    changes: dict[libcst.CSTNode, list[Change]] = field(default_factory=dict[libcst.CSTNode, list[Change]])
    notes: list[Note] = field(default_factory=list[Note])

    @cached_property
    def _wrapper(self) -> MetadataWrapper:
        return MetadataWrapper(self.tree, unsafe_skip_copy=True)

    @cached_property
    def _positions(self) -> Any:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> Any:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _scopes(self) -> Any:
        return self._wrapper.resolve(ScopeProvider)

    @cached_property
    def _names(self) -> Any:
        return self._wrapper.resolve(QualifiedNameProvider)

    @cached_property
    def nodes(self) -> list[libcst.CSTNode]:
        """All nodes, from outside in."""
        return list(_below(self.tree))

    def of(self, *kinds: type[libcst.CSTNode]) -> Iterator[Any]:
        """The nodes of some kinds."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def parent(self, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """What a node is a part of."""
        return self._parents.get(node)

    def line(self, node: libcst.CSTNode) -> int:
        """Where a node begins, from 1."""
        return self._positions[node].start.line

    def span(self, node: libcst.CSTNode) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where a node begins and ends, without the brackets around it: lines from 1, columns from 0."""
        place = self._positions[node]
        return (place.start.line, place.start.column), (place.end.line, place.end.column)

    def scope(self, node: libcst.CSTNode) -> Scope | None:
        """Whose names a node sees first."""
        return self._scopes.get(node)

    def path(self, node: libcst.CSTNode) -> str | None:
        """The dotted path that a node means, where it is imported and there is but one."""
        known: Any = self._names.get(node, ())
        if callable(known):  # libcst works some out when they are asked for
            known = known()
        names: list[Any] = [*known]
        imported = len(names) == 1 and names[0].source is QualifiedNameSource.IMPORT
        return names[0].name if imported else None

    def assigned(self, node: libcst.CSTNode, root: str) -> list[libcst.CSTNode]:
        """What gives a name its value where a node stands; `root` may be the first part of an imported `a.b`."""
        start = scope = self.scope(node)
        while scope is not None:
            if scope is start or not isinstance(scope, ClassScope):
                given: list[Any] = [one for one in scope.assignments if one.name.partition(".")[0] == root]
                found = [one.node for one in given if isinstance(getattr(one, "node", None), libcst.CSTNode)]
                if found:
                    return found
            scope = scope.parent if scope.parent is not scope else None
        return []

    def change(self, node: libcst.CSTNode, change: Change) -> None:
        """Wish for a change; several of a node are made one after the other."""
        self.changes.setdefault(node, []).append(change)

    def note(self, node: libcst.CSTNode, text: str, *, left: bool = False) -> None:
        """Tell people of something."""
        self.notes.append(Note(self.file, self.line(node), text, left))

    def rewritten(self) -> libcst.Module:
        """The tree with all changes made."""
        return self.tree if not self.changes else self.tree.visit(_Changes(self.changes))


class _Changes(libcst.CSTTransformer):
    def __init__(self, changes: dict[libcst.CSTNode, list[Change]]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        for change in self._changes.get(original_node, ()):
            updated_node = change(updated_node)
        return updated_node


def _below(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.children))


def dotted(node: libcst.CSTNode | None) -> str | None:
    """The text of names with dots between; None for anything else."""
    parts: list[str] = []
    while isinstance(node, libcst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, libcst.Name) else None


def expression(path: str) -> Any:
    """Names with dots between, as a node."""
    return libcst.parse_expression(path)


def called(function: str, *given: libcst.BaseExpression) -> libcst.Call:
    """A call of a function, as a node."""
    return libcst.Call(libcst.Name(function), [libcst.Arg(one) for one in given])
