"""Outputs that are used as the texts or dicts that they once were: `"It is: " + result`, `result["final_output"]`."""

from collections.abc import Iterator, Sequence

import libcst

from crewgraph_compat.moving.former import FULL_OUTPUT, OUTPUTS
from crewgraph_compat.moving.known_types import KnownTypes
from crewgraph_compat.moving.reading import Reading, called

__all__ = ["rewrite_outputs"]

_TEXTS = (libcst.SimpleString, libcst.ConcatenatedString, libcst.FormattedString)


def rewrite_outputs(reading: Reading, known: KnownTypes) -> None:
    """Let programs ask an output for its text, and for its parts, where it is certain that it is an output."""
    for node in reading.of(libcst.Subscript):
        _rewrite_subscript(reading, node, known)
    for node in reading.of(libcst.AugAssign):
        _rewrite_added(reading, node, known)
    for used in _as_texts(reading):
        if _is_output(reading, used, known):
            reading.change(used, lambda updated: called("str", updated))


def _is_output(reading: Reading, node: libcst.CSTNode, known: KnownTypes, kinds: Sequence[str] = OUTPUTS) -> bool:
    """Whether a value is certainly an output; where it may be one, that is told."""
    if _kind(node, known) not in kinds:
        return False
    if known.is_sure(node):
        return True
    reading.note(node, "an output is no text, if one is used as a text here; write `str(...)`.")
    return False


def _kind(node: libcst.CSTNode, known: KnownTypes) -> str:
    """The name of a value's class; empty where it is not known, and for lists."""
    kind = known.of(node)
    return "" if kind.startswith("[]") else kind.rpartition(":")[2]


def _as_texts(reading: Reading) -> Iterator[libcst.CSTNode]:
    """What stands where the program takes a text."""
    for node in reading.of(libcst.BinaryOperation, libcst.Comparison, libcst.Call):
        if isinstance(node, libcst.BinaryOperation) and isinstance(node.operator, libcst.Add):
            yield from (node.left, node.right)
        elif isinstance(node, libcst.Comparison) and isinstance(node.left, _TEXTS) and len(node.comparisons) == 1:
            if isinstance(node.comparisons[0].operator, (libcst.In, libcst.NotIn)):
                yield node.comparisons[0].comparator
        elif isinstance(node, libcst.Call) and _is_len(node):
            yield node.args[0].value
    for node in reading.of(libcst.AugAssign):
        if isinstance(node.operator, libcst.AddAssign):
            yield node.value


def _is_len(node: libcst.Call) -> bool:
    return isinstance(node.func, libcst.Name) and node.func.value == "len" and len(node.args) == 1


def _rewrite_added(reading: Reading, node: libcst.AugAssign, known: KnownTypes) -> None:
    """`result += "x"` becomes `result = str(result) + "x"`."""
    if not isinstance(node.operator, libcst.AddAssign) or not _is_output(reading, node.target, known):
        return

    def changed(updated: libcst.AugAssign) -> libcst.Assign:
        is_bare = not updated.value.lpar and not isinstance(updated.value, (libcst.Name, libcst.Call, *_TEXTS))
        value = updated.value
        if is_bare:
            value = value.with_changes(lpar=[libcst.LeftParen()], rpar=[libcst.RightParen()])
        total = libcst.BinaryOperation(called("str", updated.target), libcst.Add(), value)
        return libcst.Assign([libcst.AssignTarget(updated.target)], total, updated.semicolon)

    reading.change(node, changed)


def _rewrite_subscript(reading: Reading, node: libcst.Subscript, known: KnownTypes) -> None:
    if _kind(node.value, known) != "CrewOutput" or len(node.slice) != 1:
        return
    index = node.slice[0].slice
    key = index.value if isinstance(index, libcst.Index) else None
    if key is None or isinstance(key, (libcst.Integer, libcst.UnaryOperation)):
        if _is_output(reading, node.value, known):
            reading.change(node.value, lambda updated: called("str", updated))
    elif isinstance(key, libcst.SimpleString) and (name := FULL_OUTPUT.get(str(key.evaluated_value))):
        if not known.is_sure(node.value) or _is_field(reading, str(key.evaluated_value)):
            told = f"`[{key.value}]` is of older versions, if it is asked of a crew's output; write `.{name}`."
            reading.note(node, told)
        else:
            reading.change(node, lambda updated: _attribute(updated, name))


def _attribute(node: libcst.Subscript, name: str) -> libcst.Attribute:
    return libcst.Attribute(node.value, libcst.Name(name), lpar=node.lpar, rpar=node.rpar)


def _is_field(reading: Reading, name: str) -> bool:
    """Whether a model of the file has a field of this name: an output may have it, too."""
    return any(isinstance(one.target, libcst.Name) and one.target.value == name for one in reading.of(libcst.AnnAssign))
