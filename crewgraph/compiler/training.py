"""A round of a training, known to the code of its run."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.training import Feedback

__all__ = ["TRAINING", "TrainingRound", "round_of"]


@dataclass(frozen=True, kw_only=True)
class TrainingRound:
    """A run of a crew in which a person says what is to be better."""

    crew: Crew
    iteration: int
    """Which round it is, from 1."""

    ask: Callable[[TaskOutput], Any]
    """Asks for feedback on an answer; gives a text, empty where the answer is good. May be async."""

    said: Mapping[str, Sequence[str]]
    """What was said in earlier rounds, by the roles of agents as they are written."""

    keep: Callable[[Feedback], None]
    """Keeps what was said in this one."""


TRAINING: ContextVar[TrainingRound | None] = ContextVar("crewgraph_training", default=None)
"""The round around the running code."""


def round_of(assignment: Assignment) -> TrainingRound | None:
    """The round that a task is a part of; None where nobody is trained, or another crew is."""
    found = TRAINING.get()
    return found if found is not None and found.crew is assignment.crew else None
