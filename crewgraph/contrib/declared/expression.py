"""Expressions of declared flows: CEL on the state and on what methods returned."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from crewgraph.contrib.declared.cel import Part, evaluated, parsed, parts_of, roots_of
from crewgraph.definitions.flow.state import CURRENT_WRITER, state_fields, state_id
from crewgraph.errors import ExpressionError

__all__ = ["Expression", "ExpressionData", "context_of", "outputs_of"]

ExpressionData = JsonValue
"""Texts, which may hold `${...}`, and whatever else JSON has, with such texts in it."""


class Expression:
    """An expression, or data whose texts hold some.

    Args:
        value: a CEL expression for `evaluate`; for `render_template` data whose texts hold `${...}`.
        context: what the names stand for, where `evaluate` and `render_template` are not told.
        now: what the name `now` stands for. Expressions do not read the clock by themselves, so that a run that goes on comes
            to the same.
    """

    def __init__(
        self, value: ExpressionData, *, context: dict[str, Any] | None = None, now: datetime | None = None
    ) -> None:
        self.value = value
        self.context = context
        self._now = now

    @classmethod
    def from_flow(
        cls, value: ExpressionData, flow: Any, *, local_context: dict[str, Any] | None = None
    ) -> "Expression":
        """An expression on what a flow holds: `state`, and `outputs` by the names of methods.

        Args:
            value: the expression.
            flow: the flow; inside of a method that of its run.
            local_context: what else there is; its `outputs` stand beside those of the flow.
        """
        return cls(value, context=context_of(flow, local_context or {}))

    def evaluate(self, context: dict[str, Any] | None = None) -> Any:
        """What the expression comes to, as plain data.

        Args:
            context: what its names stand for; that of the constructor where None.

        Raises:
            ExpressionError: it is no expression, or has no value.
        """
        return _value(self._text(), self._scope(context))

    def render_template(self, context: dict[str, Any] | None = None) -> Any:
        """The data, with values in the place of `${...}`.

        A text that is one expression becomes its value, whatever that is; in other texts values stand as text, those that are
        none as JSON, and null as nothing.

        Args:
            context: what names stand for; that of the constructor where None.

        Raises:
            ExpressionError: an expression cannot be read, or has no value.
        """
        return _rendered(self.value, self._scope(context))

    def validate_expression(self, *, allowed_roots: Iterable[str], source: str = "CEL expression") -> None:
        """See whether it is an expression on these names.

        Args:
            allowed_roots: the names.
            source: where it stands, for messages.

        Raises:
            ExpressionError: it is none, or names something else.
        """
        _check(self._text(), frozenset(allowed_roots), source)

    def validate_template(self, *, allowed_roots: Iterable[str], source: str = "with block") -> None:
        """See whether all expressions in the data are some, on these names; see `validate_expression`."""
        roots = frozenset(allowed_roots)
        for text, place in _texts(self.value, source):
            try:
                parts = parts_of(text)
            except ExpressionError as error:
                raise ExpressionError(f"{place}: {error}") from error
            for part in parts:
                if part.is_expression:
                    _check(part.text, roots, place)

    def _text(self) -> str:
        """The expression; `${...}` around it says nothing more."""
        if not isinstance(self.value, str):
            raise ExpressionError(f"{self.value!r:.80} is no expression; give a text")
        text = self.value.strip()
        parts = parts_of(text) if text.startswith("${") else []
        return parts[0].text if len(parts) == 1 and parts[0].is_expression else text

    def _scope(self, context: dict[str, Any] | None) -> dict[str, Any]:
        scope = context if context is not None else self.context or {}
        return scope if self._now is None else {**scope, "now": self._now}


def context_of(flow: Any, local: Mapping[str, Any]) -> dict[str, Any]:
    """What expressions on a flow may name, as plain data.

    Args:
        flow: the flow.
        local: what there is besides, as `item`.
    """
    outputs = {**outputs_of(flow), **local.get("outputs", {})}
    state = flow.state
    whole = {**local, "state": {**state_fields(state), "id": state_id(state)}, "outputs": outputs}
    return to_jsonable_python(whole, serialize_unknown=True, bytes_mode="base64", inf_nan_mode="constants")


def outputs_of(flow: Any) -> dict[str, Any]:
    """What the methods of a flow's run returned last, by their names: of the run around the running code, else of the last."""
    running: Any = CURRENT_WRITER.get()
    run: Any = running.run if running is not None and running.run.flow is flow else flow.last_run()
    return dict(run.said) if run is not None else {}


def _value(text: str, scope: Mapping[str, Any]) -> Any:
    try:
        return evaluated(parsed(text), scope)
    except ExpressionError as error:
        raise ExpressionError(f"`{text}` has no value: {error}") from error


def _check(text: str, roots: frozenset[str], source: str) -> None:
    try:
        unknown = roots_of(parsed(text)) - roots
    except ExpressionError as error:
        raise ExpressionError(f"{source}: {error}") from error
    if unknown:
        told, known = (", ".join(f"`{name}`" for name in sorted(names)) for names in (unknown, roots))
        raise ExpressionError(
            f"{source}: there is no {told}; an expression may name {known}, as in `state.topic` or `outputs.method`"
        )


def _rendered(value: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _filled(value, scope)
    if isinstance(value, list):
        return [_rendered(one, scope) for one in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _rendered(one, scope) for key, one in cast("Mapping[str, Any]", value).items()}
    return value


def _filled(text: str, scope: Mapping[str, Any]) -> Any:
    parts = parts_of(text.strip())
    if len(parts) == 1 and parts[0].is_expression:
        return _value(parts[0].text, scope)
    return "".join(_shown(part, scope) for part in parts_of(text))


def _shown(part: Part, scope: Mapping[str, Any]) -> str:
    if not part.is_expression:
        return part.text
    value = _value(part.text, scope)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield value, place
    elif isinstance(value, list):
        for number, one in enumerate(cast("list[Any]", value)):
            yield from _texts(one, f"{place}[{number}]")
    elif isinstance(value, Mapping):
        for key, one in cast("Mapping[str, Any]", value).items():
            yield from _texts(one, f"{place}.{key}")
