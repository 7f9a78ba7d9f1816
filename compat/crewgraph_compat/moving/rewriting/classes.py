"""Rewrite classes of older programs: untyped tool fields, tools passed as classes, sources that save documents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import libcst

from crewgraph_compat.moving.reading.types import OwnClass
from crewgraph_compat.moving.rewriting.tree import ClassBases, SourceTree, resolve_target

_TOOL = "crewgraph.tools.base:BaseTool"
_TAKE_TOOLS = frozenset(
    {
        "crewgraph.agent:Agent",
        "crewgraph.task:ConditionalTask",
        "crewgraph.task:Task",
    }
)
_FIELDS = {
    "description": "str",
    "description_updated": "bool",
    "max_usage_count": "int | None",
    "name": "str",
    "once": "bool",
    "result_as_answer": "bool",
}
"""Fields of a tool with their types."""

_SCHEMAS = ("args_schema", "result_schema")
_LITERALS: tuple[tuple[tuple[type[libcst.BaseExpression], ...], str], ...] = (
    ((libcst.SimpleString, libcst.ConcatenatedString, libcst.FormattedString), "str"),
    ((libcst.Integer,), "int"),
    ((libcst.Float,), "float"),
    ((libcst.List, libcst.ListComp), "list"),
    ((libcst.Dict, libcst.DictComp), "dict"),
    ((libcst.Tuple,), "tuple"),
    ((libcst.Set, libcst.SetComp), "set"),
)


def rewrite_tools(reading: SourceTree, classes: Mapping[str, OwnClass]) -> None:
    """Annotate the fields of tools, and pass tool instances instead of classes to agents and tasks."""
    bases = ClassBases(reading, classes)
    for node in bases.here.values():
        if any(bases.of(base.value) == _TOOL for base in node.bases):
            _type_fields(reading, node)
    for call in reading.of(libcst.Call):
        if bases.of(call.func) in _TAKE_TOOLS:
            _make_tools(reading, call, bases)


def _statements(node: libcst.ClassDef) -> Iterator[libcst.BaseSmallStatement]:
    for line in node.body.body:
        if isinstance(line, libcst.SimpleStatementLine):
            yield from line.body
        elif isinstance(line, libcst.BaseSmallStatement):
            yield line


def _fields_of(node: libcst.ClassDef) -> dict[str, libcst.AnnAssign]:
    results = [statement for statement in _statements(node) if isinstance(statement, libcst.AnnAssign)]
    return {item.target.value: item for item in results if isinstance(item.target, libcst.Name)}


def _type_fields(reading: SourceTree, node: libcst.ClassDef) -> None:
    typed = _fields_of(node)
    for statement in _statements(node):
        if not isinstance(statement, libcst.Assign):
            continue
        names = [each.target.value for each in statement.targets if isinstance(each.target, libcst.Name)]
        if not names or names[0] in typed or names[0].startswith(("_", "model_")):
            continue
        kind = _kind(reading, node, names[0], statement.value) if len(statement.targets) == 1 else ""
        if kind:
            reading.change(statement, lambda updated, kind=kind: _typed(updated, kind))
        elif kind is not None:
            reading.note(statement, f"the tool field `{names[0]}` has no type; add one: `{names[0]}: <type> = ...`.")


def _kind(reading: SourceTree, node: libcst.ClassDef, name: str, value: libcst.BaseExpression) -> str | None:
    """Return the source text of a field's type; empty if it cannot be inferred, None if the name is not a field."""
    if name in _FIELDS:
        return _FIELDS[name]
    if name in _SCHEMAS:
        model = next((item for item in _names_of_models(reading, node)), None)
        return f"type[{model}]" if model else ""
    if isinstance(value, libcst.UnaryOperation):
        value = value.expression
    if isinstance(value, libcst.Name) and value.value in ("True", "False"):
        return "bool"
    if isinstance(value, (libcst.Name, libcst.Attribute, libcst.Lambda)):  # an alias of a method, a constant
        return None
    return next((kind for kinds, kind in _LITERALS if isinstance(value, kinds)), "")


def _names_of_models(reading: SourceTree, node: libcst.ClassDef) -> Iterator[str]:
    """Return the local names of pydantic's `BaseModel`."""
    scope = reading.scope(node)
    for item in reading.of(libcst.Name):
        if reading.path(item) == "pydantic.BaseModel" and reading.scope(item) is scope:
            yield item.value


def _typed(updated: libcst.Assign, kind: str) -> libcst.AnnAssign:
    target = updated.targets[0]
    equal = libcst.AssignEqual(target.whitespace_before_equal, target.whitespace_after_equal)
    note = libcst.Annotation(libcst.parse_expression(kind))
    return libcst.AnnAssign(target.target, note, updated.value, equal, updated.semicolon)


def _make_tools(reading: SourceTree, call: libcst.Call, bases: ClassBases) -> None:
    for arg in call.args:
        if arg.keyword is None or arg.keyword.value != "tools":
            continue
        for item in _elements(reading, arg.value):
            if _is_class(reading, item, bases):
                reading.change(item, lambda updated: libcst.Call(updated))


def _elements(reading: SourceTree, tools: libcst.BaseExpression) -> Iterator[libcst.CSTNode]:
    if isinstance(tools, (libcst.List, libcst.Tuple)):
        yield from (item.value for item in tools.elements if isinstance(item, libcst.Element))
    elif isinstance(tools, libcst.BinaryOperation) and isinstance(tools.operator, libcst.Add):
        yield from _elements(reading, tools.left)
        yield from _elements(reading, tools.right)


