"""Tell whether a class of the project may use keywords that it does not declare."""

import ast
from collections.abc import Callable, Iterator

_WITHOUT_FIELDS = frozenset({"ABC", "Generic", "Protocol", "object"})
"""Base classes that declare no fields."""


def takes_any_keyword(node: ast.ClassDef, path: Callable[[ast.expr], str | None]) -> bool:
    """Whether calling a class may use keywords that neither it nor its base from CrewAI declares.

    Args:
        node: The class.
        path: Returns the dotted path of crewai that an expression refers to, or None.
    """
    return (
        any(path(base) is None and last_name(base) not in _WITHOUT_FIELDS for base in node.bases)
        or any(_reads_keyword(function) for function in _functions(node))
        or any(_allows_extra(item) for item in ast.walk(node))
    )


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (item for item in node.body if isinstance(item, ast.FunctionDef))


def _reads_keyword(function: ast.FunctionDef) -> bool:
    """Whether a function sees keywords by name: a validator that runs before, or one that uses its `**kwargs` itself."""
    if any(last_name(each) in ("model_validator", "root_validator") for each in function.decorator_list):
        return True
    if function.name not in ("__init__", "__new__") or function.args.kwarg is None:
        return False
    named = function.args.kwarg.arg
    uses = [item for item in ast.walk(function) if isinstance(item, ast.Name) and item.id == named]
    passed = [
        item.value
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for item in call.keywords
        if item.arg is None
    ]
    return any(use not in passed for use in uses)


def _allows_extra(item: ast.AST) -> bool:
    """Whether a node is the `extra="allow"` of a model's configuration."""
    if isinstance(item, ast.keyword):
        return item.arg == "extra" and _is_allow(item.value)
    if isinstance(item, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in item.keys]
        return any(key == "extra" and _is_allow(value) for key, value in zip(keys, item.values, strict=True))
    named = [each.id for each in item.targets if isinstance(each, ast.Name)] if isinstance(item, ast.Assign) else []
    return isinstance(item, ast.Assign) and named == ["extra"] and _is_allow(item.value)


def _is_allow(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == "allow" or last_name(value) == "allow"


def last_name(node: ast.expr) -> str:
    """Return the last name of what an expression calls, subscripts or names; empty for others."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
