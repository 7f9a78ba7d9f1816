"""Definitions whose texts hold placeholders: what their author wrote, and what was last made of it.

Templates that a user puts around the messages of an agent: `{{ .System }}`, `{{ .Prompt }}`, `{{ .Response }}`.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from crewgraph.definitions.base import Definition
from crewgraph.definitions.task.output import set_fields
from crewgraph.extensions import extension
from crewgraph.prompts.book import Book
from crewgraph.text import fill, placeholders

__all__ = [
    "CHAT_HISTORY",
    "TemplatedDefinition",
    "append_chat_history",
    "has_slot",
    "render_template",
    "slot",
    "split_at_slot",
    "validate_date_format",
]


CHAT_HISTORY = "crew_chat_messages"
"""The input that holds the conversation which led to a run."""


class TemplatedDefinition(Definition):
    """The base of agents and tasks.

    Placeholders are filled for each run. What users read is the filled text; the template is kept beside it.
    """

    _text_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that may hold placeholders."""

    _templates: dict[str, str] = PrivateAttr(default_factory=dict[str, str])
    _permanent: dict[str, str] = PrivateAttr(default_factory=dict[str, str])

    # Runs in several threads read and show texts at once: the template is kept before the field shows anything else, and
    # read after it.
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._text_fields and (kept := self.__pydantic_private__):
            kept["_templates"].pop(name, None)
            kept["_by_hand"].pop(name, None)

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied._templates, copied._permanent = dict(self._templates), dict(self._permanent)
        return copied

    def template(self, field: str) -> str | None:
        """A text as its author wrote it, placeholders and all."""
        return self._template(field, self._kept("_templates"))

    def _kept(self, name: str) -> dict[str, str]:
        """A private attribute; pydantic's own way to it takes as long as filling a text."""
        kept = self.__pydantic_private__
        return {} if kept is None else kept[name]

    def _template(self, field: str, templates: Mapping[str, str]) -> str | None:
        shown = getattr(self, field)
        return templates.get(field, shown)

    def written(self, field: str) -> str:
        """A text as a run without inputs works with it: as its author wrote it, or filled by hand."""
        return self.rendered_texts({})[field] or ""

    def rendered_texts(self, inputs: Mapping[str, Any]) -> dict[str, str | None]:
        """Its texts for a run with these inputs; without any, as they were written, or filled by hand.

        Raises:
            MissingInput: a placeholder has no value among the inputs.
            DefinitionError: a value is nothing that a text can show.
        """
        templates, by_hand = self._kept("_templates"), {} if inputs else self._kept("_by_hand")
        written = {field: self._template(field, templates) for field in self._text_fields if field not in by_hand}
        filled = {field: None if text is None else self._filled(field, text, inputs) for field, text in written.items()}
        return {**filled, **by_hand}

    def _filled(self, field: str, template: str, inputs: Mapping[str, Any]) -> str:
        return fill(template, inputs, where=f"`{field}` of {self.called}") if inputs else template

    @property
    def called(self) -> str:
        """What it is called in messages."""
        return type(self).__name__

    def open_placeholders(self, *fields: str) -> set[str]:
        """The names that a run without inputs leaves open in these fields."""
        templates = (self.template(field) or "" for field in fields if field not in self._kept("_by_hand"))
        return {name for template in templates for name in placeholders(template)}

    def show_texts(self, texts: Mapping[str, str | None]) -> None:
        """Let the fields show the texts of a run, without losing the templates."""
        templates = self._kept("_templates")
        for field, text in texts.items():
            if text is None or (getattr(self, field) == text and not templates):
                continue
            template = self._template(field, templates)
            if template is not None and template != text:
                templates.setdefault(field, template)
                set_fields(self, **{field: text})
            elif field in templates:
                set_fields(self, **{field: text})

    def fill_permanently(self, texts: Mapping[str, str | None]) -> None:
        """Show these texts, and work with them in runs without inputs."""
        self.show_texts(texts)
        self._permanent.update({field: text for field, text in texts.items() if text is not None})


def append_chat_history(description: str, inputs: Mapping[str, Any], book: Book) -> str:
    """A task's description with the chat among the inputs below it; unchanged where there is none.

    Raises:
        DefinitionError: the input is neither a list of messages nor the JSON of one.
    """
    history = inputs.get(CHAT_HISTORY)
    return extension("conversations.history")(description, history, book) if history else description


_AGENT_PLACEHOLDER = re.compile(r"\{(role|goal|backstory)\}")
_DIRECTIVE = re.compile(r"%[-_0^#]?(.?)")
_DIRECTIVES = frozenset("aAwdbBmyYHIpMSfzZjUWcxXGuVeDFTRhkCglnrt%")


def slot(name: str) -> str:
    """How a template says where a text goes."""
    return "{{ ." + name + " }}"


def has_slot(template: str, name: str) -> bool:
    """Whether a template says where the text goes; the blanks do not matter."""
    return _slot_pattern(name).search(template) is not None


def render_template(template: str, name: str, text: str, texts: Mapping[str, str]) -> str:
    """A text in its template.

    Args:
        template: the template.
        name: which slot the text goes into.
        text: the text, in which nothing is filled any more.
        texts: what stands for `{role}`, `{goal}` and `{backstory}` in the template itself.
    """
    parts = [
        _AGENT_PLACEHOLDER.sub(lambda found: texts[found[1]], part) for part in _slot_pattern(name).split(template)
    ]
    return text.join(parts)


def split_at_slot(template: str, name: str) -> tuple[str, str]:
    """What stands before the slot of a template, and what behind it."""
    before, *after = _slot_pattern(name).split(template)
    return before, after[0].strip() if after else ""


def validate_date_format(written: str) -> str:
    """A format of dates, if `strftime` knows all of it.

    Raises:
        ValueError: it holds an unknown directive, or none.
    """
    found = _DIRECTIVE.findall(written)
    unknown = [f"`%{letter}`" for letter in found if letter not in _DIRECTIVES or not letter]
    if unknown or not set(found) - set("nt%"):
        what = f"{', '.join(unknown)} is no part of a date" if unknown else "it holds no part of a date"
        raise ValueError(f"{written!r} cannot be a date: {what}. Write it as `strftime` takes it: '%Y-%m-%d'.")
    return written


def _slot_pattern(name: str) -> re.Pattern[str]:
    return re.compile(r"\{\{\s*\." + name + r"\s*\}\}")
