"""What a checkpoint tells of what was spent: for a run that is gone on with counts what it spent before."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from crewgraph.core.meter import SPENT
from crewgraph.core.pregel import written_since_start

__all__ = ["named", "sealed", "spent_in"]

_Told = dict[str, Any]


def named(address: RunnableConfig) -> tuple[str, str]:
    """Namespace and id of a checkpoint."""
    place: Mapping[str, Any] = address.get("configurable") or {}
    return str(place.get("checkpoint_ns", "")), str(place.get("checkpoint_id"))


def sealed(update: _Told, spent: Mapping[str, Any]) -> _Told:
    """An update of the state whose outputs say what was spent for them."""
    return {name: {**value, **spent} if isinstance(value, dict) else value for name, value in update.items()}


def spent_in(saved: Any, records: str) -> list[_Told]:
    """The outputs and records at a checkpoint of a crew's graph that say what was spent, each of it once.

    Args:
        saved: the checkpoint, or None.
        records: the channel of the journal's records.
    """
    if saved is None:
        return []
    pending: list[tuple[str, str, Any]] = list(saved.pending_writes or ())
    ended = {task: value for task, channel, value in pending if channel != records and _is_sealed(value)}
    open_records = [
        value for task, channel, value in pending if channel == records and task.partition("#")[0] not in ended
    ]
    outputs = [value for value in written_since_start(saved).values() if _is_sealed(value)]
    return [*outputs, *ended.values(), *open_records]


def _is_sealed(value: Any) -> bool:
    spent: Any = cast("_Told", value).get(SPENT) if isinstance(value, dict) else None
    return isinstance(spent, dict) and bool(cast("_Told", spent)) and set(cast("_Told", spent)) <= {"used", "at"}
