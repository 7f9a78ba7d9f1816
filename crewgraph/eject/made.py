"""What an expression that makes agents, tasks and crews comes to, before a run."""

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["global_value", "made_of"]


def made_of(node: ast.AST, named: Callable[[str], Any]) -> Any:
    """The value of an expression of calls, names, attributes and plain data.

    Args:
        node: the expression.
        named: gives what a name stands for.

    Raises:
        LookupError: it holds something else, or a name that stands for nothing.
    """

    def again(inner: ast.AST) -> Any:
        return made_of(inner, named)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return named(name)
        case ast.Attribute(value=inner, attr=attr):
            return getattr(again(inner), attr)
        case ast.Call(func=function, args=args, keywords=words):
            given = {word.arg: again(word.value) for word in words if word.arg is not None}
            return again(function)(*[again(one) for one in args], **given)
        case _:
            return _data(node, again)


def _data(node: ast.AST, again: Callable[[ast.AST], Any]) -> Any:
    """The value of a list, a dict, a number or a text that is put together."""
    match node:
        case ast.List(elts=elements):
            return [again(one) for one in elements]
        case ast.Tuple(elts=elements):
            return tuple(again(one) for one in elements)
        case ast.Dict(keys=keys, values=values):
            return {again(key): again(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -again(inner)
        case ast.JoinedStr(values=parts):
            return "".join(str(again(one)) for one in parts)
        case ast.FormattedValue(value=inner):
            return again(inner)
        case _:
            raise LookupError(f"`{ast.unparse(node)}` is known in a run alone")


def global_value(name: str, values: Mapping[str, Any]) -> Any:
    """What a global name stands for.

    Raises:
        LookupError: nothing.
    """
    if name in values:
        return values[name]
    found = getattr(builtins, name, None)
    if found is None:
        raise LookupError(f"`{name}` is known in a run alone")
    return found
