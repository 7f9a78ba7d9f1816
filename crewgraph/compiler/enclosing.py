"""The input of a compiled crew or flow: the state of the graph around it, whatever its type, or a command."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from crewgraph.core.pregel import place_of
from crewgraph.schema import PlainMapping

NO_RUN = "there is no run in this thread that a `Command` could continue. Check the `thread_id`, or begin a run with its inputs."
"""The message for a command in a thread without a run."""


def is_node(config: RunnableConfig | None) -> bool:
    """Whether a graph with this config is a node of another one and receives its state.

    Code in a node that calls the graph gives it an input of its own, and no config.
    """
    return bool(place_of(config or {}).task)


def fields_of(value: object) -> object:
    """Return the fields of a state that is a pydantic model or a dataclass, by name; anything else as it is."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type) and not type(value).__module__.startswith("langgraph."):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def shared_inputs(state: PlainMapping, names: Iterable[str]) -> dict[str, Any]:
    """Return the inputs that the state of an enclosing graph holds: under `inputs`, and under their own names.

    Args:
        state: the state.
        names: the names of the inputs that count. None is no value for them.
    """
    shared = {name: state[name] for name in names if state.get(name) is not None}
    return {**shared, **(cast("PlainMapping | None", state.get("inputs")) or {})}
