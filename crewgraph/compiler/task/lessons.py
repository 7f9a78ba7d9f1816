"""The training data of a crew's agents, for the prompts of their tasks."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.training import TrainedAgent, read_training, training_path
from crewgraph.errors import RunError, StorageError

__all__ = ["FILE", "NO_TRAINING_DATA", "TrainingData", "training_data_of"]


FILE = "trained_agents_data.json"
"""The file in the working directory that is read where no other is configured."""

_FILE_VARIABLE, _CREWAI_VARIABLE = "CREWGRAPH_TRAINED_AGENTS_FILE", "CREWAI_TRAINED_AGENTS_FILE"


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instructions by the roles of agents."""

    by_role: Mapping[str, tuple[str, ...]]

    def of(self, *roles: str) -> tuple[str, ...]:
        """Return the instructions for the first of these roles that has any."""
        return next((self.by_role[role] for role in roles if role in self.by_role), ())


NO_TRAINING_DATA = TrainingData(MappingProxyType({}))


def training_data_of(crew: CrewDefinition) -> TrainingData:
    """Return the training data of a crew: its `training_data`, else that of the configured file.

    The same object is returned while nothing changes.

    Raises:
        RunError: the configured file does not exist, or `training_data` is invalid.
        StorageError: the file cannot be read.
    """
    if crew.training_data:
        return _data_of_crew(crew)
    configured = crew.trained_agents_file or os.environ.get(_FILE_VARIABLE) or os.environ.get(_CREWAI_VARIABLE) or None
    if configured is None and not os.path.lexists(FILE):
        return NO_TRAINING_DATA
    path = Path(FILE) if configured is None else training_path(configured, label="`trained_agents_file`")
    try:
        stat = path.stat()
    except FileNotFoundError:
        if configured is None:
            return NO_TRAINING_DATA
        raise RunError(f"there is no training file `{path.absolute()}`; `crew.train(...)` creates it") from None
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be read: {error}") from error
    return _read(path.absolute(), stat.st_mtime_ns, stat.st_size)


@lru_cache(16)
def _read(path: Path, changed: int, size: int) -> TrainingData:
    return _training_data(read_training(path).agents)


def _data_of_crew(crew: CrewDefinition) -> TrainingData:
    data: TrainingData | None = crew.derived.get(("lessons", repr(crew.training_data)))
    if data is None:
        try:
            data = _training_data(
                {role: TrainedAgent.model_validate(agent) for role, agent in crew.training_data.items()}
            )
        except ValidationError as error:
            example = '{"Writer": {"suggestions": ["Be short."], "quality": 7, "final_summary": "..."}}'
            raise RunError(f"`training_data` of the crew must look like {example}: {error}") from error
        crew.derived.put(("lessons", repr(crew.training_data)), data)
    return data


def _training_data(agents: Mapping[str, TrainedAgent]) -> TrainingData:
    return TrainingData({role: tuple(agent.suggestions) for role, agent in agents.items() if agent.suggestions})
