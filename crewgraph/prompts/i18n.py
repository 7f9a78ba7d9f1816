"""The texts of the prompts as users read and replace them, by the keys that CrewAI's programs know."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

from pydantic import BaseModel, PrivateAttr, model_validator

from crewgraph.overrides import overridable, override_of
from crewgraph.prompts.book import Book, Text, english

__all__ = ["I18N", "I18N_DEFAULT", "WITHOUT_EFFECT", "get_i18n"]

_WITHOUT_EFFECT = {
    "slices": "native_task observation format format_without_tools final_answer_format",
    "errors": (
        "force_final_answer_error task_repeated_usage tool_usage_error tool_arguments_error wrong_tool_name "
        "tool_usage_exception"
    ),
    "tools": "add_image code_interpreter",
}

WITHOUT_EFFECT = frozenset((part, key) for part, keys in _WITHOUT_EFFECT.items() for key in keys.split())
"""Texts that can be read and that no prompt is made of yet: replacing one is told to be without effect."""


_VERBS = {"slices": "slice", "errors": "errors", "tools": "tools", "memory": "memory"}
"""Parts to the verbs that read their texts; `retrieve` reads those of all."""


class I18N(BaseModel):
    """The texts that prompts are made of: our own, with those of a file laid over them.

        I18N().slice("role_playing")
        Crew(..., prompt_file="prompts.json")     # {"slices": {"role_playing": "You are {role}. {backstory} {goal}"}}

    Raises:
        pydantic.ValidationError: the file cannot be read, or holds something else than texts by part and key.
    """

    prompt_file: str | None = None
    """A JSON file with texts that replace ours, by part and key; what it leaves out stays as it is."""

    _book: Book | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _loaded(self) -> Self:
        return self.load_prompts()

    def load_prompts(self) -> Self:
        """Read the file again.

        Raises:
            ValueError: it cannot be read, or holds something else than texts by part and key.
        """
        self._book = None if self.prompt_file is None else english().below(_read(self.prompt_file))
        return self

    @property
    def book(self) -> Book:
        """The texts, for those who fill them: asked of the class, where it has a way of its own to find one."""
        return _Asked(self, self.texts) if self.is_own else self.texts

    @property
    def texts(self) -> Book:
        """Our texts, with those of the file."""
        return english() if self.prompt_file is None or self._book is None else self._book

    @property
    def is_own(self) -> bool:
        """Whether a subclass or a patch finds texts in a way of its own."""
        return any(override_of(self, verb) for verb in ("retrieve", *_VERBS.values()))

    @overridable
    def slice(self, slice: str) -> str:
        """A text that tells a model what to do, its placeholders unfilled.

        Raises:
            UnknownPrompt: there is none of this key (also KeyError).
        """
        return self.retrieve("slices", slice)

    @overridable
    def errors(self, error: str) -> str:
        """A text that tells a model what went wrong.

        Raises:
            UnknownPrompt: there is none of this key (also KeyError).
        """
        return self.retrieve("errors", error)

    @overridable
    def tools(self, tool: str) -> Text:
        """What a model is told of one of our own tools.

        Raises:
            UnknownPrompt: there is none of this key (also KeyError).
        """
        return self.texts.text("tools", tool)

    @overridable
    def memory(self, key: str) -> str:
        """What a model is told that says where something belongs that is remembered, or what to look for.

        Raises:
            UnknownPrompt: there is none of this key (also KeyError).
        """
        return self.retrieve("memory", key)

    @overridable
    def retrieve(self, kind: str, key: str) -> str:
        """A text of any part.

        Args:
            kind: the part: "slices", "errors", "tools", "memory", "reasoning", "planning", "hierarchical_manager_agent".
            key: which of its texts.

        Raises:
            UnknownPrompt: there is no such part or text (also KeyError).
        """
        return cast(str, self.texts.text(kind, key))


class _Asked(Book):
    """A book whose texts are asked of an `I18N` that somebody has changed."""

    def __init__(self, asked: I18N, texts: Book) -> None:
        super().__init__(texts.parts)
        self._asked = asked

    def text(self, part: str, key: str) -> Text:
        verb = _VERBS.get(part)
        return self._asked.retrieve(part, key) if verb is None else getattr(self._asked, verb)(key)


@cache
def get_i18n(prompt_file: str | None = None) -> I18N:
    """The texts with those of a file, read once in a process."""
    return I18N(prompt_file=prompt_file)


I18N_DEFAULT = I18N()
"""Our own texts."""


def _read(path: str) -> dict[str, dict[str, Text]]:
    try:
        found: object = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"the prompt file {path!r} cannot be read: {error}") from error
    except ValueError as error:  # no JSON, or no UTF-8
        raise ValueError(f"the prompt file {path!r} is no JSON: {error}") from error
    if not isinstance(found, dict) or not all(_is_part(part) for part in cast(dict[str, Any], found).values()):
        raise ValueError(
            f"the prompt file {path!r} does not hold texts by part and key; write "
            '{"slices": {"role_playing": "You are {role}. ..."}}'
        )
    texts = cast(dict[str, dict[str, Text]], found)
    _tell_without_effect(path, texts)
    return texts


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    texts = cast(dict[str, Any], part).values()
    return all(isinstance(text, str) or (isinstance(text, dict) and _is_part(text)) for text in texts)


def _tell_without_effect(path: str, texts: dict[str, dict[str, Text]]) -> None:
    ours = english()
    known = set(ours) - WITHOUT_EFFECT
    idle = [
        f"{part}.{key}"
        for part, key in Book(texts)
        if (part, key) not in known and not ((part, key) in WITHOUT_EFFECT and texts[part][key] == ours.text(part, key))
    ]
    if idle:
        told = f"the prompt file {path!r} has texts that no prompt is made of, which have no effect: {', '.join(idle)}"
        warnings.warn(told, UserWarning, stacklevel=2)
