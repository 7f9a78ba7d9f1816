"""The input of a compiled crew's graph: the values of its placeholders; anything that would be ignored is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.types import Command

from crewgraph.compiler.crew.result import with_last_message
from crewgraph.compiler.crew.state import INPUTS, MESSAGES
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.errors import MissingInput, RunError
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["CrewInput", "crew_input"]

_TASK_FIELDS = ("description", "expected_output", "output_file")
_AGENT_FIELDS = ("role", "goal", "backstory")


@dataclass(frozen=True)
class CrewInput:
    """The input of a crew's graph."""

    placeholders: Mapping[str, Sequence[str]]
    """For each placeholder the texts that hold it, such as "description of task `research`"."""

    channels: frozenset[str] = frozenset()
    """The keys of the graph's state."""

    conversed: str | None = None
    """The placeholder that takes the last message of a conversation; None if the graph takes part in none."""

    def read(self, value: object, defaults: PlainMapping) -> object:
        """Return an input as the graph takes it: `{"topic": "rain"}` is `{"inputs": {"topic": "rain"}}`.

        Args:
            value: the caller's input.
            defaults: values of placeholders for which it has none.

        Raises:
            RunError: It has keys that nothing reads.
            MissingInput: A placeholder has no value.
        """
        if value is None or isinstance(value, Command) or not isinstance(value, Mapping):
            return cast("object", value)
        given = dict(cast("PlainDict", self.with_last_message(cast("object", value))))
        is_state = bool(given.keys() & self.channels)
        unread = [name for name in given if name not in (self.channels if is_state else self.placeholders)]
        if unread:
            raise RunError(
                f"nothing in the crew reads {', '.join(f'`{name}`' for name in unread)}; its input is {self._example()}"
            )
        inputs: object = given.get(INPUTS, {}) if is_state else given
        if isinstance(inputs, Mapping):
            inputs = {**defaults, **cast("PlainMapping", inputs)}
            self._check_complete(inputs)
        return {**given, INPUTS: inputs} if is_state else {INPUTS: inputs}

    def with_last_message(self, value: object) -> object:
        """Return an input with the last message of its conversation among the inputs, if the graph takes part in one.

        Raises:
            RunError: There are messages, but none of a person.
        """
        return value if self.conversed is None else with_last_message(value, self.conversed)

    def _check_complete(self, inputs: Mapping[str, object]) -> None:
        missing = [name for name in self.placeholders if name not in inputs]
        if missing:
            named = "; ".join(f"`{name}`, in the {self.placeholders[name][0]}" for name in missing)
            raise MissingInput(f"the input lacks {named}. Give {self._example()}.")

    def _example(self) -> str:
        if not self.placeholders:
            return '{"inputs": {}}'
        return "{" + ", ".join(f'"{name}": ...' for name in self.placeholders) + "}"

    def json_schema(self) -> PlainDict:
        """Return the JSON schema of the input, from which Studio draws a form."""
        fields: PlainDict = {
            name: {"title": name, "type": "string", "description": f"Used in the {', '.join(places)}."}
            for name, places in self.placeholders.items()
        }
        if not fields:
            fields = {
                INPUTS: {"title": INPUTS, "type": "object", "description": "No text of the crew has a placeholder."}
            }
        required = [name for name in self.placeholders if name != self.conversed]
        if self.conversed is not None:
            fields[MESSAGES] = {
                "title": MESSAGES,
                "type": "array",
                "items": {"type": "object"},
                "description": "The conversation.",
            }
        return {"title": "CrewInput", "type": "object", "properties": fields, "required": required}


def crew_input(tasks: Sequence[TaskBinding]) -> CrewInput:
    """Return the input form of a crew with these tasks."""
    found: dict[str, list[str]] = {}
    parts: list[tuple[Any, str, str]] = []
    for binding in tasks:
        parts += [
            (binding.task, field, f"{field.replace('_', ' ')} of task `{binding.slug}`") for field in _TASK_FIELDS
        ]
    for agent in dict.fromkeys(binding.agent for binding in tasks):
        parts += [(agent, field, f"{field} of agent `{agent.template('role')}`") for field in _AGENT_FIELDS]
    for definition, field, where in parts:
        for name in sorted(definition.open_placeholders(field)):
            found.setdefault(name, []).append(where)
    return CrewInput({name: tuple(places) for name, places in found.items()})
