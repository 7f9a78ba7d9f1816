"""The input of a compiled crew's graph, and its context; anything that would be ignored is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.compiler.agent.inbox import of_front_end
from crewgraph.compiler.crew.result import check_blocks, last_human_message, with_last_message
from crewgraph.compiler.crew.state import INPUTS, MESSAGES, MESSAGES_SCHEMA
from crewgraph.compiler.enclosing import NO_RUN, fields_of, shared_inputs
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.plain import NotPlain, plain
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.errors import MissingInput, RunError
from crewgraph.schema import PlainDict, PlainMapping, fault_text, is_mapping

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

    conversing: tuple[BaseAgentDefinition, ...] = ()
    """The agents that see the conversation."""

    def read(self, value: object, defaults: PlainMapping) -> object:
        """Return an input as the graph takes it: `{"topic": "rain"}` is `{"inputs": {"topic": "rain"}}`.

        Args:
            value: the caller's input.
            defaults: values of placeholders for which it has none.

        Raises:
            RunError: It has keys that nothing reads.
            MissingInput: A placeholder has no value.
            NotPlain: The value of a placeholder has no text.
        """
        value = self.with_last_message(fields_of(value))
        if not is_mapping(value):
            return value
        values = dict(value)
        if self.conversed is not None and MESSAGES in values:
            # The state of an agent, such as one of deepagents, which has keys of its own.
            values = {name: item for name, item in values.items() if name in self.channels or name in self.placeholders}
        is_state = bool(values.keys() & self.channels) and not self._fills_placeholders(values)
        unread = [name for name in values if name not in (self.channels if is_state else self.placeholders)]
        if unread:
            raise RunError(self._unread_message(unread, values, is_state=is_state))
        inputs: object = values.get(INPUTS, {}) if is_state else values
        if is_mapping(inputs):
            inputs = {**defaults, **inputs}
            self._check_complete(inputs)
            inputs = self._plain(inputs)
        return {**values, INPUTS: inputs} if is_state else {INPUTS: inputs}

    def read_command(self, command: Command[Any]) -> Command[Any]:
        """Return a command with its update as `read_update` returns it, a new human message among the inputs.

        Raises:
            NotPlain: The value of a placeholder has no text.
        """
        update = self.read_update(command.update)
        begins = self.conversed is not None and command.resume is None and not command.goto
        values = fields_of(update) if begins else None
        if is_mapping(values) and MESSAGES in values and last_human_message(values):
            update = self.with_last_message(values)
        return replace(command, update=update, resume=of_front_end(command.resume))

    def read_update(self, update: object) -> object:
        """Return an update of the state with its inputs as plain data, as those of a run are.

        Raises:
            NotPlain: The value of a placeholder has no text.
        """
        values = fields_of(update)
        if not is_mapping(values) or not is_mapping(inputs := values.get(INPUTS)):
            return update
        return {**values, INPUTS: self._plain(inputs)}

    def check_begun(self, update: object) -> None:
        """Check the update of a `Command` in a thread without a run, which it may begin.

        Raises:
            RunError: It has no inputs for one.
        """
        values = fields_of(update) if update is not None else None
        if not is_mapping(values) or not is_mapping(inputs := values.get(INPUTS)):
            raise RunError(NO_RUN)
        self._check_complete(inputs)

    def read_state(self, value: object) -> object:
        """Return the state of a graph that has the crew as a node, with the crew's inputs in it.

        Raises:
            RunError: The state holds messages, but none from a person, and the graph takes part in the conversation.
            MissingInput: A placeholder has no value in it.
            NotPlain: The value of a placeholder has no text.
        """
        value = self.with_last_message(fields_of(value))
        if not is_mapping(value):
            return value
        if not isinstance(value.get(INPUTS, {}), Mapping | None):
            return dict(value)  # refused by the node
        inputs = shared_inputs(value, self.placeholders.keys() - self.channels)
        self._check_complete(inputs, value)
        return {**value, INPUTS: self._plain(inputs)}

    def with_last_message(self, value: object) -> object:
        """Return an input with the last message of its conversation among the inputs, if the graph takes part in one.

        Raises:
            RunError: There are messages, but none of a person, or with a block that a model does not take.
        """
        if self.conversed is None or not is_mapping(value):
            return value
        for agent in self.conversing:
            check_blocks(value, agent)
        return with_last_message(value, self.conversed)

    def _plain(self, inputs: Mapping[str, object]) -> dict[str, object]:
        """Return the inputs with those in texts as plain data, as `kickoff` takes them; others belong to the caller's tools."""
        return {**inputs, **plain_inputs({name: inputs[name] for name in self.placeholders if name in inputs})}

    def _fills_placeholders(self, values: PlainMapping) -> bool:
        """Whether an input names placeholders only; a placeholder may be named like a task, whose key holds its output."""
        return values.keys() <= self.placeholders.keys() and not isinstance(values.get(INPUTS), Mapping)

    def _unread_message(self, unread: Sequence[str], values: PlainMapping, *, is_state: bool) -> str:
        names = _listed(unread)
        if is_state and all(name in self.placeholders for name in unread):
            keys = _listed([name for name in values if name in self.channels])
            return f'{names} belongs in `inputs` if the input also has {keys}: {{"inputs": {self._example()}}}'
        return f"nothing in the crew reads {names}; its input is {self._example()}"

    def _check_complete(self, inputs: Mapping[str, object], state: PlainMapping | None = None) -> None:
        missing = [name for name in self.placeholders if name not in inputs]
        if not missing:
            return
        named = "; ".join(f"`{name}`, in the {self.placeholders[name][0]}" for name in missing)
        if state is None:
            raise MissingInput(f"the input lacks {named}. Give {self._example()}.")
        names = (f"`{name}`" if value is not None else f"`{name}`, which is None" for name, value in state.items())
        found = ", ".join(names) or "nothing"
        taken = _listed([name for name in missing if name in self.channels])
        key = (
            f"The crew writes its own result to {taken}: give the state"
            if taken
            else "Give the state a key of that name, or"
        )
        raise MissingInput(
            f"the state of the graph around the crew lacks {named}; it holds {found}. {key} "
            f"`inputs`, a dict; or call the crew in a node of your own: `crew_graph.invoke({self._example()})`."
        )

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
            fields[MESSAGES] = MESSAGES_SCHEMA
        return {"title": "CrewInput", "type": "object", "properties": fields, "required": required}


