"""Names of collections, as ChromaDB takes them."""

import re

__all__ = [
    "DEFAULT_COLLECTION",
    "INVALID_CHARS_PATTERN",
    "IPV4_PATTERN",
    "MAX_COLLECTION_LENGTH",
    "MIN_COLLECTION_LENGTH",
    "collection_name",
    "is_ipv4_pattern",
]

DEFAULT_COLLECTION = "default_collection"
MIN_COLLECTION_LENGTH = 3
MAX_COLLECTION_LENGTH = 63
INVALID_CHARS_PATTERN = re.compile(r"[^a-zA-Z0-9_-]")
IPV4_PATTERN = re.compile(r"^(\d{1,3}\.){3}\d{1,3}$")


def is_ipv4_pattern(name: str) -> bool:
    """Whether a name looks like an address, which ChromaDB refuses."""
    return IPV4_PATTERN.match(name) is not None


def collection_name(name: str | None, max_collection_length: int = MAX_COLLECTION_LENGTH) -> str:
    """A name that ChromaDB takes: letters, digits, `_` and `-`, with a letter or digit at both ends, of a fitting length.

    Args:
        name: any text; nothing gives the default collection's.
        max_collection_length: how many characters it has at most.
    """
    if not name:
        return DEFAULT_COLLECTION
    fitting = INVALID_CHARS_PATTERN.sub("_", f"ip_{name}" if is_ipv4_pattern(name) else name)
    if not fitting[0].isalnum():
        fitting = f"a{fitting}"
    fitting = _ended(fitting).ljust(MIN_COLLECTION_LENGTH, "x")
    return _ended(fitting[:max_collection_length])


def _ended(name: str) -> str:
    return name if name[-1].isalnum() else f"{name[:-1]}z"
