"""Secrets covered up before text is shown."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import cast

__all__ = ["HIDDEN", "Veil", "veiled"]


HIDDEN = "***"

_SECRET_NAME = re.compile(
    r"(?i)(?<![a-z])(((api|access|private)_?key|secret|passw(or)?d|passphrase|credential)s?|token|authorization)$"
)
_SHORTEST = 8  # a shorter value is more likely a common word than a secret


class Veil:
    """Covers the values of those environment variables whose names speak of secrets (`..._API_KEY` ...)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        named = (os.environ if environment is None else environment).items()
        secrets = {value for name, value in named if len(value) >= _SHORTEST and _SECRET_NAME.search(name)}
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if secrets else None

    def over(self, text: str) -> str:
        """The text with such values covered."""
        return text if self._secrets is None else self._secrets.sub(HIDDEN, text)


def veiled(data: object) -> object:
    """JSON data in which what a secret's name stands before (`{"password": ...}`) is covered."""
    if isinstance(data, Mapping):
        named = cast("Mapping[str, object]", data).items()
        return {name: HIDDEN if _SECRET_NAME.search(name) else veiled(value) for name, value in named}
    if isinstance(data, list):
        return [veiled(one) for one in cast("Iterable[object]", data)]
    return data
