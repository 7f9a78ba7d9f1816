"""What checkpoints tell of their run in their metadata; each name costs every step.

The checkpoints that led to one; edits and forks in the same thread leave others beside them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.digests import digest

__all__ = [
    "CREW_GRANULARITY",
    "CREW_NAME",
    "CREW_TASKS",
    "FLOW_GRANULARITY",
    "FLOW_NAME",
    "FORKED_FROM",
    "branch",
    "crew_labels",
    "id_of",
    "is_whole",
    "known_as",
    "without_labels",
]


FLOW_NAME = "flow_name"
"""The flow's name."""

FLOW_GRANULARITY = "granularity"
"""What was a node of the flow's graph."""

CREW_NAME = "crew_name"
"""The crew's name."""

CREW_TASKS = "crew_tasks"
"""A digest of the names of the crew's tasks, where the crew has no name of its own."""

CREW_GRANULARITY = "crewgraph_granularity"
"""What was a node of the crew's graph, where that was not a task."""

FORKED_FROM = "crewgraph_forked_from"
"""The thread of the run that a run of a crew was forked from, in its first checkpoint alone."""

_OF_NODES = ("task", "agent_role")
_NAMELESS = (None, "", "crew")


def crew_labels(name: str | None, tasks: Sequence[TaskBinding]) -> dict[str, object]:
    """What the runs of a crew are known by: its name, else the names of its tasks, as `resume` goes by them."""
    if name not in _NAMELESS:
        return {CREW_NAME: name}
    return {CREW_NAME: known_as(name), CREW_TASKS: digest([one.slug for one in tasks])[:12]}


def known_as(name: str | None) -> str:
    """What a crew of that name is called in metadata."""
    return "crew" if name is None or name in _NAMELESS else name


def is_whole(metadata: Mapping[str, Any] | None) -> bool:
    """Whether the graph of a flow's checkpoint with these metadata has one node for all methods."""
    return (metadata or {}).get(FLOW_GRANULARITY) == "flow"


def without_labels(metadata: Mapping[str, Any]) -> dict[str, object]:
    """Metadata without what they tell of the run they come from: a run inside it is another one."""
    own = (FLOW_NAME, FLOW_GRANULARITY, CREW_NAME, CREW_TASKS, CREW_GRANULARITY, FORKED_FROM, *_OF_NODES)
    return {name: value for name, value in metadata.items() if name not in own}


Kept = TypeVar("Kept", bound=Any)
"""A checkpoint, or a state: what has a `config` and a `parent_config`."""


def branch(kept: Sequence[Kept]) -> list[Kept]:
    """Those that led to the first one, in their order.

    Args:
        kept: all of a thread, the latest first.
    """
    by_id = {id_of(one.config): one for one in kept}
    found: list[Kept] = []
    one: Kept | None = kept[0]
    while one is not None:
        found.append(one)
        one = by_id.get(id_of(one.parent_config)) if one.parent_config else None
    return found[::-1]


def id_of(config: Any) -> str:
    """The checkpoint that a config names."""
    return str(config["configurable"]["checkpoint_id"])
