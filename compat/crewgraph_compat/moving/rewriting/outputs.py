"""Rewrite outputs used as the strings or dicts that they once were: `"It is: " + result`, `result["final_output"]`."""

from collections.abc import Iterator, Sequence

import libcst

from crewgraph_compat.moving.names import FULL_OUTPUT, OUTPUTS, TAKING_TEXTS
from crewgraph_compat.moving.rewriting.tree import ExpressionTypes, SourceTree, make_call

_TEXTS = (libcst.SimpleString, libcst.ConcatenatedString, libcst.FormattedString)


def rewrite_outputs(reading: SourceTree, known: ExpressionTypes) -> None:
    """Convert values that are certainly outputs to strings, and rewrite access to their parts."""
    for node in reading.of(libcst.Subscript):
        _rewrite_subscript(reading, node, known)
    for node in reading.of(libcst.AugAssign):
        _rewrite_added(reading, node, known)
    for used in _as_texts(reading):
        if _is_output(reading, used, known):
            reading.change(used, lambda updated: make_call("str", updated))
    for call in reading.of(libcst.Call):
        if reading.path(call.func) == "json.loads" and call.args and _is_output(reading, call.args[0].value, known):
            reading.change(call.args[0].value, lambda updated: libcst.Attribute(updated, libcst.Name("raw")))


def _is_output(
    reading: SourceTree, node: libcst.CSTNode, known: ExpressionTypes, kinds: Sequence[str] = OUTPUTS
) -> bool:
    """Whether a value is certainly an output; if it only may be one, a note is added."""
    if _kind(node, known) not in kinds:
        return False
    if known.is_sure(node):
        return True
    reading.note(node, "if this is an output, it is not a string; write `str(...)`.")
    return False


def _kind(node: libcst.CSTNode, known: ExpressionTypes) -> str:
    """Return the name of a value's class; empty if it is unknown or a list."""
    kind = known.of(node)
    return "" if kind.startswith("[]") else kind.rpartition(":")[2]


def _as_texts(reading: SourceTree) -> Iterator[libcst.CSTNode]:
    """Yield the values used where the program requires a string."""
    for node in reading.of(libcst.BinaryOperation, libcst.Comparison, libcst.Call):
        if isinstance(node, libcst.BinaryOperation) and isinstance(node.operator, libcst.Add):
            yield from (node.left, node.right)
        elif isinstance(node, libcst.Comparison) and isinstance(node.left, _TEXTS) and len(node.comparisons) == 1:
            if isinstance(node.comparisons[0].operator, (libcst.In, libcst.NotIn)):
                yield node.comparisons[0].comparator
        elif isinstance(node, libcst.Call):
            yield from _text_argument(reading, node)
    for node in reading.of(libcst.AugAssign):
        if isinstance(node.operator, libcst.AddAssign):
            yield node.value


def _text_argument(reading: SourceTree, node: libcst.Call) -> Iterator[libcst.CSTNode]:
    place = _text_place(reading, node)
    if place is not None and place < len(node.args) and node.args[place].keyword is None:
        yield node.args[place].value


def _text_place(reading: SourceTree, node: libcst.Call) -> int | None:
    """Return the index of the argument that must be a string, or None."""
    if isinstance(node.func, libcst.Name) and node.func.value == "len":
        return 0
    if isinstance(node.func, libcst.Attribute):
        name = node.func.attr.value
        if name == "write_text" or name == "write" and _is_file(reading, node.func.value):
            return 0
    return TAKING_TEXTS.get(reading.path(node.func) or "")


def _is_file(reading: SourceTree, node: libcst.CSTNode) -> bool:
    """Whether a value is statically known to be a file: a name bound to the result of `open`."""
    if not isinstance(node, libcst.Name):
        return False
    values = [_bound_value(reading, item) for item in reading.assigned(node, node.value)]
    return bool(values) and all(isinstance(item, libcst.Call) and _is_open(item.func) for item in values)


def _bound_value(reading: SourceTree, target: libcst.CSTNode) -> libcst.CSTNode | None:
    """Return the value that an assignment or `with` statement binds to a name."""
    above = reading.parent(target)
    while isinstance(above, (libcst.AsName, libcst.AssignTarget)):
        above = reading.parent(above)
    if isinstance(above, libcst.WithItem):
        return above.item
    return above.value if isinstance(above, libcst.Assign) else None


def _is_open(function: libcst.CSTNode) -> bool:
    if isinstance(function, libcst.Attribute):
        return function.attr.value == "open"
    return isinstance(function, libcst.Name) and function.value == "open"


def _rewrite_added(reading: SourceTree, node: libcst.AugAssign, known: ExpressionTypes) -> None:
    """`result += "x"` becomes `result = str(result) + "x"`."""
    if not isinstance(node.operator, libcst.AddAssign) or not _is_output(reading, node.target, known):
        return

    def changed(updated: libcst.AugAssign) -> libcst.Assign:
        is_bare = not updated.value.lpar and not isinstance(updated.value, (libcst.Name, libcst.Call, *_TEXTS))
        value = updated.value
        if is_bare:
            value = value.with_changes(lpar=[libcst.LeftParen()], rpar=[libcst.RightParen()])
        total = libcst.BinaryOperation(make_call("str", updated.target), libcst.Add(), value)
        return libcst.Assign([libcst.AssignTarget(updated.target)], total, updated.semicolon)

    reading.change(node, changed)


def _rewrite_subscript(reading: SourceTree, node: libcst.Subscript, known: ExpressionTypes) -> None:
    if _kind(node.value, known) != "CrewOutput" or len(node.slice) != 1:
        return
    index = node.slice[0].slice
    key = index.value if isinstance(index, libcst.Index) else None
    if key is None or isinstance(key, (libcst.Integer, libcst.UnaryOperation)):
        if _is_output(reading, node.value, known):
            reading.change(node.value, lambda updated: make_call("str", updated))
    elif isinstance(key, libcst.SimpleString) and (name := FULL_OUTPUT.get(str(key.evaluated_value))):
        if not known.is_sure(node.value) or _is_field(reading, str(key.evaluated_value)):
            message = f"if this is a crew's output, `[{key.value}]` is from an older version; write `.{name}`."
            reading.note(node, message)
        else:
            reading.change(node, lambda updated: _attribute(updated, name))


def _attribute(node: libcst.Subscript, name: str) -> libcst.Attribute:
    return libcst.Attribute(node.value, libcst.Name(name), lpar=node.lpar, rpar=node.rpar)


def _is_field(reading: SourceTree, name: str) -> bool:
    """Whether a model in the file has a field of this name, which an output may then have, too."""
    return any(
        isinstance(item.target, libcst.Name) and item.target.value == name for item in reading.of(libcst.AnnAssign)
    )
