"""The state fields that a method reads and writes, determined from its source."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

_READING = frozenset(
    {
        *(
            "get",
            "items",
            "keys",
            "values",
            "copy",
            "index",
            "count",
            "model_dump",
            "model_dump_json",
            "model_copy",
            "dict",
        ),
        *("lower", "upper", "title", "split", "splitlines", "strip", "lstrip", "rstrip", "join", "format", "replace"),
        *("startswith", "endswith", "isdigit", "encode", "decode", "capitalize", "isoformat", "strftime", "json"),
    }
)
"""Methods that do not change their object."""


SHOWING = frozenset({"model_dump", "model_dump_json", "model_copy", "copy", "dict", "items", "json", "keys", "values"})
"""Methods of a state that read all of it."""

_WHOLE = SHOWING | {"get", "pop", "setdefault", "update"}


class StateAccess:
    """How a method uses its state."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self.appends: set[str] = set()
        """List fields that only grow."""

        self.whole: list[ast.AST] = []
        """Nodes that use the state as a whole."""

        self.helpers: dict[str, None] = {}
        """Other methods that it calls."""


def state_access(function: Any, own: str) -> StateAccess:
    """Return how a method uses its state.

    Args:
        function: the method.
        own: the name of its first parameter.
    """
    result = StateAccess()
    aliases: dict[str, str] = {}
    others: set[str] = set()
    above = {id(child): node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(function):
        alias = _alias(node, own)
        if alias is not None:
            aliases[alias[0]] = alias[1]
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            _record_use(result, others, node, above)
        elif isinstance(node, ast.Name) and node.id in aliases:
            field = aliases[node.id]
            _note(result, others, field, node, above, is_alias=True)
    for names in _updated(function, own):
        result.writes.update(dict.fromkeys(names))
        others.update(names)
    result.appends -= others
    return result


def changed_attributes(kind: type) -> set[str]:
    """Return the attributes of its objects that a class changes outside of `__init__`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, SyntaxError):
        return set(vars(kind))
    changed: set[str] = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        own = function.args.args[0].arg if function.args.args and function.name != "__init__" else None
        found, others = StateAccess(), set[str]()
        above = {id(child): node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and own is not None and _is_name(node.value, own):
                _note(found, others, node.attr, node, above)
        changed |= set(found.writes)
    return changed


def _record_use(found: StateAccess, others: set[str], node: ast.Attribute, above: dict[int, ast.AST]) -> None:
    """Record a use of the object."""
    around = above.get(id(node))
    if node.attr != "state":
        if isinstance(around, ast.Call) and around.func is node:
            found.helpers[node.attr] = None
    elif (key := _get_key(around, above)) is not None:
        found.reads[key] = None
    elif (field := _field(around, node, above.get(id(around)))) is None:
        found.whole.append(node)
    else:
        found.reads[field] = None
        _note(found, others, field, around, above)


def _alias(node: ast.AST, own: str) -> tuple[str, str] | None:
    """Return a local name that refers to a part of a field, with the field."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.For):
        target, value = node.target, node.iter
    else:
        return None
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        inner = value.value
        if isinstance(inner, ast.Attribute) and inner.attr == "state" and _is_name(inner.value, own):
            field = _field(value, inner)
            return (target.id, field) if isinstance(target, ast.Name) and field is not None else None
        value = inner
    return None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _get_key(around: Any, above: dict[int, ast.AST]) -> str | None:
    """Return the key of `self.state.get(...)`."""
    call = above.get(id(around))
    if (
        isinstance(around, ast.Attribute)
        and around.attr == "get"
        and isinstance(call, ast.Call)
        and call.func is around
    ):
        first = call.args[0] if call.args else None
        return str(first.value) if isinstance(first, ast.Constant) else None
    return None


def _field(around: Any, node: ast.AST, call: ast.AST | None = None) -> str | None:
    """Return the state field that an expression accesses.

    Args:
        around: the access.
        node: the state.
        call: the node around the access.
    """
    if isinstance(around, ast.Attribute):
        is_method = isinstance(call, ast.Call) and call.func is around and around.attr in _WHOLE
        return None if is_method else around.attr
    if isinstance(around, ast.Subscript) and around.value is node and isinstance(around.slice, ast.Constant):
        return str(around.slice.value)
    return None


def _note(
    found: StateAccess, others: set[str], field: str, node: Any, above: dict[int, ast.AST], *, is_alias: bool = False
) -> None:
    """Record how a field is used where it is accessed."""
    ctx = getattr(node, "ctx", None)
    if isinstance(ctx, (ast.Store, ast.Del)) and not is_alias:
        found.writes[field] = None
        around = above.get(id(node))
        if isinstance(around, ast.AugAssign) and isinstance(around.op, ast.Add) and isinstance(around.value, ast.List):
            found.appends.add(field)
        else:
            others.add(field)
        return
    around: Any = above.get(id(node))
    depth = 0
    while isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node:
        following: Any = above.get(id(around))
        if isinstance(around.ctx, (ast.Store, ast.Del)):
            found.writes[field] = None
            others.add(field)
            return
        if isinstance(around, ast.Attribute) and isinstance(following, ast.Call) and following.func is around:
            if around.attr not in _READING:
                found.writes[field] = None
                if around.attr in ("append", "extend") and depth == 0 and not is_alias:
                    found.appends.add(field)
                else:
                    others.add(field)
            return
        node, around, depth = around, following, depth + 1


def _updated(function: Any, own: str) -> Iterator[list[str]]:
    """Return the keys of `self.state.update(...)` and `self.state.setdefault(...)`."""
    for node in ast.walk(function):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        state = node.func.value
        if not (isinstance(state, ast.Attribute) and state.attr == "state" and _is_name(state.value, own)):
            continue
        if node.func.attr == "update":
            names = [word.arg for word in node.keywords if word.arg is not None]
            for arg in node.args:
                if isinstance(arg, ast.Dict):
                    names += [str(key.value) for key in arg.keys if isinstance(key, ast.Constant)]
            yield names
        elif node.func.attr == "setdefault" and isinstance(node.args[0], ast.Constant):
            yield [str(node.args[0].value)]