def _is_class(reading: SourceTree, node: libcst.CSTNode, bases: ClassBases) -> bool:
    """Whether a tool is certainly a class that can be instantiated without arguments."""
    if isinstance(node, libcst.Name) and node.value in bases.here:
        own = bases.here[node.value]
        is_it = bases.of(node) == _TOOL and [own] == reading.assigned(node, node.value)
        if is_it and (needed := _needed(bases.parents(own))):
            reading.note(node, f"`{node.value}` is a class and requires {needed}: write `{node.value}(...)`.")
            return False
        return is_it
    path = reading.path(node) if isinstance(node, (libcst.Name, libcst.Attribute)) else None
    if path is None or resolve_target(reading, node) == _TOOL:
        return False
    package, name = path.partition(".")[0], path.rpartition(".")[2]
    is_tool = bases.of(node) == _TOOL or package == "crewai_tools" or package.startswith("langchain")
    return is_tool and name[:1].isupper()


def _needed(classes: "list[libcst.ClassDef]") -> str:
    """Return the required arguments of a tool class; empty if there are none."""
    values = {name for item in classes for name in (*_given(item), *_methods(item))}
    for cls in classes:
        init = _methods(cls).get("__init__")
        if init is not None:
            required = [*init.params.posonly_params, *init.params.params, *init.params.kwonly_params]
            names = [each.name.value for each in required if each.default is None and each.name.value != "self"]
            return ", ".join(f"`{name}`" for name in names)
    typed = {name: field for item in reversed(classes) for name, field in _fields_of(item).items()}
    names = [
        name
        for name, field in typed.items()
        if name not in values and not name.startswith("_") and not _is_of_class(field.annotation.annotation)
    ]
    return ", ".join(f"`{name}`" for name in names)


def _given(node: libcst.ClassDef) -> Iterator[str]:
    yield from (name for name, field in _fields_of(node).items() if field.value is not None)
    for statement in _statements(node):
        if isinstance(statement, libcst.Assign):
            yield from (each.target.value for each in statement.targets if isinstance(each.target, libcst.Name))


def _methods(node: libcst.ClassDef) -> dict[str, libcst.FunctionDef]:
    return {
        statement.name.value: statement for statement in node.body.body if isinstance(statement, libcst.FunctionDef)
    }


def _is_of_class(kind: libcst.BaseExpression) -> bool:
    outer = kind.value if isinstance(kind, libcst.Subscript) else kind
    return isinstance(outer, libcst.Name) and outer.value == "ClassVar"


_SOURCES = "crewgraph.knowledge.source."
_FORMER = "save_documents"


def rewrite_sources(reading: SourceTree, classes: Mapping[str, OwnClass]) -> None:
    """Make sources call `_save_documents`, which reads from `metadata` what used to be passed to it."""
    bases = ClassBases(reading, classes)
    for node in bases.here.values():
        is_source = any(bases.of(base.value).startswith(_SOURCES) for base in node.bases)
        if is_source and not any(_has(parent) for parent in bases.parents(node)):
            for call in _calls(node):
                _rewrite(reading, call)


def _has(node: libcst.ClassDef) -> bool:
    return any(
        isinstance(statement, libcst.FunctionDef) and statement.name.value == _FORMER for statement in node.body.body
    )


def _calls(node: libcst.ClassDef) -> Iterator[libcst.Call]:
    for method in node.body.body:
        waiting: list[libcst.CSTNode] = [method] if isinstance(method, libcst.FunctionDef) else []
        while waiting:
            item = waiting.pop()
            if isinstance(item, libcst.Call) and _is_former(item.func):
                yield item
            waiting += [each for each in item.children if not isinstance(each, libcst.ClassDef)]


def _is_former(func: libcst.BaseExpression) -> bool:
    return (
        isinstance(func, libcst.Attribute)
        and func.attr.value == _FORMER
        and isinstance(func.value, libcst.Name)
        and func.value.value == "self"
    )


def _rewrite(reading: SourceTree, call: libcst.Call) -> None:
    statement = reading.parent(call)
    known = _known(call.args)
    is_plain = known is None or isinstance(known, (libcst.Dict, libcst.Name, libcst.Attribute, libcst.Call))
    if len(call.args) > 1 or not isinstance(statement, libcst.Expr) or call.args and call.args[0].star or not is_plain:
        reading.note(call, f"`{_FORMER}` is a former name; write `self._save_documents()`.")
        return
    reading.change(call, lambda updated: updated.with_changes(func=_now(updated.func), args=()))
    if known is not None:
        reading.change(statement, lambda updated: libcst.FlattenSentinel([_stored_attribute(known), updated]))


def _now(func: Any) -> libcst.Attribute:
    return func.with_changes(attr=libcst.Name(f"_{_FORMER}"))


def _known(args: Sequence[libcst.Arg]) -> libcst.BaseExpression | None:
    """Return the metadata that the call passes in addition to the source's own; None if there is none."""
    text = libcst.Module([]).code_for_node(args[0].value) if args else "None"
    return None if text in ("None", "{}", "self.metadata") else args[0].value


def _stored_attribute(known: libcst.BaseExpression) -> libcst.Assign:
    """`self.metadata = {**self.metadata, **(known or {})}`."""
    value: Any = known
    if not isinstance(known, libcst.Dict):
        either: Any = libcst.parse_expression("(given or {})")
        value = either.with_changes(left=known)
    target: Any = libcst.parse_expression("self.metadata")
    both: Any = libcst.parse_expression("{**self.metadata, **given}")
    last = both.elements[1].with_changes(value=value)
    return libcst.Assign([libcst.AssignTarget(target)], both.with_changes(elements=[both.elements[0], last]))
