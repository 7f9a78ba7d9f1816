"""Data that a program keeps in a file by itself, where CrewAI pickles it. Nothing is pickled or unpickled here."""

import json
from pathlib import Path
from typing import Any

from crewgraph.definitions.crew.training import training_path
from crewgraph.errors import StorageError
from crewgraph_compat.stand_ins.json_encoder import CrewJSONEncoder

__all__ = ["CrewTrainingHandler", "PickleHandler"]


class PickleHandler:
    """Keeps data in a JSON file, whatever its name says: `x` and `x.pkl` stand for `x.json`.

    Numbers as keys become texts in JSON, and are numbers again when they are read.

    Args:
        file_name: the file, in the working directory.

    Raises:
        RunError: it is no name of a file.
    """

    def __init__(self, file_name: str) -> None:
        self.file_path = str(training_path(file_name, wanted="`file_name`").absolute())

    def initialize_file(self) -> None:
        """Make the file anew, with nothing in it."""
        self.save({})

    def save(self, data: Any) -> None:
        """Keep data in the place of what the file held.

        Raises:
            TypeError: it is nothing that JSON can hold.
            StorageError: the file cannot be written.
        """
        try:
            Path(self.file_path).write_text(json.dumps(data, cls=CrewJSONEncoder, indent=2), "utf-8")
        except OSError as error:
            raise StorageError(f"`{self.file_path}` cannot be written: {error}") from error

    def load(self) -> Any:
        """What the file holds; an empty dict where there is none, or nothing in it.

        Raises:
            StorageError: it cannot be read, or is no JSON.
        """
        try:
            written = Path(self.file_path).read_bytes()
            return json.loads(written, object_pairs_hook=_numbered) if written.strip() else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise StorageError(
                f"`{self.file_path}` cannot be read: {error}. It is to be JSON; a pickle is not opened."
            ) from error


class CrewTrainingHandler(PickleHandler):
    """What people said of answers, by agents and rounds, kept by hand; `crew.train` keeps a file of its own."""

    def save_trained_data(self, agent_id: str, trained_data: dict[str, Any]) -> None:
        """Keep what an agent learned, in the place of what is kept of it."""
        self.save({**self.load(), agent_id: trained_data})

    def append(self, train_iteration: int, agent_id: str, new_data: Any) -> None:
        """Add what belongs to a round of an agent, in the place of what is kept of that round."""
        data = self.load()
        data.setdefault(agent_id, {})[train_iteration] = new_data
        self.save(data)

    def clear(self) -> None:
        """Forget everything, if there is such a file."""
        if Path(self.file_path).exists():
            self.save({})


def _numbered(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}
