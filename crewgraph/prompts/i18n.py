"""The prompt texts by part and key, and as users read and override them, under CrewAI's keys."""

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, PrivateAttr, model_validator

from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import UnknownPrompt
from crewgraph.overrides import overridable, overrides_any
from crewgraph.schema import is_object
from crewgraph.settings import prompts_file

_UNUSED_KEYS = {
    "slices": "native_task observation format format_without_tools final_answer_format",
    "errors": (
        "force_final_answer_error task_repeated_usage tool_usage_error tool_arguments_error wrong_tool_name "
        "tool_usage_exception"
    ),
    "tools": "add_image code_interpreter",
}

WITHOUT_EFFECT = frozenset((part, key) for part, keys in _UNUSED_KEYS.items() for key in keys.split())
"""Texts that can be read but are not used in any prompt; overriding one causes a warning."""

Text = str | dict[str, str]
"""A text with `{placeholders}`; for some tools a dict with a name, a description and a default."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def fill_placeholders(text: str, /, **values: str) -> str:
    """Fill the placeholders of a text; those without a value stay as they are."""
    return _filled(text, values)


def _filled(text: str, values: Mapping[str, str]) -> str:
    if not values:
        return text
    # In a single pass, so that placeholders inside values are not filled.
    parts = _placeholder_parts(text)
    filled = list(parts)
    for position in range(1, len(parts), 2):
        name = parts[position]
        filled[position] = values.get(name, f"{{{name}}}")
    return "".join(filled)


@lru_cache(maxsize=512)
def _placeholder_parts(text: str) -> Sequence[str]:
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
        return _filled(str(self.text("slices", key)), values)

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
        return _filled(str(self.text(part, key)), values)

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


def default_book() -> Book:
    """Return the default texts: the built-in ones, with those of the file that `CREWGRAPH_PROMPTS` names in their place.

    The file is read once per process.

    Raises:
        ValueError: The file cannot be read, or does not contain texts by part and key.
    """
    file = prompts_file()
    return builtin_book() if file is None else _book_of(str(file))


@cache
def builtin_book() -> Book:
    """Return the built-in texts."""
    return Book(json.loads(resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8")))


@cache
def _book_of(file: str) -> Book:
    return builtin_book().below(read_texts(file))


def read_texts(path: str) -> dict[str, dict[str, Text]]:
    """Read a file of texts that replace the built-in ones; warns of those that no prompt uses.

    Raises:
        ValueError: The file cannot be read, or does not contain texts by part and key.
    """
    try:
        content: object = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"cannot read the prompt file {path!r}: {error}") from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise ValueError(f"the prompt file {path!r} is not valid JSON: {error}") from error
    if not is_object(content) or not all(map(_holds_texts, content.values())):
        raise ValueError(
            f"the prompt file {path!r} does not contain texts by part and key, such as "
            '{"slices": {"role_playing": "You are {role}. ..."}}'
        )
    _warn_without_effect(path, content)
    return content


def _holds_texts(part: object) -> bool:
    return is_object(part) and all(isinstance(text, str) or _holds_texts(text) for text in part.values())


def _warn_without_effect(path: str, texts: dict[str, dict[str, Text]]) -> None:
    builtin = builtin_book()
    known = set(builtin) - WITHOUT_EFFECT
    unused = [
        f"{part}.{key}"
        for part, key in Book(texts)
        if (part, key) not in known
        and not ((part, key) in WITHOUT_EFFECT and texts[part][key] == builtin.text(part, key))
    ]
    if unused:
        message = f"the prompt file {path!r} contains texts that are not used and have no effect: {', '.join(unused)}"
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())


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
