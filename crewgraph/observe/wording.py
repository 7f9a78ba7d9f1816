"""What events hold, as texts for a line."""

import json
from collections.abc import Mapping
from typing import Any, cast

from crewgraph.events.brief import attribute, brief
from crewgraph.observe.veil import veiled

__all__ = ["arguments", "part", "said"]


def arguments(values: object) -> str:
    """Arguments as they stand in a call, secrets covered."""
    values = veiled(brief(values))
    if not isinstance(values, Mapping):
        return str(values)
    named = cast("Mapping[str, object]", values).items()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in named)


def said(output: object) -> str:
    """An output's text."""
    raw = attribute(output, "raw")
    if raw is not None:
        return raw
    return output if isinstance(output, str) else json.dumps(brief(output), ensure_ascii=False)


def part(of: object, name: str) -> Any:
    """A part of something that may be an object or a dict."""
    if isinstance(of, Mapping):
        return cast("Mapping[str, object]", of).get(name)
    return getattr(of, name, None)
