"""The state of a crew's graph: its inputs, its plan if it has one, and a channel per task."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict  # typing's own has no JSON schema before Python 3.12, which Studio needs

INPUTS = "inputs"
"""The channel of a crew's inputs."""

PLANNING = "planning"
"""The node that makes a crew's plan, and its channel."""

OUTPUT = "output"
"""The channel of the crew's result, in graphs for callers."""

MESSAGES = "messages"
"""The channel of a conversation, in graphs that take part in one."""

CONVERSATION: Mapping[str, object] = {MESSAGES: Annotated[list[AnyMessage], add_messages]}
"""The same, with its type."""

MESSAGES_SCHEMA: Mapping[str, object] = {
    "title": MESSAGES,
    "type": "array",
    "items": {"type": "object"},
    "description": "The conversation.",
}
"""The JSON schema of a conversation in the input of a graph."""

MESSAGE = "__message__"
"""Beside the output of a task: the id and the usage of the message that the model answered with, and the updates of `UPDATES`;
no channel takes it."""

UPDATES = "__updates__"
"""The channel of the keys and values that tools write to the state of the graph around the crew."""

TASK = "task"
"""The key that identifies the task of an output in the state: its `id` in that process, its `key`, and its `number`."""


def schema(name: str, channels: Iterable[str], others: Mapping[str, object] = MappingProxyType({})) -> Any:
    """Create a state type: the whole state, or the part that a node reads.

    Args:
        name: its name.
        channels: channels that hold a dict, each of which may be missing.
        others: other channels, with their types.
    """
    fields: dict[str, object] = {**dict.fromkeys(channels, dict[str, Any]), **others}
    return TypedDict(name, fields, total=False)  # pyright: ignore[reportArgumentType]
