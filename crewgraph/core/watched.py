"""Whether anybody watches a run through LangChain's callbacks: traces, streams, handlers of the user's own."""

from collections.abc import Mapping
from typing import Any

__all__ = ["is_watched"]


def is_watched(config: Mapping[str, Any]) -> bool:
    """Whether a config carries callback handlers; runs that nobody sees need not be opened."""
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))
