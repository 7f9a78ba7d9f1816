"""Former names of what objects have: `output.final_output`, `task.execute()`."""

import libcst

from crewgraph_compat.moving.former import ATTRIBUTES, OF_TEXTS, OUTPUTS
from crewgraph_compat.moving.known_types import KnownTypes
from crewgraph_compat.moving.reading import Reading, called
from crewgraph_compat.moving.uses import Sort

__all__ = ["rewrite_attributes"]


def rewrite_attributes(reading: Reading, known: KnownTypes) -> None:
    """Let attributes of outputs and tasks have the names they have today, where it is certain whose they are."""
    for node in reading.of(libcst.Attribute):
        instead = _instead(reading, node, known)
        if instead is None:
            continue
        if not known.is_sure(node.value):
            reading.note(
                node, f"`{node.attr.value}` is a former name, if it is asked of an output here; write `{instead}`."
            )
        elif instead.isidentifier():
            reading.change(node, lambda updated, name=instead: updated.with_changes(attr=libcst.Name(name)))
        elif node.attr.value == "execute":
            _execute(reading, node)
        elif node.attr.value in OF_TEXTS:  # what such an output is as a text, whatever its form
            reading.change(node, lambda updated: updated.with_changes(value=called("str", updated.value)))
        elif node.attr.value == "get":
            reading.change(node, lambda updated: updated.with_changes(value=_as_dict(updated.value)))
        else:
            reading.note(node, f"`{node.attr.value}` of an output is a former name; write `{instead}`.")


def _as_dict(output: libcst.BaseExpression) -> libcst.Call:
    return libcst.Call(libcst.Attribute(output, libcst.Name("to_dict")))


def _execute(reading: Reading, node: libcst.Attribute) -> None:
    """`task.execute()` was a text: `task.execute_sync().raw`."""
    call = reading.parent(node)
    if not isinstance(call, libcst.Call) or call.func is not node:
        reading.note(node, "`execute` of a task is a former name; write `execute_sync(...).raw`.")
        return
    reading.change(node, lambda updated: updated.with_changes(attr=libcst.Name("execute_sync")))
    reading.change(call, lambda updated: libcst.Attribute(updated, libcst.Name("raw")))


def _instead(reading: Reading, node: libcst.Attribute, known: KnownTypes) -> str | None:
    """What to write for an attribute; None where it has no former name."""
    feature = known.features.get(reading.span(node))
    if feature is None or feature.sort is not Sort.attribute:
        return None
    owner = feature.owner.rpartition(":")[2]
    if owner in OUTPUTS and feature.word in OF_TEXTS:
        return f"str(...).{feature.word}"
    return ATTRIBUTES.get(owner, {}).get(feature.word)
