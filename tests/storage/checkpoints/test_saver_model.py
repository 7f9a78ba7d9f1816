"""Random trees of checkpoints and random removals: what remains reads as it was written."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from combinations import of
from langgraph.checkpoint.base import CheckpointTuple
from storage.checkpoints.saver_graphs import on

from crewgraph.storage.checkpoints import SqliteCheckpointer

Put = dict[str, Any]


class Tree:
    """A thread as a plain dictionary: what the checkpointer is compared with."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.puts: dict[str, Put] = {}
        self.made = 0

    def grow(self, saver: SqliteCheckpointer, thread: str) -> None:
        dice = self.dice
        parent = (
            dice.choice(sorted(self.puts)[-3:] if dice.random() < 0.8 else sorted(self.puts)) if self.puts else None
        )
        old: Put = self.puts[parent] if parent else {"values": {}, "versions": {}, "seen": {}}
        values: dict[str, Any] = dict(old["values"])
        versions: dict[str, str] = dict(old["versions"])
        seen: dict[str, dict[str, str]] = {node: dict(was) for node, was in old["seen"].items()}
        new: dict[str, str] = {}
        version = saver.get_next_version(max(versions.values(), default=None), None)
        for channel in dice.sample([f"c{i}" for i in range(12)], dice.randint(0, 4)):
            new[channel] = versions[channel] = version
            values[channel] = dice.choice([None, channel * dice.randint(1, 400), {"n": [dice.random()]}, b"\0\xff"])
            if dice.random() < 0.2:
                del values[channel]
        if versions and dice.random() < 0.1:
            gone = dice.choice(sorted(versions))
            versions.pop(gone)
            values.pop(gone, None)
            new.pop(gone, None)
        for node in dice.sample(["a", "b", "c", "d"], dice.randint(0, 2)):
            seen[node] = dict(dice.sample(sorted(versions.items()), min(2, len(versions))))
        if seen and dice.random() < 0.1:
            del seen[dice.choice(sorted(seen))]
        self.made += 1
        id = f"{self.made:06d}"
        run = f"run {dice.randint(0, 5)}"
        checkpoint: Any = {
            "v": 4, "ts": id, "id": id, "channel_values": dict(values), "channel_versions": dict(versions),
            "versions_seen": seen, "updated_channels": sorted(new),
        }  # fmt: skip
        config = on(thread, checkpoint_ns="", **({"checkpoint_id": parent} if parent else {}))
        # LangGraph's threads store what a task wrote before or after the checkpoint that holds it.
        written = [(name, values[name]) for name in new if name in values and dice.random() < 0.8]
        sooner = dice.randint(0, len(written))
        self.write(saver, thread, parent, written[:sooner])
        saver.put(config, checkpoint, {"run_id": run, "step": self.made}, dict(new))
        self.write(saver, thread, parent, written[sooner:])
        self.puts[id] = {
            "values": values, "versions": versions, "seen": seen, "parent": parent, "run": run, "writes": {},
        }  # fmt: skip
        self.write(saver, thread, id, [("w", "x" * dice.choice([3, 3_000])), ("v", None)][: dice.randint(0, 2)])

    def write(self, saver: SqliteCheckpointer, thread: str, id: str | None, writes: Sequence[tuple[str, Any]]) -> None:
        """Let a task write at a checkpoint; it may have done so before, and its first writes stay."""
        if id is None or not writes:
            return
        task = self.dice.choice("abc")
        saver.put_writes(on(thread, checkpoint_ns="", checkpoint_id=id), writes, task)
        for position, write in enumerate(writes):
            self.puts[id]["writes"].setdefault((task, position), write)

    def keep(self, retained: set[str]) -> None:
        self.puts = {id: put for id, put in self.puts.items() if id in retained}
        for put in self.puts.values():
            put["parent"] = put["parent"] if put["parent"] in retained else None


