"""Processes that are killed while they save: `make kills` runs this and writes `kills.md`.

A child writes into a store until it is killed; before and after each operation it notes it in a ledger. Another child then
compares the store with the ledger: each acknowledged operation counts, the last one may have happened, whole, or not at all.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from langgraph.store.base import PutOp

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag

__all__ = ["killed"]

_KEYS = 150
_OPERATIONS = 60  # at most, before a kill
_SECONDS = (0.0, 0.003)  # into an operation
_ELSEWHEN = 0.08  # seconds: one kill of four comes at any time, also while a store is opened or closed
_TABLE = Path(__file__).with_name("kills.md")

Operation = list[tuple[str, str, int | None]]
"""Puts of one batch: namespace, key, number; no number is a removal."""

_State = dict[tuple[str, str], int]


def killed(times: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Kill writers of one store a number of times, and return the counts. Nothing may be imported later: children are forks.

    Raises:
        AssertionError: a store did not hold what it should.
    """
    dice = random.Random(seed)
    store, ledger = folder / "store.db", folder / "ledger.txt"
    counted: Counter[str] = Counter()
    for number in range(times):
        listening, telling = os.pipe()
        writer = _child(lambda number=number, telling=telling: _write(store, ledger, telling, seed * 100_000 + number))
        os.close(telling)
        if number % 4:
            for _ in range(dice.randint(1, _OPERATIONS)):
                os.read(listening, 1)
            _wait(dice.uniform(*_SECONDS))
        else:
            _wait(dice.uniform(0, _ELSEWHEN))
        os.kill(writer, signal.SIGKILL)
        os.close(listening)
        _, status = os.waitpid(writer, 0)
        if os.WIFSIGNALED(status):
            counted["killed"] += 1
        else:
            raise AssertionError(f"writer {number} ended by itself: {status}")
        report = folder / "report.json"
        checker = _child(lambda report=report: _check(store, ledger, report))
        _, status = os.waitpid(checker, 0)
        if status:
            raise AssertionError(f"after kill {number} of seed {seed}, the store is not what it should be")
        counted.update(json.loads(report.read_text()))
    return counted


def _child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent
        print(repr(error), file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _wait(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:  # sleeping is not exact enough
        pass


def _opened(path: Path) -> FaissStore:
    return FaissStore(path, index={"embed": Bag(), "fields": ["text"]})


def _write(path: Path, ledger: Path, telling: int, seed: int) -> None:
    dice = random.Random(seed)
    note = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        with _opened(path) as store:
            for _ in range(dice.randint(1, 200)):
                operation = _operation(dice)
                os.write(note, f"?{json.dumps(operation)}\n".encode())
                os.write(telling, b"?")
                store.batch([_put(*part) for part in operation])
                os.write(note, b"!\n")
                if dice.random() < 0.1:
                    store.search((), query=f"tea {dice.randint(0, 9999)}")


def _operation(dice: random.Random) -> Operation:
    size = 1 if dice.random() < 0.7 else dice.randint(2, 20)
    places = [(dice.choice("abc"), str(dice.randint(0, _KEYS))) for _ in range(size)]
    return [(*place, None if dice.random() < 0.15 else dice.randint(0, 9999)) for place in dict.fromkeys(places)]


def _put(namespace: str, key: str, number: int | None) -> PutOp:
    return PutOp((namespace,), key, None if number is None else {"text": f"tea {number}", "n": number})


def _states(ledger: Path) -> Iterator[_State]:
    """Return the possible contents of the store: with all acknowledged operations, and with or without the last one."""
    state: _State = {}
    started: Operation = []
    for line in ledger.read_text().splitlines() if ledger.exists() else []:
        if line.startswith("?"):
            started = json.loads(line[1:]) if line.endswith("]") else []
        elif line in ("!", "#"):
            state, started = _after(state, started), []
    yield state
    if started:
        yield _after(state, started)


def _after(state: _State, operation: Operation) -> _State:
    after = dict(state)
    for namespace, key, number in operation:
        after.pop((namespace, key), None)
        if number is not None:
            after[namespace, key] = number
    return after


def _check(path: Path, ledger: Path, report: Path) -> None:
    counted: Counter[str] = Counter()
    if path.exists():
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the file is torn"
    with _opened(path) as store:
        items = store.search((), limit=100_000)
        held: _State = {(item.namespace[0], item.key): item.value["n"] for item in items}
        states = list(_states(ledger))
        assert held in states, f"{len(held)} entries that are neither {[len(state) for state in states]}"
        counted["begun when killed"] += len(states) - 1
        counted["of these done"] += len(states) == 2 and held == states[1] and held != states[0]
        nearest = store.search((), query="tea 1234", limit=100_000)
        assert {(item.namespace[0], item.key) for item in nearest} == set(held), "the index is not the entries'"
        for namespace, key in random.Random(len(held)).sample(sorted(held), min(5, len(held))):
            (best,) = store.search((namespace,), query=f"tea {held[namespace, key]}", limit=1)
            assert best.value["n"] == held[namespace, key], "a vector is not its entry's"
    counted["entries read"] += len(held)
    counted["operations acknowledged"] += ledger.read_text().count("!") if ledger.exists() else 0
    _settle(ledger, held)
    report.write_text(json.dumps(counted))


def _settle(ledger: Path, held: _State) -> None:
    """Let the ledger begin with what is there, so that it does not grow with the kills."""
    operation = [(*place, number) for place, number in held.items()]
    ledger.write_text(f"?{json.dumps(operation)}\n#\n")


def main() -> None:
    """Kill the number of times given on the command line, and write the table."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counted = killed(times, Path(folder), seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    lines = [f"| {name} | {count:,} |" for name, count in counted.items()]
    table = ["# A store whose writers are killed", "", "| | |", "|---|---:|", *lines]
    ending = "No acknowledged entry was lost, no batch was torn, every index found what the store holds."
    print("\n".join([*table, "", ending]))
    print(f"{time.monotonic() - began:.0f} s")
    if len(sys.argv) == 1:
        _TABLE.write_text("\n".join([*table, "", ending, "", "`make kills` kills them again."]) + "\n")


if __name__ == "__main__":
    main()
