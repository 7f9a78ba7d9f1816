"""A crew with memory that is killed: `python -m kills.crew_with_memory FOLDER [KILL]` starts or resumes its run.

Then prints the contents of its memory. Each save leaves a line `E ...` in the ledger once it is done.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.memory.storage import LTMSQLiteStorage, RAGStorage, Storage
from crewgraph.storage.checkpoints import SqliteCheckpointer
from kills.ledger import Ledger
from kills.program import watched

__all__ = ["main"]

_FOUND: dict[str, Any] = {
    "suggestions": ["count twice"],
    "quality": 7,
    "entities": [{"name": "Ada", "type": "boat", "description": "red", "relationships": []}],
}


class _Told(RAGStorage):
    """Writes each save to the ledger."""

    ledger: Ledger

    def save(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        super().save(value, metadata)
        self.ledger.effect(f"{self.type}-{value}".replace(" ", "_"))


class _ToldLong(LTMSQLiteStorage):
    ledger: Ledger

    def save(self, task_description: str, metadata: dict[str, Any], datetime: str, score: int | float | None) -> None:
        super().save(task_description, metadata, datetime, score)
        self.ledger.effect(f"long-{task_description}".replace(" ", "_"))


class _Own(Storage):
    """A list in a file, which stores duplicates."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self._path, self._ledger = path, ledger

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(f"{value}\n")
        self._ledger.effect(f"own-{value}".replace(" ", "_"))

    def search(self, query: str, limit: int, score_threshold: float) -> list[Any]:
        return self.stored

    @property
    def stored(self) -> list[str]:
        """Return its contents."""
        return self._path.read_text().splitlines() if self._path.exists() else []


def _crew(folder: Path, ledger: Ledger, saver: Any) -> Crew:
    def look(where: str) -> str:
        """Look somewhere."""
        return f"three boats at {where}"

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        if "a score from 0 to 10" in str(messages[0]["content"]):
            return json.dumps(_FOUND)
        task = str(messages[1]["content"]).split("\n")[1]
        return ToolUse("look", {"where": task.split()[-1]}) if len(messages) == 2 else f"the answer to {task}"

    worker = Agent(role="w", goal="g", backstory="b", llm=ScriptedLLM(reply, native_tools=True), tools=[look])
    tasks = [Task(description=f"look at {place}", expected_output="x", agent=worker) for place in ("Bonn", "Kiel")]
    short, entities = _Told("short_term", path=folder), _Told("entities", path=folder)
    long = _ToldLong(folder / "long.db")
    short.ledger = entities.ledger = long.ledger = ledger
    return Crew(
        agents=[worker],
        tasks=tasks,
        short_term_memory=ShortTermMemory(storage=short),
        entity_memory=EntityMemory(storage=entities),
        long_term_memory=LongTermMemory(storage=long),
        external_memory=ExternalMemory(storage=_Own(folder / "own.txt", ledger)),
        checkpointer=saver,
    )


def main(folder: Path, kill: str) -> None:
    """Start or resume the run, and print the contents of the memory."""
    ledger = Ledger(str(folder / "ledger.txt"), kill)
    with watched(SqliteCheckpointer, ledger)(folder / "runs.db") as saver:
        crew = _crew(folder, ledger, saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        if saver.get_tuple(config) is None:
            crew.kickoff(thread_id="t")
        else:
            crew.resume("t")
        short, entities = crew.short_term_memory.storage, crew.entity_memory.storage
        print(
            json.dumps(
                {
                    "short": sorted(one["content"] for one in short.search("boats", limit=50, score_threshold=-1)),
                    "entities": [one["content"] for one in entities.search("boats", limit=50, score_threshold=-1)],
                    "long": [len(crew.long_term_memory.search(task.description)) for task in crew.tasks],
                    "own": crew.external_memory.storage.stored,
                }
            )
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