def plain_inputs(inputs: Mapping[str, object]) -> dict[str, object]:
    """Return inputs as plain data, for texts and checkpoints.

    Raises:
        NotPlain: One has no plain form.
    """
    result: dict[str, object] = {}
    for name, value in inputs.items():
        try:
            result[name] = plain(value)
        except NotPlain as error:
            raise NotPlain(f"the input `{name}` is {error}") from error
    return result


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def crew_input(tasks: Sequence[TaskBinding]) -> CrewInput:
    """Return the input form of a crew with these tasks."""
    found: dict[str, list[str]] = {}
    parts: list[tuple[Any, str, str]] = []
    for binding in tasks:
        parts += [
            (binding.task, field, f"{field.replace('_', ' ')} of task `{binding.slug}`") for field in _TASK_FIELDS
        ]
    for agent in dict.fromkeys(binding.agent for binding in tasks):
        parts += [(agent, field, f"{field} of {agent.called}") for field in _AGENT_FIELDS]
    for definition, field, where in parts:
        for name in sorted(definition.open_placeholders(field)):
            found.setdefault(name, []).append(where)
    return CrewInput({name: tuple(places) for name, places in found.items()})


class CrewRunContext(BaseModel):
    """The context that a compiled crew takes: `graph.invoke(..., context={"model": "openai/gpt-4o"})`.

    Fields that are None keep the crew's values. Other keys are the caller's, for tools.

    An assistant of LangGraph's server stores one, so that one crew can be served with several models, inputs and limits.
    """

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(default=None, description='The model of all agents, such as "openai/gpt-4o-mini".')
    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values of placeholders for which the input has none."
    )
    max_tokens: int | None = Field(default=None, gt=0, description="How many tokens the run may use.")
    max_cost: float | None = Field(default=None, gt=0, description="What the run may cost, in USD.")
    max_seconds: float | None = Field(default=None, gt=0, description="How many seconds the run may take.")


def read_context(context: object) -> CrewRunContext | None:
    """Return the context that a caller passed to a crew's graph.

    Raises:
        RunError: A value does not fit.
    """
    if context is None or isinstance(context, CrewRunContext):
        return context
    if not is_mapping(context):
        raise RunError(f"the context of a crew is a dict or a `CrewRunContext`, not {context!r:.80}")
    try:
        return CrewRunContext.model_validate(dict(context))
    except ValidationError as error:
        problems = "; ".join(
            f"`{detail['loc'][0]}`: {fault_text(detail)}" for detail in error.errors(include_url=False)
        )
        known = ", ".join(f"`{name}`" for name in CrewRunContext.model_fields)
        raise RunError(f"the context of the run does not fit: {problems}. It may have {known}.") from error
