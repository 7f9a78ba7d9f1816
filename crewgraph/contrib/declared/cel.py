"""CEL expressions and `${...}` templates, parsed and evaluated with `cel-python`."""

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

__all__ = [
    "ParsedExpression",
    "TemplatePart",
    "evaluate_expression",
    "expression_labels",
    "parse_expression",
    "split_template",
]

_MACROS = {"all": 1, "exists": 1, "exists_one": 1, "filter": 1, "map": 1, "reduce": 2}
"""Macros over lists and maps, and the number of variables each binds; each takes as many expressions again."""

_CONTAINERS = ("list_lit", "map_lit")
_STRINGS = ("STRING_LIT", "MLSTRING_LIT")

_CLASS = re.compile(r"<class '(?:celpy\.celtypes\.)?(\w+?)(?:Type)?'>")
_RULE = re.compile(r"Token\('RULE', '(\w+)'\)")

_lock = Lock()


@dataclass(frozen=True, eq=False)
class ParsedExpression:
    """A parsed expression, safe to evaluate in several threads at once."""

    tree: "Tree[Any]"
    program: Any
    roots: frozenset[str]
    """The names that it reads from its scope."""


@lru_cache(2_000)
def parse_expression(source: str) -> ParsedExpression:
    """Parse an expression.

    Raises:
        ExpressionError: If the text is empty or not valid CEL.
        MissingExtra: If `cel-python` is not installed.
    """
    if not source.strip():
        raise ExpressionError("the expression is empty; write one such as `state.topic` or `outputs.method`")
    celpy = _celpy()
    with _lock:  # all environments share one parser
        environment = _environment(celpy)
        try:
            tree = environment.compile(source)
        except celpy.CELParseError as error:
            raise ExpressionError(
                f"{source.strip()!r:.200} is not a CEL expression: syntax error at line {error.line}, "
                f"character {error.column}"
            ) from error
    try:
        return ParsedExpression(tree, environment.program(tree), _root_names(tree))
    except ExpressionError as error:
        raise ExpressionError(f"{source.strip()!r:.200} is not a CEL expression: {error}") from error


def evaluate_expression(expression: ParsedExpression, scope: Mapping[str, object]) -> Any:
    """Evaluate an expression to JSON data: timestamps and durations as text, bytes in base64, keys as text.

    Args:
        expression: The expression.
        scope: Values by name: plain data, datetimes and timedeltas.

    Raises:
        ExpressionError: If evaluation fails.
    """
    celpy = _celpy()
    try:
        activation = {name: celpy.json_to_cel(scope[name]) for name in expression.roots if name in scope}
        return json.loads(celpy.CELJSONEncoder().encode(expression.program.evaluate(activation)))
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply") from error
    except Exception as error:  # the evaluator raises errors of Python, too
        raise ExpressionError(_describe(error, expression.roots, scope)) from error


def expression_labels(expression: ParsedExpression) -> list[str]:
    """Return the string literals that an expression may evaluate to, following its ternaries."""
    labels: list[str] = []
    pending: list[Any] = [expression.tree]
    while pending:
        node = pending.pop()
        children = node.children
        if node.data == "expr" and len(children) == 3:
            pending += [children[2], children[1]]
        elif len(children) == 1 and _is_tree(children[0]) and node.data not in _CONTAINERS:
            pending.append(children[0])
        elif node.data == "literal" and children[0].type in _STRINGS:
            labels.append(evaluate_expression(parse_expression(str(children[0])), {}))
    return labels


def _celpy() -> ModuleType:
    return require("celpy", extra="declared", purpose="an expression of a declared flow")


def _environment(celpy: ModuleType) -> Any:
    """Return a CEL environment; creating one may lower the recursion limit, which is undone."""
    limit = sys.getrecursionlimit()
    environment = celpy.Environment()
    sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))
    return environment


def _root_names(tree: "Tree[Any]") -> frozenset[str]:
    roots: set[str] = set()
    pending: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, bound = pending.pop()
        children = node.children
        if node.data in ("ident", "dot_ident"):
            roots |= {str(children[0])} - bound
        elif node.data == "member_dot_arg" and children[1] in _MACROS:
            arguments: list[Any] = children[2].children if len(children) == 3 else []
            inner = bound | _macro_variables(str(children[1]), arguments)
            pending += [(children[0], bound), *((argument, inner) for argument in arguments)]
        else:
            pending += [(child, bound) for child in children if _is_tree(child)]
    return frozenset(roots)


def _macro_variables(macro: str, arguments: list[Any]) -> frozenset[str]:
    """Return the names of the variables that a macro binds."""
    count = _MACROS[macro]
    names = [_root_names(argument) for argument in arguments[:count]]
    if len(arguments) != 2 * count or any(len(roots) != 1 for roots in names):
        example = "reduce(sum, x, 0, sum + x)" if count == 2 else f"{macro}(x, x > 1)"
        raise ExpressionError(f"`{macro}` takes variable names, and as many expressions: `{example}`")
    return frozenset[str]().union(*names)


def _is_tree(node: Any) -> bool:
    return hasattr(node, "children")


def _describe(error: Exception, roots: frozenset[str], scope: Mapping[str, object]) -> str:
    """Describe an evaluation error in terms of the expression."""
    message, *details = error.args or (type(error).__name__,)
    text, is_name, _ = str(message).partition(" (in activation")
    if is_name:
        name = text.split("'")[1]
        names: Iterable[str] = scope if name in roots else _celpy().evaluation.base_functions
        available = ", ".join(sorted(item for item in names if item[:1].isalpha())) or "none"
        return f"there is no {'' if name in roots else 'function '}`{name}`; available: {available}"
    if text.startswith("found no matching overload"):
        text += "; both operands must have the same type: convert with int(), double() or string()"
    elif len(details) == 2 and details[1] and str(details[1][0]) not in text:  # type and arguments of the cause
        text += f": {details[1][0]}"
    return _CLASS.sub(lambda match: match[1].lower(), _RULE.sub(r"`\1`", text))


_OPENING = "${"

_TOKENS = re.compile(
    r"""
      //[^\n]*
    | [rR]?(?P<long>\"{3}|'{3})(?:\\.|[^\\])*?(?P=long)
    | [rR]?(?P<quote>["'])(?:\\.|[^\\\n])*?(?P=quote)
    | (?P<bracket>[{}])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Comments and string literals, whose braces do not count, and braces."""


@dataclass(frozen=True)
class TemplatePart:
    """A literal piece of a template, or an expression in it."""

    text: str
    is_expression: bool


def split_template(text: str) -> list[TemplatePart]:
    """Split a template into its parts, in order.

    Raises:
        ExpressionError: If an expression in it is empty or unterminated.
    """
    parts: list[TemplatePart] = []
    position = 0
    while (start := text.find(_OPENING, position)) >= 0:
        if start > position:
            parts.append(TemplatePart(text[position:start], False))
        end = _end(text, start + len(_OPENING))
        source = text[start + len(_OPENING) : end].strip()
        if not source:
            raise ExpressionError(f"`${{}}` is empty in {text!r:.120}")
        parts.append(TemplatePart(source, True))
        position = end + 1
    if position < len(text):
        parts.append(TemplatePart(text[position:], False))
    return parts


def _end(text: str, start: int) -> int:
    """Return the position of the brace that closes an expression."""
    depth = 0
    for token in _TOKENS.finditer(text, start):
        bracket = token["bracket"]
        if bracket == "}" and depth == 0:
            return token.start()
        depth += {"{": 1, "}": -1}.get(bracket, 0)
    raise ExpressionError(f"`${{...}}` is not closed in {text!r:.120}")
