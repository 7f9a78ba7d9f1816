"""Guardrails: functions that accept or refuse a task's output."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Self, cast, get_args, get_origin

from pydantic import BaseModel, model_validator

from crewgraph.definitions.output import TaskOutput

__all__ = ["Guardrail", "GuardrailResult", "Guardrails", "checked_guardrail"]

Guardrail = Callable[[TaskOutput], Any] | str
"""A function of the output that returns `(accepted, result or reason)`, or a text that a model judges by."""


Guardrails = Sequence[Guardrail] | Guardrail
"""One of them, or several in order."""


class GuardrailResult(BaseModel):
    """What a guardrail said."""

    success: bool
    """Whether the output was accepted."""

    result: Any | None = None
    """Accepted: what replaces the output, a text or a `TaskOutput`; None keeps it."""

    error: str | None = None
    """Refused: why, told to the agent."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.success and self.error:
            raise ValueError("an accepted output has no error; give the replacement as `result`")
        if not self.success and self.result:
            raise ValueError("a refused output has no result; give the reason as `error`")
        return self

    @classmethod
    def from_tuple(cls, result: Any) -> Self:
        """Read what a guardrail function returned.

        Raises:
            TypeError: it is not a pair of a bool and something.
        """
        if isinstance(result, cls):
            return result
        pair = cast(Sequence[Any], result) if isinstance(result, (tuple, list)) else ()
        if len(pair) != 2 or not isinstance(pair[0], bool):
            raise TypeError(
                f"a guardrail returns `(True, result)` or `(False, reason)`, but this one returned {_told(result)}"
            )
        accepted, data = pair
        if accepted:
            return cls(success=True, result=data)
        return cls(success=False, error=str(data) if data else "refused without a reason")


def _told(value: Any) -> str:
    text = repr(value)
    return f"{text[:80]}... ({type(value).__name__})" if len(text) > 80 else f"{text} ({type(value).__name__})"


def checked_guardrail(value: Any) -> Any:
    """A guardrail as it was given, if its signature can work.

    Raises:
        ValueError: it is neither a function nor a text, takes not one argument, or declares to return something else than a
            pair that starts with a bool.
    """
    if value is None or isinstance(value, str):
        return value
    if not callable(value):
        raise ValueError(f"a guardrail is a function of the task's output or a text, not {_told(value)}")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # builtins have none
        return value
    required = [
        p
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) > 1 or not (positional or takes_any):
        raise ValueError(f"a guardrail takes one argument, the task's output; `{_name(value)}` takes {len(required)}")
    declared = signature.return_annotation
    if declared is not signature.empty and not isinstance(declared, str) and not _is_pair(declared):
        raise ValueError(
            f"a guardrail returns `tuple[bool, Any]`; `{_name(value)}` declares to return `{inspect.formatannotation(declared)}`"
        )
    return value


def _is_pair(declared: Any) -> bool:
    if declared is tuple or declared is Any or declared is GuardrailResult:
        return True
    parts = get_args(declared)
    return get_origin(declared) is tuple and len(parts) == 2 and parts[0] is bool


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
