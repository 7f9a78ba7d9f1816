"""What surrounds the code of a run: what its caller decides for it, and what the run keeps for its caller."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig

from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.training import Feedback
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.schema import PlainDict
from crewgraph.tools.cache import CacheHandler


@dataclass(eq=False)
class TaskNote:
    """A task that was done in this process, in this run."""

    ended: datetime
    messages: list[PlainDict]
    """The conversation, as the model last saw it."""

    output: TaskOutput | None = None
    """The finished output."""

    plain: PlainDict | None = None
    """The finished output as plain data."""


@dataclass(frozen=True)
class RunNotes:
    """The notes of a run, by the channels of its tasks."""

    tasks: dict[str, TaskNote] = field(default_factory=dict[str, TaskNote])

    crew: CrewDefinition | None = None
    """The crew; None where an agent works on its own."""


@dataclass(frozen=True, kw_only=True)
class TrainingRound:
    """A run of a crew in which a person gives feedback."""

    crew: CrewDefinition
    iteration: int
    """The number of the round, from 1."""

    ask: Callable[[TaskOutput], object]
    """Asks for feedback on an output; returns a text, empty to accept the answer. May be async."""

    earlier_feedback: Mapping[str, Sequence[str]]
    """The feedback of earlier rounds, by the roles of agents as they are written."""

    save: Callable[[Feedback], None]
    """Saves feedback of this round."""


class LoadedOnce:
    """The knowledge that a group of runs has already loaded."""

    def __init__(self) -> None:
        self.lock, self.done = Lock(), set[int]()


class Surroundings(NamedTuple):
    """What surrounds the code of a run; a field is None where nobody has set it."""

    notes: RunNotes | None = None
    """The notes of the run; None where the graph is run by other code."""

    training: TrainingRound | None = None
    """The round of a training."""

    tested: CrewDefinition | None = None
    """The crew that is tested, whose runs save no memories."""

    caches: Mapping[int, CacheHandler] = MappingProxyType({})
    """The isolated tool caches by the `id` of the crew, in runs that do not share them."""

    loaded: LoadedOnce | None = None
    """What the runs of a group load together."""

    config: RunnableConfig | None = None
    """The caller's config for the run that a program starts."""


AROUND: ContextVar[Surroundings] = ContextVar("crewgraph_surroundings", default=Surroundings())
"""What surrounds the running code."""
