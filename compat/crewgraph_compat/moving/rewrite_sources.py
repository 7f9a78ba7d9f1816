"""Sources of knowledge that keep themselves under the former name: `self.save_documents(metadata=...)`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import libcst

from crewgraph_compat.moving.class_bases import ClassBases
from crewgraph_compat.moving.reading import Reading
from crewgraph_compat.moving.types import OwnClass

__all__ = ["rewrite_sources"]

_SOURCES = "crewgraph.knowledge.source."
_FORMER = "save_documents"


def rewrite_sources(reading: Reading, classes: Mapping[str, OwnClass]) -> None:
    """Let sources call `_save_documents`, which takes what is known of them from their `metadata`."""
    bases = ClassBases(reading, classes)
    for node in bases.here.values():
        is_source = any(bases.of(base.value).startswith(_SOURCES) for base in node.bases)
        if is_source and not any(_has(one) for one in bases.parents(node)):
            for call in _calls(node):
                _rewrite(reading, call)


def _has(node: libcst.ClassDef) -> bool:
    return any(isinstance(one, libcst.FunctionDef) and one.name.value == _FORMER for one in node.body.body)


def _calls(node: libcst.ClassDef) -> Iterator[libcst.Call]:
    for method in node.body.body:
        waiting: list[libcst.CSTNode] = [method] if isinstance(method, libcst.FunctionDef) else []
        while waiting:
            one = waiting.pop()
            if isinstance(one, libcst.Call) and _is_former(one.func):
                yield one
            waiting += [each for each in one.children if not isinstance(each, libcst.ClassDef)]


def _is_former(func: libcst.BaseExpression) -> bool:
    return (
        isinstance(func, libcst.Attribute)
        and func.attr.value == _FORMER
        and isinstance(func.value, libcst.Name)
        and func.value.value == "self"
    )


def _rewrite(reading: Reading, call: libcst.Call) -> None:
    statement = reading.parent(call)
    known = _known(call.args)
    is_plain = known is None or isinstance(known, (libcst.Dict, libcst.Name, libcst.Attribute, libcst.Call))
    if len(call.args) > 1 or not isinstance(statement, libcst.Expr) or call.args and call.args[0].star or not is_plain:
        reading.note(call, f"`{_FORMER}` is a former name; write `self._save_documents()`.")
        return
    reading.change(call, lambda updated: updated.with_changes(func=_now(updated.func), args=()))
    if known is not None:
        reading.change(statement, lambda updated: libcst.FlattenSentinel([_kept(known), updated]))


def _now(func: Any) -> libcst.Attribute:
    return func.with_changes(attr=libcst.Name(f"_{_FORMER}"))


def _known(args: Sequence[libcst.Arg]) -> libcst.BaseExpression | None:
    """What the call says of the source, besides its own `metadata`; None where that is nothing."""
    text = libcst.Module([]).code_for_node(args[0].value) if args else "None"
    return None if text in ("None", "{}", "self.metadata") else args[0].value


def _kept(known: libcst.BaseExpression) -> libcst.Assign:
    """`self.metadata = {**self.metadata, **(known or {})}`."""
    given: Any = known
    if not isinstance(known, libcst.Dict):
        either: Any = libcst.parse_expression("(given or {})")
        given = either.with_changes(left=known)
    target: Any = libcst.parse_expression("self.metadata")
    both: Any = libcst.parse_expression("{**self.metadata, **given}")
    last = both.elements[1].with_changes(value=given)
    return libcst.Assign([libcst.AssignTarget(target)], both.with_changes(elements=[both.elements[0], last]))
