"""What the tasks of the latest kickoff gave, for programs that look it up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from crewgraph.compiler.crew.state import TASK
from crewgraph.definitions.crew.pending import RunFilter
from crewgraph.definitions.task.task import Task
from crewgraph.runtime.runs.index import all_runs
from crewgraph.runtime.runs.storage import DATABASE
from crewgraph.runtime.runs.stored_run import stored_run
from crewgraph.settings import storage_dir
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["LatestRun", "TaskOutputStorageHandler", "latest_run"]


class TaskOutputStorageHandler:
    """Reads the outputs of the latest run of a crew, which runs keep by themselves; `crew.runs` has all runs.

    What a program adds by itself is kept in the object alone, in the place of those.
    """

    def __init__(self) -> None:
        self._added: list[dict[str, Any]] | None = None

    def load(self) -> list[dict[str, Any]]:
        """The outputs: "task_id", "expected_output", "output", "task_index", "inputs" and "was_replayed" of each."""
        if self._added is not None:
            return self._added
        run = latest_run()
        return [] if run is None else run.outputs

    def add(
        self,
        task: Task,
        output: dict[str, Any],
        task_index: int,
        inputs: dict[str, Any] | None = None,
        was_replayed: bool = False,
    ) -> None:
        """Add an output."""
        entry = _entry(str(task.id), task.expected_output, output, task_index, inputs or {}, was_replayed)
        self._added = [*(self._added or []), entry]

    def update(self, task_index: int, log: dict[str, Any]) -> None:
        """Change an output; nothing where there is none with this number.

        Args:
            task_index: its number.
            log: with "task", "output", "inputs" and "was_replayed".
        """
        output: Any = log["output"]
        fields = cast("dict[str, Any]", output if isinstance(output, dict) else output.model_dump(mode="json"))
        for entry in self._added or ():
            if entry["task_index"] == task_index:
                task: Any = log["task"]
                entry.update(
                    task_id=str(task.id),
                    expected_output=task.expected_output,
                    output=fields,
                    inputs=log.get("inputs") or {},
                    was_replayed=bool(log.get("was_replayed")),
                )

    def reset(self) -> None:
        """Begin anew, with no outputs; runs stay kept."""
        self._added = []


@dataclass(frozen=True)
class LatestRun:
    """The run of a crew that was written last."""

    key: str
    """Which one it is, and as of when."""

    at: datetime
    outputs: list[dict[str, Any]]


def latest_run() -> LatestRun | None:
    """The latest run of a crew; None where none is kept."""
    file = storage_dir() / DATABASE
    if not file.is_file():
        return None
    with SqliteCheckpointer(file) as saver:
        latest = all_runs(saver, RunFilter(inside=True, limit=1), "crew")
        if not latest:
            return None
        run = stored_run(saver, latest[0].thread_id)
    outputs = [
        _entry(
            _id_of(output),
            output.get("expected_output"),
            {field: value for field, value in output.items() if field != TASK},
            number,
            dict(run.inputs),
            False,
        )
        for number, output in enumerate(run.finished.values())
    ]
    at = latest[0].updated_at
    return LatestRun(f"{latest[0].thread_id} {at.isoformat()} {len(outputs)}", at, outputs)


def _id_of(output: Mapping[str, Any]) -> str:
    task: Mapping[str, Any] = output.get(TASK) or {}
    return str(task.get("id"))


def _entry(
    task_id: str, expected: str | None, output: dict[str, Any], index: int, inputs: dict[str, Any], was_replayed: bool
) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "expected_output": expected,
        "output": output,
        "task_index": index,
        "inputs": inputs,
        "was_replayed": was_replayed,
    }
