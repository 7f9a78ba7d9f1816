"""A Python file being rewritten: its syntax tree, the types of its expressions, and the pending changes."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from crewgraph_compat.moving.features import Feature
from crewgraph_compat.moving.names import resolve_name
from crewgraph_compat.moving.reading.files import parse_python
from crewgraph_compat.moving.reading.python_uses import UseVisitor, imports_of
from crewgraph_compat.moving.reading.returned import classes_with_returns, return_types
from crewgraph_compat.moving.reading.types import MAY_STREAM, Imports, OwnClass, TypeScope
from crewgraph_compat.moving.rewriting.reaching import reaching_assignment

Change = Callable[[Any], Any]
"""Maps a node, with the changes to its children applied, to its replacement."""


@dataclass(frozen=True, order=True)
class MigrationNote:
    """A location that has to be reviewed by hand."""

    file: str
    line: int
    text: str
    left: bool = False
    """Whether the project still needs crewai because of it."""


@dataclass
class SourceTree:
    """A syntax tree with the changes and notes collected for it."""

    tree: libcst.Module
    file: str
    changes: dict[libcst.CSTNode, list[Change]] = field(default_factory=dict[libcst.CSTNode, list[Change]])
    notes: list[MigrationNote] = field(default_factory=list[MigrationNote])

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
        """Return all nodes, outermost first."""
        return list(_below(self.tree))

    def of(self, *kinds: type[libcst.CSTNode]) -> Iterator[Any]:
        """Return the nodes of the given types."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def parent(self, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """Return the parent of a node."""
        return self._parents.get(node)

    def line(self, node: libcst.CSTNode) -> int:
        """Return the first line of a node, from 1."""
        return self._positions[node].start.line

    def span(self, node: libcst.CSTNode) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the start and end of a node without enclosing parentheses: lines from 1, columns from 0."""
        place = self._positions[node]
        return (place.start.line, place.start.column), (place.end.line, place.end.column)

    def scope(self, node: libcst.CSTNode) -> Scope | None:
        """Return the innermost scope of a node."""
        return self._scopes.get(node)

    def path(self, node: libcst.CSTNode) -> str | None:
        """Return the dotted path that a node refers to, if it is imported and unambiguous."""
        known: Any = self._names.get(node, ())
        if callable(known):  # libcst computes some metadata lazily
            known = known()
        names: list[Any] = [*known]
        imported = len(names) == 1 and names[0].source is QualifiedNameSource.IMPORT
        return names[0].name if imported else None

    def assigned(self, node: libcst.CSTNode, root: str) -> list[libcst.CSTNode]:
        """Return the assignments of a name that are visible to a node; `root` may be the first part of an imported `a.b`."""
        start = scope = self.scope(node)
        while scope is not None:
            if scope is start or not isinstance(scope, ClassScope):
                values: list[Any] = [
                    assignment for assignment in scope.assignments if assignment.name.partition(".")[0] == root
                ]
                results = [item.node for item in values if isinstance(getattr(item, "node", None), libcst.CSTNode)]
                if results:
                    return results
            scope = scope.parent if scope.parent is not scope else None
        return []

    def change(self, node: libcst.CSTNode, change: Change) -> None:
        """Register a change; several changes to one node are applied in order."""
        self.changes.setdefault(node, []).append(change)

    def note(self, node: libcst.CSTNode, text: str, *, left: bool = False) -> None:
        """Add a note for a node."""
        self.notes.append(MigrationNote(self.file, self.line(node), text, left))

    def rewritten(self) -> libcst.Module:
        """Return the tree with all changes applied."""
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
        item = waiting.pop()
        yield item
        waiting.extend(reversed(item.children))


