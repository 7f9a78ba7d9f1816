"""The texts of the prompts, by their public keys."""

import json
import re
from functools import cache
from importlib import resources
from typing import Any, cast

__all__ = ["Book", "english"]

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Book:
    """Texts with `{placeholders}`, in parts: "slices" tell a model what to do, "errors" what went wrong."""

    def __init__(self, texts: dict[str, dict[str, str]]) -> None:
        self._texts = texts

    def slice(self, key: str, **values: str) -> str:
        """A slice with its placeholders filled.

        Raises:
            KeyError: there is no such slice.
        """
        return _filled(self._texts["slices"][key], values)

    def error(self, key: str, **values: str) -> str:
        """What is told to a model about something that went wrong.

        Raises:
            KeyError: there is no such text.
        """
        return _filled(self._texts["errors"][key], values)


def _filled(text: str, values: dict[str, str]) -> str:
    # In one pass, so that what a value holds is never filled again.
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


@cache
def english() -> Book:
    """Our own wording."""
    found: Any = json.loads(resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8"))
    return Book(cast(dict[str, dict[str, str]], found))
