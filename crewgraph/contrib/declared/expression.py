"""Expressions of declared flows: CEL over the state and the outputs of methods."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from types import ModuleType
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from crewgraph.definitions.flow.state import CURRENT_WRITER, state_fields, state_id
from crewgraph.errors import ExpressionError
from crewgraph.extras import require
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping

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

    tree: Any
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
        now = {"now": lambda: celpy.celtypes.TimestampType(datetime.now(UTC))}
        return ParsedExpression(tree, environment.program(tree, functions=now), _root_names(tree))
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
        result = expression.program.evaluate(activation)
        if (error := next(_errors(result, celpy.CELEvalError), None)) is not None:  # a part that has no value
            raise error
        return json.loads(celpy.CELJSONEncoder().encode(result))
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply") from error
    except Exception as error:  # the evaluator raises errors of Python, too
        raise ExpressionError(_describe(error, expression.roots, scope)) from error


def _errors(value: Any, kind: type) -> Iterator[Any]:
    """Yield the errors that a list or a map holds in place of values."""
    if isinstance(value, kind):
        yield value
    elif is_list(value) or is_mapping(value):
        for part in (*value.keys(), *value.values()) if is_mapping(value) else value:
            yield from _errors(part, kind)


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


def _root_names(tree: Any) -> frozenset[str]:
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
    if "CELEvalError" in text:
        text = f"{text.partition(' applied to ')[0]}: a part of it has no value, such as a field that does not exist"
    elif text.startswith("found no matching overload"):
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


ExpressionData = JsonValue
"""JSON data whose texts may contain `${...}`."""


class Expression:
    """A CEL expression, or data whose texts contain expressions.

    Args:
        value: A CEL expression for `evaluate`; for `render_template`, data whose texts contain `${...}`.
        context: Values by name, used if `evaluate` or `render_template` gets none.
        now: Value of the name `now`. The function `now()` reads the clock; a method that completed is not evaluated again when
            a run is resumed.
    """

    def __init__(self, value: ExpressionData, *, context: PlainDict | None = None, now: datetime | None = None) -> None:
        self.value = value
        self.context = context
        self._now = now

    @classmethod
    def from_flow(cls, value: ExpressionData, flow: object, *, local_context: PlainDict | None = None) -> "Expression":
        """Create an expression over a flow's `state` and the `outputs` of its methods.

        Args:
            value: The expression or template.
            flow: The flow; inside a method, the one of the running run.
            local_context: Further names; its `outputs` are merged into those of the flow.
        """
        return cls(value, context=flow_context(flow, local_context or {}))

    def evaluate(self, context: PlainDict | None = None) -> Any:
        """Evaluate the expression to plain data.

        Args:
            context: Values by name; None uses the context of the constructor.

        Raises:
            ExpressionError: If it is not valid CEL, or evaluation fails.
        """
        return _value(self._text(), self._scope(context))

    def render_template(self, context: PlainDict | None = None) -> Any:
        """Return the data with every `${...}` replaced by its value.

        A text that is a single expression becomes its value, of any type. In other texts, values that are not text are
        inserted as JSON, and null as nothing.

        Args:
            context: Values by name; None uses the context of the constructor.

        Raises:
            ExpressionError: If an expression is not valid CEL, or evaluation fails.
        """
        return _rendered_value(self.value, self._scope(context))

    def validate_expression(self, *, allowed_roots: Iterable[str], source: str = "CEL expression") -> None:
        """Check that the expression is valid and reads only the allowed names.

        Args:
            allowed_roots: The allowed names.
            source: Its place in the declaration, for error messages.

        Raises:
            ExpressionError: If it is not valid CEL, or reads another name.
        """
        _check(self._text(), frozenset(allowed_roots), source)

    def validate_template(self, *, allowed_roots: Iterable[str], source: str = "with block") -> None:
        """Check every expression in the data; see `validate_expression`."""
        roots = frozenset(allowed_roots)
        for text, place in _texts(self.value, source):
            try:
                parts = split_template(text)
            except ExpressionError as error:
                raise ExpressionError(f"{place}: {error}") from error
            for part in parts:
                if part.is_expression:
                    _check(part.text, roots, place)

    def _text(self) -> str:
        """Return the expression, without the `${...}` that may enclose it."""
        if not isinstance(self.value, str):
            raise ExpressionError(f"{self.value!r:.80} is not an expression; pass a string")
        text = self.value.strip()
        parts = split_template(text) if text.startswith("${") else []
        return parts[0].text if len(parts) == 1 and parts[0].is_expression else text

    def _scope(self, context: dict[str, object] | None) -> dict[str, object]:
        scope = context if context is not None else self.context or {}
        return scope if self._now is None else {**scope, "now": self._now}


def flow_context(flow: Any, local: PlainMapping) -> PlainDict:
    """Return the names in scope for a flow's expressions, with their values as plain data.

    Args:
        flow: The flow.
        local: Further names, such as `item`.
    """
    outputs = {**flow_outputs(flow), **local.get("outputs", {})}
    state = flow.state
    context = {**local, "state": {**state_fields(state), "id": state_id(state)}, "outputs": outputs}
    return to_jsonable_python(context, serialize_unknown=True, bytes_mode="base64", inf_nan_mode="constants")


def flow_outputs(flow: Any) -> PlainDict:
    """Return the latest outputs of a flow's methods by name, from the current run, else from the last one."""
    writer: Any = CURRENT_WRITER.get()
    run: Any = writer.run if writer is not None and writer.run.flow is flow else flow.last_run()
    return dict(run.results_by_method) if run is not None else {}


def _value(text: str, scope: Mapping[str, object]) -> Any:
    try:
        return evaluate_expression(parse_expression(text), scope)
    except ExpressionError as error:
        raise ExpressionError(f"`{text}` has no value: {error}") from error


def _check(text: str, roots: frozenset[str], source: str) -> None:
    try:
        unknown = parse_expression(text).roots - roots
    except ExpressionError as error:
        raise ExpressionError(f"{source}: {error}") from error
    if unknown:
        missing, known = (", ".join(f"`{name}`" for name in sorted(names)) for names in (unknown, roots))
        raise ExpressionError(
            f"{source}: there is no {missing}; an expression may read {known}, as in `state.topic` or `outputs.method`"
        )


def _rendered_value(value: Any, scope: Mapping[str, object]) -> object:
    if isinstance(value, str):
        return _render_text(value, scope)
    if is_list(value):
        return [_rendered_value(item, scope) for item in value]
    if is_mapping(value):
        return {key: _rendered_value(item, scope) for key, item in value.items()}
    return value


def _render_text(text: str, scope: Mapping[str, object]) -> object:
    parts = split_template(text.strip())
    if len(parts) == 1 and parts[0].is_expression:
        return _value(parts[0].text, scope)
    return "".join(_render_part(part, scope) for part in split_template(text))


def _render_part(part: TemplatePart, scope: Mapping[str, object]) -> str:
    if not part.is_expression:
        return part.text
    value = _value(part.text, scope)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield value, place
    elif is_list(value):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]")
    elif is_mapping(value):
        for key, item in value.items():
            yield from _texts(item, f"{place}.{key}")
