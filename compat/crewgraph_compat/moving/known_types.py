"""Which classes the expressions of a file are of, and how certain that is."""

import ast
from collections.abc import Mapping, Sequence

import libcst

from crewgraph_compat.moving.parsing import parsed
from crewgraph_compat.moving.python_uses import Finding, imports_of
from crewgraph_compat.moving.reading import Reading
from crewgraph_compat.moving.returned import classes_of, returned
from crewgraph_compat.moving.types import Imports, OwnClass, Types
from crewgraph_compat.moving.uses import Feature

__all__ = ["KnownTypes"]

_Span = tuple[tuple[int, int], tuple[int, int]]
_NOTHING = "None"


class KnownTypes:
    """The types of a file's expressions: "module:name" of crewgraph."""

    def __init__(self, reading: Reading, classes: Mapping[str, OwnClass]) -> None:
        text = reading.tree.code
        tree = parsed(text)
        imports = imports_of(tree)
        whole = {**classes, **classes_of(tree, imports)}
        finding = _Finding(imports, Types(imports, whole, returned(tree, imports, whole)))
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
        """The class that a value is of; empty where it is not known."""
        return self._kinds.get(self._reading.span(node), "")

    def is_sure(self, node: libcst.CSTNode) -> bool:
        """Whether a value is of its class on every way through the program, as far as its text tells."""
        while isinstance(node, (libcst.Attribute, libcst.Subscript, libcst.Call, libcst.Await)):
            if isinstance(node, libcst.Call):
                node = node.func
            else:
                node = node.expression if isinstance(node, libcst.Await) else node.value
        if not isinstance(node, libcst.Name):
            return False
        if node.value == "self" or self._reading.path(node) is not None:
            return True
        kinds = {self._bound_to(one) for one in self._reading.assigned(node, node.value)} - {_NOTHING}
        return kinds == {self._own.get(self._reading.span(node), "")} or kinds == {""}

    def _bound_to(self, given: libcst.CSTNode) -> str | None:
        if isinstance(given, (libcst.ClassDef, libcst.FunctionDef, libcst.ImportFrom, libcst.Import)):
            return ""
        return self._bound.get(self._reading.span(given)[0])


class _Finding(Finding):
    def __init__(self, imports: Imports, types: Types) -> None:
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
        ):  # asked for nothing, it would fail either way
            self._nothing.update({(one.lineno, one.col_offset): _NOTHING for one in node.targets})

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        self.types.know(node.target, None)
        self._nothing[node.target.lineno, node.target.col_offset] = _NOTHING  # what is added to is a text afterwards


def _span(lines: Sequence[str], node: ast.expr) -> _Span:
    end = node.end_lineno or node.lineno
    return (
        (node.lineno, _column(lines, node.lineno, node.col_offset)),
        (end, _column(lines, end, node.end_col_offset or 0)),
    )


def _column(lines: Sequence[str], line: int, column: int) -> int:
    """A column in bytes as one in characters."""
    return len(lines[line - 1].encode()[:column].decode())
