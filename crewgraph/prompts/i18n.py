"""The prompt texts as users read and override them, under CrewAI's keys."""

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, PrivateAttr, model_validator

from crewgraph.overrides import overridable, overrides_any
from crewgraph.prompts.book import Book, Text, default_book, read_texts

_READERS = {"slices": "slice", "errors": "errors", "tools": "tools", "memory": "memory"}
"""The method that reads the texts of each part; `retrieve` reads texts of any part."""

_OVERRIDABLE = ("retrieve", *_READERS.values())


class I18N(BaseModel):
    """The prompt texts: the defaults, overridden by those of a file.

        I18N().slice("role_playing")
        Crew(..., prompt_file="prompts.json")     # {"slices": {"role_playing": "You are {role}. {backstory} {goal}"}}

    Raises:
        pydantic.ValidationError: The file cannot be read, or does not contain texts by part and key.
    """

    prompt_file: str | None = None
    """A JSON file with texts by part and key, which override the defaults."""

    _book: Book | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _loaded(self) -> Self:
        return self.load_prompts()

    def load_prompts(self) -> Self:
        """Read the file again.

        Raises:
            ValueError: The file cannot be read, or does not contain texts by part and key.
        """
        self._book = None if self.prompt_file is None else default_book().below(read_texts(self.prompt_file))
        return self

    @property
    def book(self) -> Book:
        """The texts for filling prompts; reads them through this object if a subclass or patch overrides how."""
        return _I18NBook(self, self.texts) if overrides_any(self, _OVERRIDABLE) else self.texts

    @property
    def texts(self) -> Book:
        """The default texts, overridden by those of the file."""
        return default_book() if self.prompt_file is None or self._book is None else self._book

    @overridable
    def slice(self, slice: str) -> str:
        """Return an instruction without filling its placeholders.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return self.retrieve("slices", slice)

    @overridable
    def errors(self, error: str) -> str:
        """Return an error message for a model without filling its placeholders.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return self.retrieve("errors", error)

    @overridable
    def tools(self, tool: str) -> Text:
        """Return the text of a built-in tool.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return self.texts.text("tools", tool)

    @overridable
    def memory(self, key: str) -> str:
        """Return an instruction for the model that files or searches memories.

        Raises:
            UnknownPrompt: The key does not exist (also a KeyError).
        """
        return self.retrieve("memory", key)

    @overridable
    def retrieve(self, kind: str, key: str) -> str:
        """Return a text of any part without filling its placeholders.

        Args:
            kind: The part: "slices", "errors", "tools", "memory", "reasoning", "planning", "hierarchical_manager_agent".
            key: The key of the text.

        Raises:
            UnknownPrompt: The part or key does not exist (also a KeyError).
        """
        text: Any = self.texts.text(kind, key)
        return text


class _I18NBook(Book):
    """A book that reads its texts through an overridden `I18N`."""

    def __init__(self, i18n: I18N, texts: Book) -> None:
        super().__init__(texts.parts)
        self._i18n = i18n

    def text(self, part: str, key: str) -> Text:
        reader = _READERS.get(part)
        return self._i18n.retrieve(part, key) if reader is None else getattr(self._i18n, reader)(key)


@cache
def get_i18n(prompt_file: str | None = None) -> I18N:
    """Return the texts with those of a file, which is read once per process."""
    return I18N(prompt_file=prompt_file)


I18N_DEFAULT = I18N()
"""The default texts."""
