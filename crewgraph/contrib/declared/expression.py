"""Expressions of declared flows: CEL over the state and the outputs of methods."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from crewgraph.contrib.declared.cel import TemplatePart, evaluate_expression, parse_expression, split_template
from crewgraph.definitions.flow.state import CURRENT_WRITER, state_fields, state_id
from crewgraph.errors import ExpressionError
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping

__all__ = ["Expression", "ExpressionData", "flow_context", "flow_outputs"]

ExpressionData = JsonValue
"""JSON data whose texts may contain `${...}`."""


class Expression:
    """A CEL expression, or data whose texts contain expressions.

    Args:
        value: A CEL expression for `evaluate`; for `render_template`, data whose texts contain `${...}`.
        context: Values by name, used if `evaluate` or `render_template` gets none.
        now: Value of the name `now`. Expressions never read the clock themselves, so that a resumed run computes the same
            values.
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
