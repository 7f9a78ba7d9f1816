"""The wire formats: JSON of LangGraph's values and states, and server-sent events."""

import dataclasses
import json
import math
import re
from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple, cast
from uuid import UUID

from langchain_core.messages import BaseMessage
from langgraph.types import Interrupt, Send, StateSnapshot
from pydantic import BaseModel

from crewgraph.core.pregel import PRIVATE_KEY
from crewgraph.errors import CrewgraphError
from crewgraph.redaction import redact_text
from crewgraph.schema import PlainDict, PlainMapping, is_mapping
from crewgraph.text import storable_text

_SURROGATE = re.compile("[\ud800-\udfff]")


class Event(NamedTuple):
    """An event of a run's stream."""

    name: str
    data: str
    """As JSON."""

    def text(self, number: int) -> str:
        """Return it as a server-sent event with an id."""
        return f"id: {number}\nevent: {self.name}\ndata: {self.data}\n\n"


async def sse(events: AsyncIterator[tuple[int, Event] | None]) -> AsyncIterator[str]:
    """Return the text of a stream; None becomes a heartbeat."""
    async for item in events:
        yield ": heartbeat\n\n" if item is None else item[1].text(item[0])


def to_json(value: object) -> str:
    """Return a value as JSON: messages, models and LangGraph's types as dicts, other objects as their `repr`.

    Halves of characters, which UTF-8 does not have, are escaped.
    """
    text = json.dumps(plain_json(value), ensure_ascii=False)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def plain_json(value: Any) -> Any:
    """Convert a value to JSON-compatible data."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_mapping(value):
        return {str(name): plain_json(one) for name, one in value.items() if not str(name).startswith(PRIVATE_KEY)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_json(one) for one in cast("Sequence[Any]", value)]
    fields = _fields_of(value)
    return _plain_leaf(value) if fields is None else plain_json(fields)


def _fields_of(value: Any) -> PlainMapping | None:
    """Return an object of LangGraph, LangChain, pydantic or a dataclass as a dict; None for others."""
    if isinstance(value, Interrupt):
        return {"value": value.value, "id": value.id}
    if isinstance(value, Send):
        return {"node": value.node, "args": value.arg}
    if isinstance(value, (BaseMessage, BaseModel)):
        return value.model_dump()
    if isinstance(value, BaseException):
        return error_of(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _plain_leaf(value: object) -> str:
    if isinstance(value, (datetime, date, UUID, Enum, Decimal)):
        return str(value.value if isinstance(value, Enum) else value)
    return repr(value)


def error_of(error: BaseException) -> PlainDict:
    """Return an error for clients: the text, with the type unless it is crewgraph's own, and no traceback."""
    text = storable_text(redact_text(" ".join([str(error), *map(str, getattr(error, "__notes__", ()))])))
    if isinstance(error, CrewgraphError):
        return {"error": type(error).__name__, "message": text}
    return {"error": type(error).__name__, "message": text.split("\n")[0]}


def state_of_snapshot(snapshot: StateSnapshot) -> PlainDict:
    """Return a state in the form of the protocol."""
    interrupts = [interrupt for task in snapshot.tasks for interrupt in task.interrupts]
    checkpoint, parent = _checkpoint_address(snapshot.config), _checkpoint_address(snapshot.parent_config)
    return {
        "values": snapshot.values,
        "next": snapshot.next,
        "tasks": [
            {
                "id": task.id,
                "name": task.name,
                "path": task.path,
                "error": None if task.error is None else redact_text(str(task.error)),
                "interrupts": task.interrupts,
                "checkpoint": None,
                "state": None,
                "result": task.result,
            }
            for task in snapshot.tasks
        ],
        "metadata": snapshot.metadata,
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": interrupts,
        "checkpoint_id": None if checkpoint is None else checkpoint["checkpoint_id"],
        "parent_checkpoint_id": None if parent is None else parent["checkpoint_id"],
    }


def _checkpoint_address(config: Any) -> PlainDict | None:
    if config is None:
        return None
    place: PlainMapping = config.get("configurable") or {}
    if not place.get("checkpoint_id"):
        return None
    return {
        "thread_id": place.get("thread_id"),
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place["checkpoint_id"],
    }