def describe(one: CheckpointTuple) -> Put:
    configurable: dict[str, Any] = (one.parent_config or {}).get("configurable", {})
    return {
        "values": one.checkpoint["channel_values"],
        "versions": one.checkpoint["channel_versions"],
        "seen": one.checkpoint["versions_seen"],
        "parent": configurable.get("checkpoint_id"),
        "run": one.metadata.get("run_id"),
        "writes": [(channel, value) for _, channel, value in one.pending_writes or ()],
    }


def check(saver: SqliteCheckpointer, thread: str, puts: dict[str, Put]) -> None:
    listed = {checkpoint.checkpoint["id"]: describe(checkpoint) for checkpoint in saver.list(on(thread))}
    expected = {
        id: {**put, "writes": [write for _, write in sorted(put["writes"].items())]} for id, put in puts.items()
    }
    assert listed == expected
    assert list(listed) == sorted(puts, reverse=True)
    for id, put in expected.items():
        stored = saver.get_tuple(on(thread, checkpoint_id=id))
        assert stored is not None and describe(stored) == put


@pytest.mark.parametrize("seed", range(of(4, 12)))
def test_what_stays_reads_as_it_was_put(seed: int, tmp_path: Path):
    dice = random.Random(seed)
    tree, copies, opened = Tree(dice), 0, 0
    saver = SqliteCheckpointer(tmp_path / "runs.sqlite")
    for _ in range(60):
        choice = dice.random()
        if choice < 0.75 or not tree.puts:
            for _ in range(dice.randint(1, 12)):
                tree.grow(saver, "t")
        elif choice < 0.83:
            run = f"run {dice.randint(0, 5)}"
            saver.delete_for_runs([run])
            tree.keep({id for id, put in tree.puts.items() if put["run"] != run})
        elif choice < 0.87:
            saver.prune(["t"])
            tree.keep({max(tree.puts)})
        elif choice < 0.93:
            copies += 1
            saver.copy_thread("t", f"copy {copies}")
            check(saver, f"copy {copies}", tree.puts)
            saver.delete_thread(f"copy {copies}")
            check(saver, f"copy {copies}", {})
        else:
            opened += 1
            saver.close()
            saver = SqliteCheckpointer(tmp_path / "runs.sqlite")
        check(saver, "t", tree.puts)
    saver.delete_thread("t")
    check(saver, "t", {})
    assert saver_rows(tmp_path / "runs.sqlite") == {"lineages": 0, "checkpoints": 0, "writes": 0, "payloads": 0}
    saver.close()


def saver_rows(file: Path) -> dict[str, int]:
    connection = sqlite3.connect(file)
    tables = ("lineages", "checkpoints", "writes", "payloads")
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    connection.close()
    return counts


def test_a_checkpoint_put_again_leaves_its_children_as_they_were(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:

        def put(id: str, parent: str | None, values: dict[str, Any], version: str) -> None:
            checkpoint: Any = {
                "v": 4,
                "ts": id,
                "id": id,
                "channel_values": values,
                "channel_versions": dict.fromkeys(values, version),
                "versions_seen": {},
                "updated_channels": None,
            }
            saver.put(on("t", checkpoint_ns="", checkpoint_id=parent), checkpoint, {}, dict.fromkeys(values, version))

        put("1", None, {"a": "one", "b": "old", "c": "c" * 500}, "1")
        put("2", "1", {"a": "two", "b": "old", "c": "c" * 500}, "2")
        put("1", None, {"a": "ONE"}, "9")
        first, second = (saver.get_tuple(on("t", checkpoint_id=id)) for id in "12")
        assert first is not None and first.checkpoint["channel_values"] == {"a": "ONE"}
        assert second is not None
        assert second.checkpoint["channel_values"] == {"a": "two", "b": "old", "c": "c" * 500}
    connection = sqlite3.connect(tmp_path / "runs.sqlite")
    assert connection.execute("SELECT count(*) FROM payloads").fetchone() == (4,)
    connection.close()
