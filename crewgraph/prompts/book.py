"""The prompt texts by part and key."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import cast

from crewgraph.errors import UnknownPrompt

__all__ = ["Book", "Text", "english", "fill_placeholders"]

Text = str | dict[str, str]
"""A text with `{placeholders}`; for some tools a dict with a name, a description and a default."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def fill_placeholders(text: str, /, **values: str) -> str:
    """Fill the placeholders of a text; those without a value stay as they are."""
    if not values:
        return text
    # In a single pass, so that placeholders inside values are not filled.
    parts = _split(text)
    filled = list(parts)
    for position in range(1, len(parts), 2):
        name = parts[position]
        filled[position] = values.get(name, f"{{{name}}}")
    return "".join(filled)


@lru_cache(maxsize=512)
def _split(text: str) -> Sequence[str]:
    """Return the literal parts of a text and the names of the placeholders between them, in turn."""
    return _PLACEHOLDER.split(text)


class Book:
    """Prompt texts in parts: "slices" are instructions, "errors" explain failures, "tools" describe tools."""

    def __init__(self, texts: Mapping[str, Mapping[str, Text]]) -> None:
        self._texts = texts

    @property
    def parts(self) -> Mapping[str, Mapping[str, Text]]:
        """The texts by part and key."""
        return self._texts

    def slice(self, key: str, **values: str) -> str:
        """Return an instruction with its placeholders filled.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return fill_placeholders(str(self.text("slices", key)), **values)

    def error(self, key: str, **values: str) -> str:
        """Return an error message for a model with its placeholders filled.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return self.filled("errors", key, **values)

    def filled(self, part: str, key: str, **values: str) -> str:
        """Return a text of any part with its placeholders filled.

        Raises:
            UnknownPrompt: The part or key does not exist (also a KeyError).
        """
        return fill_placeholders(str(self.text(part, key)), **values)

    def text(self, part: str, key: str) -> Text:
        """Return a text without filling its placeholders.

        Raises:
            UnknownPrompt: The part or key does not exist (also a KeyError).
        """
        texts = self._texts.get(part)
        if texts is None:
            raise UnknownPrompt(f"the prompts have no part {part!r}; they have {', '.join(sorted(self._texts))}")
        if key not in texts:
            raise UnknownPrompt(f"the prompts have no text {key!r} in {part!r}; there are {', '.join(sorted(texts))}")
        return texts[key]

    def below(self, texts: Mapping[str, Mapping[str, Text]]) -> "Book":
        """Return a book in which other texts override these."""
        parts = {part: {**self._texts.get(part, {}), **texts.get(part, {})} for part in (*self._texts, *texts)}
        return Book(parts)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over part and key of every text."""
        return ((part, key) for part, texts in self._texts.items() for key in texts)


@cache
def english() -> Book:
    """Return the default texts."""
    texts: object = json.loads(resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8"))
    return Book(cast(dict[str, dict[str, Text]], texts))
