"""Placeholders in the texts of agents and tasks, and the templates of an agent's messages.

Templates have the slots `{{ .System }}`, `{{ .Prompt }}` and `{{ .Response }}`.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from crewgraph.definitions.base import Definition
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import set_fields
from crewgraph.extensions import extension
from crewgraph.prompts.i18n import Book
from crewgraph.text import fill, placeholders

CHAT_HISTORY = "crew_chat_messages"
"""The input that holds the messages of the chat that led to a run."""


class TemplatedDefinition(Definition):
    """The base of agents and tasks: definitions whose texts may hold `{placeholders}`.

    Placeholders are filled for each run. The fields then hold the filled texts, and the templates are kept separately.
    """

    _text_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that may hold placeholders."""

    _templates: dict[str, str] = PrivateAttr(default_factory=dict[str, str])
    _permanent: dict[str, str] = PrivateAttr(default_factory=dict[str, str])

    # Runs in several threads read and set texts concurrently: the template is stored before the field changes, and read
    # after it.
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._text_fields and (private := self.__pydantic_private__):
            private["_templates"].pop(name, None)
            private["_permanent"].pop(name, None)

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied._templates, copied._permanent = dict(self._templates), dict(self._permanent)
        return copied

    def template(self, field: str) -> str | None:
        """Return the text of a field with its placeholders."""
        text = getattr(self, field)  # before its template: see `__setattr__`
        private = self.__pydantic_private__  # pydantic's own access takes as long as filling a text
        return text if private is None else private["_templates"].get(field, text)

    def _private(self, name: str) -> dict[str, str]:
        private = self.__pydantic_private__
        return {} if private is None else private[name]

    def written(self, field: str) -> str:
        """Return the text of a field as a run without inputs uses it."""
        permanent = self._private("_permanent").get(field)
        text = self.template(field) if permanent is None else permanent
        return "" if text is None else text if permanent is not None else self._filled(field, text, {})

    def rendered_texts(self, inputs: Inputs) -> dict[str, str | None]:
        """Return the texts by field for a run with these inputs. Without any, the templates or the texts of `fill_permanently`.

        Raises:
            MissingInput: A placeholder has no value among the inputs.
            DefinitionError: A value cannot be shown as text.
        """
        private = self.__pydantic_private__ or _NOTHING_SHOWN
        templates, permanent = private["_templates"], {} if inputs else private["_permanent"]
        texts: dict[str, str | None] = {}
        for field in self._text_fields:
            text: str | None = getattr(self, field)  # before its template: see `__setattr__`
            text = permanent[field] if field in permanent else templates.get(field, text)
            if text is not None and (inputs or "{" in text) and field not in permanent:
                text = self._filled(field, text, inputs)
            texts[field] = text
        return texts

    def _filled(self, field: str, template: str, inputs: Inputs) -> str:
        if not inputs or "{" not in template:
            return template
        return fill(template, inputs, where=f"`{field}` of {self.called}")

    @property
    def called(self) -> str:
        """The label in messages, such as "agent `Writer`"."""
        return type(self).__name__

    def open_placeholders(self, *fields: str) -> set[str]:
        """Return the names of the placeholders in these fields that a run without inputs leaves unfilled."""
        permanent, found = self._private("_permanent"), set[str]()
        for field in fields:
            template = None if field in permanent else self.template(field)
            if template and "{" in template:
                found |= placeholders(template)
        return found

    def show_texts(self, texts: Mapping[str, str | None]) -> None:
        """Set the fields to the texts of a run, preserving the templates."""
        templates = self._private("_templates")
        for field, text in texts.items():
            if text is None or (getattr(self, field) == text and not templates):
                continue
            template = self.template(field)
            if template is not None and template != text:
                templates.setdefault(field, template)
                set_fields(self, **{field: text})
            elif field in templates:
                set_fields(self, **{field: text})

    def fill_permanently(self, texts: Mapping[str, str | None]) -> None:
        """Set the fields to these texts, and use them in runs without inputs."""
        self.show_texts(texts)
        self._permanent.update({field: text for field, text in texts.items() if text is not None})


def append_chat_history(description: str, inputs: Inputs, book: Book) -> str:
    """Append the chat messages among the inputs to a task's description.

    Raises:
        DefinitionError: The input is neither a list of messages nor its JSON.
    """
    history = inputs.get(CHAT_HISTORY)
    return extension("conversations.history")(description, history, book) if history else description


_NOTHING_SHOWN: Mapping[str, dict[str, str]] = {"_templates": {}, "_permanent": {}}
_AGENT_PLACEHOLDER = re.compile(r"\{(role|goal|backstory)\}")
_DIRECTIVE = re.compile(r"%[-_0^#]?(.?)")
_DIRECTIVES = frozenset("aAwdbBmyYHIpMSfzZjUWcxXGuVeDFTRhkCglnrt%")


def slot(name: str) -> str:
    """Return the slot of a name in a template: `{{ .Name }}`."""
    return "{{ ." + name + " }}"


def has_slot(template: str, name: str) -> bool:
    """Return whether a template contains the slot; white space does not matter."""
    return _slot_pattern(name).search(template) is not None


def render_template(template: str, name: str, text: str, texts: Mapping[str, str]) -> str:
    """Insert a text into the slot of a template.

    Args:
        template: The template.
        name: The name of the slot.
        text: The text; placeholders in it are not filled.
        texts: Values for `{role}`, `{goal}` and `{backstory}` in the template itself.
    """
    parts = [
        _AGENT_PLACEHOLDER.sub(lambda match: texts[match[1]], part) for part in _slot_pattern(name).split(template)
    ]
    return text.join(parts)


def split_at_slot(template: str, name: str) -> tuple[str, str]:
    """Return the text before the slot of a template, and the text after it."""
    before, *after = _slot_pattern(name).split(template)
    return before, after[0].strip() if after else ""


def validate_date_format(date_format: str) -> str:
    """Return a date format unchanged if `strftime` supports all of it.

    Raises:
        ValueError: It holds an unknown directive, or none.
    """
    directives = _DIRECTIVE.findall(date_format)
    unknown = [f"`%{letter}`" for letter in directives if letter not in _DIRECTIVES or not letter]
    if unknown or not set(directives) - set("nt%"):
        problem = f"{', '.join(unknown)} is no part of a date" if unknown else "it holds no part of a date"
        raise ValueError(f"{date_format!r} cannot be a date: {problem}. Write it as `strftime` takes it: '%Y-%m-%d'.")
    return date_format


def _slot_pattern(name: str) -> re.Pattern[str]:
    return re.compile(r"\{\{\s*+\." + name + r"\s*+\}\}")
