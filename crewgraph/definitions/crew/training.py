"""Training of crews: the `train` methods, and the JSON file of people's feedback and the lessons drawn from it."""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.errors import RunError, StorageError
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.definitions.task.output import TaskOutput
    from crewgraph.runtime.crew.training import atrain_crew, train_crew
else:
    atrain_crew = lazy("crewgraph.runtime.crew.training:atrain_crew")
    train_crew = lazy("crewgraph.runtime.crew.training:train_crew")

__all__ = [
    "CrewTraining",
    "Feedback",
    "TrainedAgent",
    "Training",
    "TrainingFile",
    "read_training",
    "training_path",
    "write_training",
]


class CrewTraining:
    """How people teach the agents of a crew."""

    def train(
        self,
        n_iterations: int,
        filename: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        feedback: "Callable[[TaskOutput], Any] | None" = None,
        checkpointer: "Checkpointer" = None,
    ) -> None:
        """Run the crew several times, ask a person what is to be better in each answer, and draw lessons from that.

        The agent improves its answer before the next task begins. At the end a model draws instructions for each agent from
        all that was said of its answers; later runs of crews add them to the prompts of agents with that role, where
        they find the file (see `trained_agents_file`).

        What people say is in the file as soon as they have said it. A training that was interrupted goes on where it was when
        `train` is called again with the same file and inputs.

        Args:
            n_iterations: how many runs; at least 1.
            filename: the JSON file for what people said and for the lessons; `x` and `x.pkl` are `x.json`.
            inputs: values for the `{placeholders}`.
            feedback: asks instead of the terminal: a function, sync or async, that is given the `TaskOutput` and returns what
                somebody says of it; an empty text accepts the answer.
            checkpointer: where the runs are kept, as for `kickoff`.

        Raises:
            ValueError: `n_iterations` is less than 1.
            RunError: there is nobody to ask, or the file holds another training that is not finished.
            StorageError: the file cannot be read or written; a pickle is never opened.
            OutputInvalid: the model drew no lessons that can be read.
            Exception: what `kickoff` raises. What was said is kept.
        """
        train_crew(cast("Crew", self), n_iterations, filename, inputs, feedback, checkpointer)

    async def atrain(
        self,
        n_iterations: int,
        filename: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        feedback: "Callable[[TaskOutput], Any] | None" = None,
        checkpointer: "Checkpointer" = None,
    ) -> None:
        """Train the crew on this event loop; see `train`."""
        await atrain_crew(cast("Crew", self), n_iterations, filename, inputs, feedback, checkpointer)


_log = logging.getLogger("crewgraph")

_NO_PICKLE = "nothing is pickled here"


class TrainedAgent(BaseModel):
    """What an agent learned in a training."""

    suggestions: list[str] = Field(description="Instructions for future work, each a sentence that can be followed")
    """Instructions that are added to the prompts of its tasks."""

    quality: float = Field(
        description="How good the improved answers are, judged by the feedback, from 0 (useless) to 10 (nothing to add)"
    )
    """How good its improved answers are, 0 to 10."""

    final_summary: str = Field(
        description="What is to be done differently from now on, step by step, in a few sentences"
    )
    """What it is to do differently, as a text."""


class Feedback(BaseModel):
    """What a person said of an answer."""

    iteration: int
    """In which round, from 1."""

    task: str
    """Of which task, by the name of its node."""

    agent: str
    """Of which agent, by its role as it is written."""

    initial_output: str
    """The answer."""

    human_feedback: str
    """What was said; empty where the answer was accepted."""

    improved_output: str
    """The answer that was given then."""


class Training(BaseModel):
    """One call of `train`, as far as it came."""

    crew: str
    """A digest of the crew's tasks and roles."""

    iterations: int
    """How many rounds were asked for."""

    inputs: dict[str, Any]
    """The values for the placeholders."""

    threads: list[str] = Field(default_factory=list[str])
    """The threads of the rounds that have begun."""

    done: int = 0
    """How many of them are finished."""

    feedback: list[Feedback] = Field(default_factory=list[Feedback])
    """What people said, in the order in which they said it."""

    distilled: list[str] = Field(default_factory=list[str])
    """The roles whose lessons have been drawn from that."""

    finished: bool = False
    """Whether nothing is left to do."""

    def heard(self, feedback: Feedback) -> None:
        """Add what was said; it takes the place of what was said of that answer before."""
        same = (feedback.iteration, feedback.task)
        self.feedback = [*(one for one in self.feedback if (one.iteration, one.task) != same), feedback]

    def of(self, role: str, *, before: int | None = None) -> list[Feedback]:
        """What was said of an agent's answers, in the rounds before one; in all where None."""
        return [
            one
            for one in sorted(self.feedback, key=lambda one: one.iteration)
            if one.agent == role and one.human_feedback and (before is None or one.iteration < before)
        ]


class TrainingFile(BaseModel):
    """What the file of a training holds."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    """The form of the file."""

    agents: dict[str, TrainedAgent] = Field(default_factory=dict[str, TrainedAgent])
    """What agents have learned, by their roles as they are written."""

    training: Training | None = None
    """The last training."""


def training_path(filename: object, *, wanted: str = "`filename`") -> Path:
    """The JSON file that a name stands for: `x`, `x.pkl` and `x.json` are all `x.json`.

    Args:
        filename: what was given.
        wanted: what it was given as, for messages.

    Raises:
        RunError: it is no name of a file.
    """
    name = str(cast(Any, filename)) if isinstance(filename, (str, os.PathLike)) else ""
    if not name:
        raise RunError(f'{wanted} is {filename!r:.80}; give the name of a file, such as "lessons.json"')
    path = Path(name).expanduser()
    if path.is_dir() or name.endswith(("/", os.sep)):
        raise RunError(
            f"{wanted} `{name}` is a folder; give the name of a file in it, such as `{path / 'lessons.json'}`"
        )
    if path.suffix == ".json":
        return path
    made = path.with_suffix(".json") if path.suffix == ".pkl" else path.with_name(f"{path.name}.json")
    left = f"; the pickle `{name}` is not opened" if path.suffix == ".pkl" and path.exists() else ""
    _log.warning("training: %s, what is taught is in `%s`%s", _NO_PICKLE, made, left)
    return made


def read_training(path: Path) -> TrainingFile:
    """What a file holds.

    Raises:
        StorageError: it cannot be read, or is no such file.
        FileNotFoundError: there is none.
    """
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be read: {error}") from error
    if written[:1] == b"\x80":  # the first byte of every pickle since Python 2.3
        raise StorageError(
            f"`{path}` is a pickle, whatever its name says, and {_NO_PICKLE}: it was not opened. Train again, with "
            "another name for the file."
        )
    try:
        held: Any = json.loads(written)
    except ValueError as error:
        raise _invalid_file(path, f"it is no JSON: {error}") from error
    version: Any = held.get("version") if isinstance(held, Mapping) else None  # pyright: ignore[reportUnknownVariableType]
    if isinstance(version, int) and version > 1:
        raise StorageError(
            f"the training file `{path}` has version {version}; this version of crewgraph reads version 1"
        )
    try:
        return TrainingFile.model_validate(held)
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in error.errors()[:3]
        )
        raise _invalid_file(path, places) from error


def _invalid_file(path: Path, why: str) -> StorageError:
    return StorageError(f"`{path}` is no training file: {why}. Mend or remove it, or give another name.")


def write_training(path: Path, held: TrainingFile) -> None:
    """Put everything into a file that its owner alone can read: all of it or, after a crash, what was there before.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(f"there is no folder `{path.parent}`")
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(held.model_dump_json(indent=2))
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be written: {error}") from error
