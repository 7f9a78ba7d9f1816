"""A tool's name as hooks know it."""

import re
import unicodedata

__all__ = ["tool_key"]

_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def tool_key(name: str) -> str:
    """Small letters, digits and `_`, however the name is written: "Tide Table", "tide-table" and "TideTable" are `tide_table`."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9]+", "_", _HUMPS.sub("_", plain).lower()).strip("_")
