"""The prompt texts as users read and override them, under CrewAI's keys."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

from pydantic import BaseModel, PrivateAttr, model_validator

from crewgraph.overrides import overridable, overrides_any
from crewgraph.prompts.book import Book, Text, english

__all__ = ["I18N", "I18N_DEFAULT", "WITHOUT_EFFECT", "get_i18n"]

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


_READERS = {"slices": "slice", "errors": "errors", "tools": "tools", "memory": "memory"}
"""The method that reads the texts of each part; `retrieve` reads texts of any part."""


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
        self._book = None if self.prompt_file is None else english().below(_read(self.prompt_file))
        return self

    @property
    def book(self) -> Book:
        """The texts for filling prompts; reads them through this object if a subclass or patch overrides how."""
        return _I18NBook(self, self.texts) if self.is_overridden else self.texts

    @property
    def texts(self) -> Book:
        """The default texts, overridden by those of the file."""
        return english() if self.prompt_file is None or self._book is None else self._book

    @property
    def is_overridden(self) -> bool:
        """Whether a subclass or a patch overrides how texts are read."""
        return overrides_any(self, ("retrieve", "slice", "errors", "tools", "memory"))

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
        return cast(str, self.texts.text(kind, key))


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


def _read(path: str) -> dict[str, dict[str, Text]]:
    try:
        content: object = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"cannot read the prompt file {path!r}: {error}") from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise ValueError(f"the prompt file {path!r} is not valid JSON: {error}") from error
    if not isinstance(content, dict) or not all(_is_part(part) for part in cast(dict[str, Any], content).values()):
        raise ValueError(
            f"the prompt file {path!r} does not contain texts by part and key, such as "
            '{"slices": {"role_playing": "You are {role}. ..."}}'
        )
    texts = cast(dict[str, dict[str, Text]], content)
    _warn_without_effect(path, texts)
    return texts


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    texts = cast(dict[str, Any], part).values()
    return all(isinstance(text, str) or (isinstance(text, dict) and _is_part(text)) for text in texts)


def _warn_without_effect(path: str, texts: dict[str, dict[str, Text]]) -> None:
    defaults = english()
    known = set(defaults) - WITHOUT_EFFECT
    unused = [
        f"{part}.{key}"
        for part, key in Book(texts)
        if (part, key) not in known
        and not ((part, key) in WITHOUT_EFFECT and texts[part][key] == defaults.text(part, key))
    ]
    if unused:
        message = f"the prompt file {path!r} contains texts that are not used and have no effect: {', '.join(unused)}"
        warnings.warn(message, UserWarning, stacklevel=2)
