"""What the agents of a crew were taught, for the prompts of their tasks."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.training import TrainedAgent, read_training, training_path
from crewgraph.errors import RunError, StorageError

__all__ = ["FILE", "NO_TRAINING_DATA", "TrainingData", "training_data_of"]


FILE = "trained_agents_data.json"
"""The file in the working directory that is read where no other one is named."""

_NAMING = ("CREWGRAPH_TRAINED_AGENTS_FILE", "CREWAI_TRAINED_AGENTS_FILE")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instructions by the roles of agents."""

    by_role: Mapping[str, tuple[str, ...]]

    def of(self, *roles: str) -> tuple[str, ...]:
        """The instructions for whoever has the first of these roles that was taught."""
        return next((self.by_role[role] for role in roles if role in self.by_role), ())


NO_TRAINING_DATA = TrainingData(MappingProxyType({}))


def training_data_of(crew: Crew) -> TrainingData:
    """What the agents of a crew were taught: its `training_data`, else what the file says that it is to use.

    The same object again where nothing has changed.

    Raises:
        RunError: the file that is named is not there, or `training_data` is no such thing.
        StorageError: the file cannot be read.
    """
    if crew.training_data:
        return _given(crew)
    named = crew.trained_agents_file or next((value for name in _NAMING if (value := os.environ.get(name))), None)
    path = Path(FILE) if named is None else training_path(named, label="`trained_agents_file`")
    try:
        state = path.stat()
    except FileNotFoundError:
        if named is None:
            return NO_TRAINING_DATA
        raise RunError(f"there is no training file `{path.absolute()}`; `crew.train(...)` makes it") from None
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be read: {error}") from error
    return _read(path.absolute(), state.st_mtime_ns, state.st_size)


@lru_cache(16)
def _read(path: Path, changed: int, size: int) -> TrainingData:
    return _lessons(read_training(path).agents)


def _given(crew: Crew) -> TrainingData:
    known: TrainingData | None = crew.kept.get(("lessons", repr(crew.training_data)))
    if known is None:
        try:
            known = _lessons({role: TrainedAgent.model_validate(one) for role, one in crew.training_data.items()})
        except ValidationError as error:
            example = '{"Writer": {"suggestions": ["Be short."], "quality": 7, "final_summary": "..."}}'
            raise RunError(f"`training_data` of the crew is to be like {example}: {error}") from error
        crew.kept.put(("lessons", repr(crew.training_data)), known)
    return known


def _lessons(agents: Mapping[str, TrainedAgent]) -> TrainingData:
    return TrainingData({role: tuple(one.suggestions) for role, one in agents.items() if one.suggestions})
