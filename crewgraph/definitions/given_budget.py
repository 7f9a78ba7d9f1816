"""Budgets of a run as users give them to crews."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

__all__ = ["BUDGETS", "GivenBudget", "GivenTokens", "checked_budget"]

BUDGETS = ("max_tokens", "max_cost", "max_seconds")
"""The fields of a crew."""

_UNITS = {"max_tokens": "tokens", "max_cost": "USD", "max_seconds": "seconds"}


def checked_budget(name: str, value: Any) -> Any:
    """What was given, if it can bound anything.

    Raises:
        ValueError: it is no positive number, or for tokens no whole one.
    """
    if value is None:
        return None
    whole = name == "max_tokens"
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        kind = "a whole number above 0" if whole else "a number above 0"
        raise ValueError(f"`{name}` is {kind}, in {_UNITS[name]}, or None for no bound; not {value!r:.60}")
    return value


def _checked(value: Any, info: ValidationInfo) -> Any:
    return checked_budget(str(info.field_name), value)


GivenTokens = Annotated[int | None, BeforeValidator(_checked)]
"""How many tokens, at least 1; None sets no bound."""

GivenBudget = Annotated[int | float | None, BeforeValidator(_checked)]
"""How much, above 0; None sets no bound."""
