"""Training of crews: the `train` methods, and the JSON file of people's feedback and the lessons drawn from it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.disk import PRIVATE, replace_file
from crewgraph.errors import RunError, StorageError
from crewgraph.redaction import redacted_logger
from crewgraph.schema import fault_text

_log = redacted_logger("crewgraph")

_NO_PICKLE = "nothing is pickled here"


class TrainedAgent(BaseModel, defer_build=True):
    """The lessons that an agent learned in training."""

    suggestions: list[str] = Field(description="Actionable instructions for future work, one sentence each")
    """Instructions that are added to the prompts of its tasks."""

    quality: float = Field(
        description="How good the improved answers are, judged by the feedback, from 0 (useless) to 10 (nothing to add)"
    )
    """How good its improved answers are, 0 to 10."""

    final_summary: str = Field(description="What to do differently from now on, step by step, in a few sentences")
    """What it is to do differently, as a text."""


class Feedback(BaseModel, defer_build=True):
    """Human feedback on an answer."""

    iteration: int
    """Number of the iteration, from 1."""

    task: str
    """The task's node name."""

    agent: str
    """The agent's role template."""

    initial_output: str
    """The initial answer."""

    human_feedback: str
    """The feedback; empty if the answer was accepted."""

    improved_output: str
    """The improved answer."""


class Training(BaseModel, defer_build=True):
    """Progress of a call of `train`."""

    crew: str
    """Digest of the crew's tasks and roles."""

    iterations: int
    """Number of iterations."""

    inputs: dict[str, Any]
    """Values for the placeholders."""

    threads: list[str] = Field(default_factory=list[str])
    """Thread ids of the started iterations."""

    done: int = 0
    """Number of finished iterations."""

    feedback: list[Feedback] = Field(default_factory=list[Feedback])
    """The feedback, in chronological order."""

    distilled: list[str] = Field(default_factory=list[str])
    """Roles whose lessons have been derived."""

    finished: bool = False
    """Whether the training is complete."""

    def add_feedback(self, feedback: Feedback) -> None:
        """Add feedback, replacing earlier feedback on the same answer."""
        key = (feedback.iteration, feedback.task)
        self.feedback = [*(item for item in self.feedback if (item.iteration, item.task) != key), feedback]

    def of(self, role: str, *, before: int | None = None) -> list[Feedback]:
        """Return the feedback on an agent's answers, only from iterations before `before` if that is given."""
        return [
            item
            for item in sorted(self.feedback, key=lambda item: item.iteration)
            if item.agent == role and item.human_feedback and (before is None or item.iteration < before)
        ]


class TrainingFile(BaseModel, defer_build=True):
    """Contents of a training file."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    """Version of the file format."""

    agents: dict[str, TrainedAgent] = Field(default_factory=dict[str, TrainedAgent])
    """The trained agents by role template."""

    training: Training | None = None
    """The latest training."""


def training_path(filename: object, *, label: str = "`filename`") -> Path:
    """Return the JSON file of a training: `x`, `x.pkl` and `x.json` all become `x.json`.

    Args:
        filename: The file name.
        label: The name of the argument or field, for error messages.

    Raises:
        RunError: If it is not the name of a file.
    """
    name = str(cast(Any, filename)) if isinstance(filename, (str, os.PathLike)) else ""
    if not name:
        raise RunError(f'{label} is {filename!r:.80}; pass the name of a file, such as "lessons.json"')
    path = Path(name).expanduser()
    if path.is_dir() or name.endswith(("/", os.sep)):
        raise RunError(
            f"{label} `{name}` is a folder; pass the name of a file in it, such as `{path / 'lessons.json'}`"
        )
    if path.suffix == ".json":
        return path
    json_path = path.with_suffix(".json") if path.suffix == ".pkl" else path.with_name(f"{path.name}.json")
    note = f"; the pickle `{name}` is not opened" if path.suffix == ".pkl" and path.exists() else ""
    _log.warning("training: %s, lessons are stored in `%s`%s", _NO_PICKLE, json_path, note)
    return json_path


def read_training(path: Path) -> TrainingFile:
    """Read a training file.

    Raises:
        StorageError: If it cannot be read, or is not a training file.
        FileNotFoundError: If there is no such file.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be read: {error}") from error
    if data[:1] == b"\x80":  # the first byte of every pickle since Python 2.3
        raise StorageError(
            f"`{path}` is a pickle, whatever its name says, and {_NO_PICKLE}: it was not opened. Train again, with "
            "another name for the file."
        )
    try:
        values: object = json.loads(data)
    except ValueError as error:
        raise _invalid_file(path, f"it is not JSON: {error}") from error
    version: object = values.get("version") if isinstance(values, Mapping) else None  # pyright: ignore[reportUnknownVariableType]
    if isinstance(version, int) and version > 1:
        raise StorageError(
            f"the training file `{path}` has version {version}; this version of crewgraph reads version 1"
        )
    try:
        return TrainingFile.model_validate(values)
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'the file'}: {fault_text(item)}" for item in error.errors()[:3]
        )
        raise _invalid_file(path, places) from error


def _invalid_file(path: Path, reason: str) -> StorageError:
    return StorageError(f"`{path}` is not a training file: {reason}. Fix or remove it, or use another name.")


def write_training(path: Path, training_file: TrainingFile) -> None:
    """Write a training file as a whole; a new one is readable by its owner only.

    Raises:
        StorageError: If it cannot be written.
    """
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(f"there is no folder `{path.parent}`")
        replace_file(path, training_file.model_dump_json(indent=2), mode=PRIVATE)
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be written: {error}") from error