def dotted_path(node: libcst.CSTNode | None) -> str | None:
    """Return the text of a dotted name; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, libcst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, libcst.Name) else None


def path_expression(path: str) -> Any:
    """Return the node of a dotted name."""
    return libcst.parse_expression(path)


def make_call(function: str, *args: libcst.BaseExpression) -> libcst.Call:
    """Return the node of a function call."""
    return libcst.Call(libcst.Name(function), [libcst.Arg(item) for item in args])


def without_arguments(call: libcst.Call, dropped: Sequence[libcst.Arg]) -> Callable[[Any], Any]:
    """Return the change that removes arguments from a call."""
    gone = [arg in dropped for arg in call.args]

    def changed(updated: libcst.Call) -> libcst.Call:
        remaining: list[libcst.Arg] = []
        for arg, is_gone in zip(updated.args, gone, strict=True):
            if not is_gone:
                remaining.append(arg)
            elif remaining and _ends_line(arg) and not _ends_line(remaining[-1]):
                remaining[-1] = remaining[-1].with_changes(comma=arg.comma)
        if remaining and gone[-1]:
            remaining[-1] = remaining[-1].with_changes(
                comma=updated.args[-1].comma, whitespace_after_arg=updated.args[-1].whitespace_after_arg
            )
        return updated.with_changes(args=remaining)

    return changed


def _ends_line(arg: libcst.Arg) -> bool:
    after = arg.comma.whitespace_after if isinstance(arg.comma, libcst.Comma) else None
    return isinstance(after, libcst.ParenthesizedWhitespace)


_Span = tuple[tuple[int, int], tuple[int, int]]
_NOTHING = "None"


class ExpressionTypes:
    """The types of a file's expressions, as "module:name" of crewgraph."""

    def __init__(self, reading: SourceTree, classes: Mapping[str, OwnClass]) -> None:
        text = reading.tree.code
        tree = parse_python(text)
        imports = imports_of(tree)
        full = {**classes, **classes_with_returns(tree, imports)}
        finding = _Finding(imports, TypeScope(imports, full, return_types(tree, imports, full)))
        finding.visit(tree)
        lines = text.splitlines(keepends=True)
        self._reading = reading
        base = finding.types.base
        self._own: dict[_Span, str] = {_span(lines, node): kind for node, kind in finding.kinds.items()}
        self._kinds: dict[_Span, str] = {place: base(kind) for place, kind in self._own.items()}
        self._bound = {(line, _column(lines, line, column)): kind for (line, column), kind in finding.bound.items()}
        self.features: dict[_Span, Feature] = {
            _span(lines, node): feature for node, feature in finding.found if isinstance(node, ast.Attribute)
        }

    def of(self, node: libcst.CSTNode) -> str:
        """Return the class of a value; empty if it is unknown."""
        return self._kinds.get(self._reading.span(node), "")

    def may_be_stream(self, node: libcst.Attribute) -> bool:
        """Whether an attribute is the `result` of a value that may be a stream."""
        feature = self.features.get(self._reading.span(node))
        return feature is not None and feature.value == MAY_STREAM

    def is_sure(self, node: libcst.CSTNode) -> bool:
        """Whether a value has its inferred class on every path through the program."""
        while isinstance(node, (libcst.Attribute, libcst.Subscript, libcst.Call, libcst.Await)):
            if isinstance(node, libcst.Call):
                node = node.func
            else:
                node = node.expression if isinstance(node, libcst.Await) else node.value
        if not isinstance(node, libcst.Name):
            return False
        if node.value == "self" or self._reading.path(node) is not None:
            return True
        assigned = self._reading.assigned(node, node.value)
        reaching = reaching_assignment(self._reading.parent, node, assigned)
        kinds = {self._bound_to(item) for item in (assigned if reaching is None else [reaching])} - {_NOTHING}
        return kinds == {self._own.get(self._reading.span(node), "")} or kinds == {""}

    def _bound_to(self, node: libcst.CSTNode) -> str | None:
        if isinstance(node, (libcst.ClassDef, libcst.FunctionDef, libcst.ImportFrom, libcst.Import)):
            return ""
        return self._bound.get(self._reading.span(node)[0])


class _Finding(UseVisitor):
    def __init__(self, imports: Imports, types: TypeScope) -> None:
        super().__init__(imports, types)
        self.kinds: dict[ast.expr, str] = {}
        self._nothing: dict[tuple[int, int], str | None] = {}

    @property
    def bound(self) -> dict[tuple[int, int], str | None]:
        return {**self.types.bound, **self._nothing}

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr) and (kind := self.types.of(node)):
            self.kinds[node] = kind
        super().visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        super().visit_Assign(node)
        if (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):  # attribute access on None fails either way
            self._nothing.update({(target.lineno, target.col_offset): _NOTHING for target in node.targets})

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        self.types.know(node.target, None)
        self._nothing[node.target.lineno, node.target.col_offset] = (
            _NOTHING  # the target of `+=` is a string afterwards
        )


def _span(lines: Sequence[str], node: ast.expr) -> _Span:
    end = node.end_lineno or node.lineno
    return (
        (node.lineno, _column(lines, node.lineno, node.col_offset)),
        (end, _column(lines, end, node.end_col_offset or 0)),
    )


def _column(lines: Sequence[str], line: int, column: int) -> int:
    """Convert a column in bytes to one in characters."""
    return len(lines[line - 1].encode()[:column].decode())


def resolve_target(reading: SourceTree, node: libcst.CSTNode) -> str:
    """Return the crewgraph "module:name" that an expression names; empty for anything else."""
    path = reading.path(node) if isinstance(node, (libcst.Name, libcst.Attribute)) else None
    name = None if path is None else resolve_name(_as_theirs(path))
    return name.target if name is not None and not name.rest else ""


def _as_theirs(path: str) -> str:
    """Convert a crewgraph path to the crewai one, so that migrated programs are analysed the same way."""
    head, dot, rest = path.partition(".")
    return f"crewai{dot}{rest}" if head == "crewgraph" else path


class ClassBases:
    """The classes of a file, each with the crewgraph class that it derives from."""

    def __init__(self, reading: SourceTree, classes: Mapping[str, OwnClass]) -> None:
        self._reading = reading
        self._elsewhere = {name: own.base for name, own in classes.items()}
        self.here: dict[str, libcst.ClassDef] = {}
        self._bases: dict[str, str] = {}
        for node in reading.of(libcst.ClassDef):
            targets = [self.of(base.value) for base in node.bases]
            self.here[node.name.value] = node
            self._bases[node.name.value] = next((target for target in targets if target), "")

    def of(self, node: libcst.CSTNode) -> str:
        """Return the "module:name" of the crewgraph class that an expression names or derives from, or an empty string."""
        if isinstance(node, libcst.Subscript):
            node = node.value
        if target := resolve_target(self._reading, node):
            return target
        if not isinstance(node, libcst.Name):
            return ""
        return self._bases[node.value] if node.value in self._bases else self._elsewhere.get(node.value, "")

    def parents(self, node: libcst.ClassDef) -> list[libcst.ClassDef]:
        """Return a class and its ancestors within this file."""
        waiting, parents = [node], list[libcst.ClassDef]()
        while waiting:
            item = waiting.pop()
            if item not in parents:
                parents.append(item)
                names = [base.value.value for base in item.bases if isinstance(base.value, libcst.Name)]
                waiting += [self.here[name] for name in names if name in self.here]
        return parents
