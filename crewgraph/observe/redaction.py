"""Redaction of secrets in texts that are shown or logged."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import cast

__all__ = ["REDACTED", "SecretRedactor", "redact_fields"]


REDACTED = "***"

_SECRET_NAME = re.compile(
    r"(?i)(?<![a-z])(((api|access|private)_?key|secret|passw(or)?d|passphrase|credential)s?|token|authorization)$"
)
_MIN_LENGTH = 8  # a shorter value is more likely a common word than a secret


class SecretRedactor:
    """Redacts the values of environment variables that are named like secrets (`..._API_KEY` ...)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        variables = (os.environ if environment is None else environment).items()
        secrets = {value for name, value in variables if len(value) >= _MIN_LENGTH and _SECRET_NAME.search(name)}
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if secrets else None

    def redact(self, text: str) -> str:
        """Return a text with the secrets replaced."""
        return text if self._secrets is None else self._secrets.sub(REDACTED, text)


def redact_fields(data: object) -> object:
    """Return JSON data with the values of keys named like secrets (`{"password": ...}`) replaced."""
    if isinstance(data, Mapping):
        items = cast("Mapping[str, object]", data).items()
        return {name: REDACTED if _SECRET_NAME.search(name) else redact_fields(value) for name, value in items}
    if isinstance(data, list):
        return [redact_fields(item) for item in cast("Iterable[object]", data)]
    return data
