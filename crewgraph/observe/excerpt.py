"""Text made fit to be looked at: on one line, without control characters, and not too long."""

import unicodedata

__all__ = ["elided", "excerpt", "legible", "passage"]


def elided(text: str, limit: int) -> str:
    """A name on one line, at most `limit` characters long."""
    name = " ".join(legible(text).split())
    return name if len(name) <= limit else f"{name[: limit - 3].rstrip()}..."


def excerpt(text: str, limit: int) -> str:
    """The text on one line; what goes beyond `limit` characters is cut, and it says how much that is."""
    return _cut(" ".join(legible(text).split()), limit)


def passage(text: str, limit: int) -> str:
    """The text with its lines; what goes beyond `limit` characters is cut, and it says how much that is."""
    return _cut("\n".join(line.rstrip() for line in legible(text).strip().splitlines()), limit)


def legible(text: str) -> str:
    r"""The text with its control characters shown (`\x1b`) in place of obeyed, but for tabs and line ends.

    What a model or a tool writes could else move the cursor, rewrite lines or turn text around.
    """
    if text.isprintable():
        return text
    return "".join(_shown(one) for one in text.replace("\r\n", "\n"))


def _shown(one: str) -> str:
    if one in "\n\t" or unicodedata.category(one) not in {"Cc", "Cs"} and one not in _TURNS:
        return one
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")


def _cut(text: str, limit: int) -> str:
    rest = len(text) - limit
    return text if rest <= 0 else f"{text[:limit].rstrip()} ... [+{rest:,} characters]"


_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they change the direction of writing
