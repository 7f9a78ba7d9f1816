"""CEL, read and evaluated by `cel-python`: expressions, and texts with `${...}` in them."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from crewgraph.errors import ExpressionError
from crewgraph.extras import require

if TYPE_CHECKING:
    from lark import Tree

__all__ = ["Parsed", "Part", "evaluated", "expression_labels", "parsed", "parts_of", "roots_of"]

_VARIABLES = {"all": 1, "exists": 1, "exists_one": 1, "filter": 1, "map": 1, "reduce": 2}
"""What goes through lists and maps, and how many names of its own it takes; it takes as many expressions besides."""

_NOT_ONE_VALUE = ("list_lit", "map_lit")
_TEXTS = ("STRING_LIT", "MLSTRING_LIT")

_CLASS = re.compile(r"<class '(?:celpy\.celtypes\.)?(\w+?)(?:Type)?'>")
_RULE = re.compile(r"Token\('RULE', '(\w+)'\)")

_lock = Lock()


@dataclass(frozen=True, eq=False)
class Parsed:
    """An expression that can be evaluated, in several threads at once."""

    tree: "Tree[Any]"
    program: Any
    roots: frozenset[str]


@lru_cache(2_000)
def parsed(source: str) -> Parsed:
    """An expression.

    Raises:
        ExpressionError: the text is empty, or is none.
        MissingExtra: `cel-python` is not installed.
    """
    if not source.strip():
        raise ExpressionError("the expression is empty; write one, as `state.topic` or `outputs.method`")
    celpy = _celpy()
    with _lock:  # all parsers share one
        environment = _environment(celpy)
        try:
            tree = environment.compile(source)
        except celpy.CELParseError as error:
            raise ExpressionError(
                f"{source.strip()!r:.200} is no CEL expression: it cannot be read at line {error.line}, character "
                f"{error.column}"
            ) from error
    try:
        return Parsed(tree, environment.program(tree), _roots(tree))
    except ExpressionError as error:
        raise ExpressionError(f"{source.strip()!r:.200} is no CEL expression: {error}") from error


def evaluated(expression: Parsed, scope: Mapping[str, Any]) -> Any:
    """The value of an expression, as JSON has it: points in time and spans as text, bytes in base64, keys as text.

    Args:
        expression: the expression.
        scope: what its names stand for: plain data, points in time and spans of it.

    Raises:
        ExpressionError: it has none.
    """
    celpy = _celpy()
    try:
        given = {name: celpy.json_to_cel(scope[name]) for name in expression.roots if name in scope}
        return json.loads(celpy.CELJSONEncoder().encode(expression.program.evaluate(given)))
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply") from error
    except Exception as error:
        raise ExpressionError(_told(error, expression.roots, scope)) from error


def roots_of(expression: Parsed) -> frozenset[str]:
    """The names that an expression takes from its context."""
    return expression.roots


def expression_labels(expression: Parsed) -> list[str]:
    """The texts that an expression may come to, as far as it says them: those at the ends of its choices."""
    labels: list[str] = []
    waiting: list[Any] = [expression.tree]
    while waiting:
        node = waiting.pop()
        inner = node.children
        if node.data == "expr" and len(inner) == 3:
            waiting += [inner[2], inner[1]]
        elif len(inner) == 1 and _is_tree(inner[0]) and node.data not in _NOT_ONE_VALUE:
            waiting.append(inner[0])
        elif node.data == "literal" and inner[0].type in _TEXTS:
            labels.append(evaluated(parsed(str(inner[0])), {}))
    return labels


def _celpy() -> ModuleType:
    return require("celpy", extra="declared", purpose="an expression of a declared flow")


def _environment(celpy: ModuleType) -> Any:
    """An environment; it wants 2,500 frames, and may take none from who has more."""
    limit = sys.getrecursionlimit()
    environment = celpy.Environment()
    sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))
    return environment


def _roots(tree: "Tree[Any]") -> frozenset[str]:
    found: set[str] = set()
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, bound = waiting.pop()
        inner = node.children
        if node.data in ("ident", "dot_ident"):
            found |= {str(inner[0])} - bound
        elif node.data == "member_dot_arg" and inner[1] in _VARIABLES:
            arguments: list[Any] = inner[2].children if len(inner) == 3 else []
            own = bound | _own(str(inner[1]), arguments)
            waiting += [(inner[0], bound), *((one, own) for one in arguments)]
        else:
            waiting += [(one, bound) for one in inner if _is_tree(one)]
    return frozenset(found)


def _own(walk: str, arguments: list[Any]) -> frozenset[str]:
    """The names that a walk through a list has of its own."""
    count = _VARIABLES[walk]
    names = [_roots(one) for one in arguments[:count]]
    if len(arguments) != 2 * count or any(len(one) != 1 for one in names):
        example = "reduce(sum, x, 0, sum + x)" if count == 2 else f"{walk}(x, x > 1)"
        raise ExpressionError(f"`{walk}` takes names of its own, and as many expressions: `{example}`")
    return frozenset[str]().union(*names)


def _is_tree(node: Any) -> bool:
    return hasattr(node, "children")


def _told(error: Exception, roots: frozenset[str], scope: Mapping[str, Any]) -> str:
    """What a failure is, in the terms of whoever wrote the expression."""
    what, *more = error.args or (type(error).__name__,)
    told, is_name, _ = str(what).partition(" (in activation")
    if is_name:
        name = told.split("'")[1]
        there: Iterable[str] = scope if name in roots else _celpy().evaluation.base_functions
        known = ", ".join(sorted(one for one in there if one[:1].isalpha())) or "nothing"
        return f"there is no {'' if name in roots else 'function '}`{name}`; there is {known}"
    if told.startswith("found no matching overload"):
        told += "; what stands together has to be of one kind: convert with int(), double() or string()"
    elif len(more) == 2 and more[1] and str(more[1][0]) not in told:  # the kind and the arguments of what was raised
        told += f": {more[1][0]}"
    return _CLASS.sub(lambda kind: kind[1].lower(), _RULE.sub(r"`\1`", told))


_OPENING = "${"

_WORDS = re.compile(
    r"""
      //[^\n]*
    | [rR]?(?P<long>\"{3}|'{3})(?:\\.|[^\\])*?(?P=long)
    | [rR]?(?P<quote>["'])(?:\\.|[^\\\n])*?(?P=quote)
    | (?P<bracket>[{}])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Notes and texts, whose brackets do not count, and brackets."""


@dataclass(frozen=True)
class Part:
    """A piece of a text."""

    text: str
    is_expression: bool


def parts_of(text: str) -> list[Part]:
    """The pieces of a text, in their order.

    Raises:
        ExpressionError: an expression in it is empty, or has no end.
    """
    parts: list[Part] = []
    at = 0
    while (start := text.find(_OPENING, at)) >= 0:
        if start > at:
            parts.append(Part(text[at:start], False))
        end = _end(text, start + len(_OPENING))
        inner = text[start + len(_OPENING) : end].strip()
        if not inner:
            raise ExpressionError(f"there is nothing between the brackets of `${{}}` in {text!r:.120}")
        parts.append(Part(inner, True))
        at = end + 1
    if at < len(text):
        parts.append(Part(text[at:], False))
    return parts


def _end(text: str, start: int) -> int:
    """Where the bracket is that closes an expression."""
    depth = 0
    for word in _WORDS.finditer(text, start):
        bracket = word["bracket"]
        if bracket == "}" and depth == 0:
            return word.start()
        depth += {"{": 1, "}": -1}.get(bracket, 0)
    raise ExpressionError(f"`${{...}}` in {text!r:.120} has no end")
