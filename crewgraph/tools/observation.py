"""How a model is shown what a tool returned."""

import json
from typing import Any

__all__ = ["Shown", "observation"]

Shown = tuple[str, list[dict[str, Any]]]
"""A text, and blocks with images beside it."""


def observation(result: Any) -> str:
    """Plain data as a text: a text as it is, anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
