"""The texts of the prompts, by their public keys."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import cast

from crewgraph.errors import UnknownPrompt

__all__ = ["Book", "Text", "english", "filled"]

Text = str | dict[str, str]
"""A text with `{placeholders}`; for some tools a name, a description and a default."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def filled(text: str, /, **values: str) -> str:
    """A text with its placeholders filled; others stay as they are."""
    # In one pass, so that what a value holds is never filled again.
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


class Book:
    """Texts in parts: "slices" tell a model what to do, "errors" what went wrong, "tools" what a tool is for."""

    def __init__(self, texts: Mapping[str, Mapping[str, Text]]) -> None:
        self._texts = texts

    @property
    def parts(self) -> Mapping[str, Mapping[str, Text]]:
        """The texts by part and key."""
        return self._texts

    def slice(self, key: str, **values: str) -> str:
        """A slice with its placeholders filled.

        Raises:
            UnknownPrompt: there is no such slice (also KeyError).
        """
        return self.filled("slices", key, **values)

    def error(self, key: str, **values: str) -> str:
        """What is told to a model about something that went wrong.

        Raises:
            UnknownPrompt: there is no such text (also KeyError).
        """
        return self.filled("errors", key, **values)

    def filled(self, part: str, key: str, **values: str) -> str:
        """A text of any part with its placeholders filled.

        Raises:
            UnknownPrompt: there is no such text (also KeyError).
        """
        return filled(str(self.text(part, key)), **values)

    def text(self, part: str, key: str) -> Text:
        """A text as it is written.

        Raises:
            UnknownPrompt: there is no such text (also KeyError).
        """
        texts = self._texts.get(part)
        if texts is None:
            raise UnknownPrompt(f"the prompts have no part {part!r}; they have {', '.join(sorted(self._texts))}")
        if key not in texts:
            raise UnknownPrompt(f"the prompts have no text {key!r} in {part!r}; there are {', '.join(sorted(texts))}")
        return texts[key]

    def below(self, texts: Mapping[str, Mapping[str, Text]]) -> "Book":
        """This book with other texts laid over its own."""
        parts = {part: {**self._texts.get(part, {}), **texts.get(part, {})} for part in (*self._texts, *texts)}
        return Book(parts)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Part and key of every text."""
        return ((part, key) for part, texts in self._texts.items() for key in texts)


@cache
def english() -> Book:
    """Our own wording."""
    found: object = json.loads(resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8"))
    return Book(cast(dict[str, dict[str, Text]], found))
