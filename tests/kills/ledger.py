"""A log of effects, line by line in a file outside of any checkpoint, and a kill at one of them."""

import os
import signal
import threading
from dataclasses import dataclass

__all__ = ["Ledger"]


class Ledger:
    """Writes lines to the log, and kills the process at a given line."""

    def __init__(self, path: str, kill: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._kill = kill
        self._counts = {"R": 0, "C": 0}
        self._lock = threading.Lock()

    def effect(self, name: str) -> None:
        self._die(f"before E {name}")
        os.write(self._file, f"E {name}\n".encode())
        self._die(f"after E {name}")

    def stored(self, kind: str) -> "Stored":
        with self._lock:
            self._counts[kind] += 1
            return Stored(self, f"{kind} {self._counts[kind]}")

    def line(self, text: str) -> None:
        os.write(self._file, f"{text}\n".encode())

    def _die(self, point: str) -> None:
        if point == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)

    die = _die


@dataclass(frozen=True)
class Stored:
    """Wraps the storing of something: the process may die before or after it."""

    ledger: Ledger
    name: str

    def __enter__(self) -> None:
        self.ledger.die(f"before {self.name}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # otherwise the checkpointer has to wait for another writer, and retries in a thread
            self.ledger.line(self.name)
            self.ledger.die(f"after {self.name}")
