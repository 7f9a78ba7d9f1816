"""The journal: every result of an effect, kept through the checkpointer of whoever runs the graph.

A record is one write of the checkpointer's own `put_writes`, filed under the checkpoint that the node was started from, so
every LangGraph saver carries it. Path and digest stand in the write's task id, for savers ignore a second write to the
same id.

What a checkpoint tells of what was spent: for a run that is gone on with counts what it spent before.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from crewgraph.core.effects import Mark, Recorded
from crewgraph.core.limits import METER, SPENT, Meter
from crewgraph.core.operations import Program, Saving, Sleep
from crewgraph.core.pregel import Place, place_of, written_since_start
from crewgraph.core.questions import filed_in
from crewgraph.errors import CompileError, StorageError

__all__ = ["CHANNEL", "Journal", "JournalError", "Record", "appended_in", "sealed_id", "spent_before", "with_spent"]


_Told = dict[str, Any]


def with_spent(address: RunnableConfig) -> tuple[str, str]:
    """Namespace and id of a checkpoint."""
    place: Mapping[str, object] = address.get("configurable") or {}
    return str(place.get("checkpoint_ns", "")), str(place.get("checkpoint_id"))


def sealed_id(update: _Told, spent: Mapping[str, object]) -> _Told:
    """An update of the state whose outputs say what was spent for them."""
    return {name: {**value, **spent} if isinstance(value, dict) else value for name, value in update.items()}


def spent_before(saved: Any, records: str) -> list[_Told]:
    """The outputs and records at a checkpoint of a crew's graph that say what was spent, each of it once.

    Args:
        saved: the checkpoint, or None.
        records: the channel of the journal's records.
    """
    if saved is None:
        return []
    pending: list[tuple[str, str, Any]] = list(saved.pending_writes or ())
    ended = {task: value for task, channel, value in pending if channel != records and _is_sealed(value)}
    open_records = [
        value for task, channel, value in pending if channel == records and task.partition("#")[0] not in ended
    ]
    outputs = [value for value in written_since_start(saved).values() if _is_sealed(value)]
    return [*outputs, *ended.values(), *open_records]


def _is_sealed(value: Any) -> bool:
    spent: object = cast("_Told", value).get(SPENT) if isinstance(value, dict) else None
    return isinstance(spent, dict) and bool(cast("_Told", spent)) and set(cast("_Told", spent)) <= {"used", "at"}


CHANNEL = "__effect__"
"""The channel name of a record's write."""

Record = dict[str, Any]
"""`{"value": ...}` or `{"error": [type, text]}`, with "asks" and "tasks" where the effect used those counters, and what was
"spent" for it in a run that is metered."""

_STARTED = "?"
_NONE: Mapping[str, object] = {"value": None}
_APPENDED = "+"
_CLOCKED = "!"
_PATIENCE = 5.0
_REMEMBERED = 256

_lock = threading.Lock()
# Without a checkpointer: what a failed attempt had done, for its retry in this process.
_failed: OrderedDict[str, dict[str, Record]] = OrderedDict()


class JournalError(StorageError):
    """The record could not be kept: the run's failure, nothing a body may catch."""


class Journal:
    """The record of one execution of a node.

    Args:
        config: the node's config, as LangGraph gave it.
        stored: False where the graph was compiled to keep nothing.

    Raises:
        CompileError: the graph keeps nothing, but runs inside a graph that does: its records would have no checkpoint.
    """

    stepwise = False
    """Whether the body is played in steps of a graph, each of which may end before an effect."""

    def __init__(self, config: RunnableConfig, *, stored: bool = True) -> None:
        self._known: dict[str, Record] = {}
        self._count = 0
        self.spent = Meter()
        """What was spent for all that was answered and performed."""
        self.settle(config)
        if not stored and self.place.saver is not None:
            raise CompileError(
                "a crew compiled with `checkpointer=False` runs inside a graph that has a checkpointer; its steps could not "
                "be kept. Compile it with `checkpointer=None`, so that it uses its parent's."
            )

    def settle(self, config: RunnableConfig) -> None:
        """Be the record of the node that got this config."""
        self.config = config
        self.place: Place = place_of(config)
        self.saver = self.place.saver if self.place.home is not None else None
        # With durability "exit" nothing is on disk before the end: so neither are we.
        self._late = self.place.durability == "exit"
        # What is not stored yet: without a checkpointer nothing ever is, and no digest is needed unless an attempt fails.
        self._done: list[tuple[str, Recorded | None, Record]] = []
        # With durability "async" the checkpoints we file under may not be stored yet; a record without them would be lost.
        sure = self.place.again or self.place.durability == "sync" or self._late
        self._unsure = () if sure else self.place.above

    def load(self) -> Program[None]:
        """Fetch the records of an earlier attempt, where there may have been one."""
        if not self.place.again:
            return
        if self.saver is None:
            with _lock:
                self._known.update(_failed.pop(self.place.task, {}))
            return
        yield from self._recall()
        saved = yield Saving(self.saver, "get_tuple", self.place.home)
        mine = f"{self.place.task}#"
        for task, channel, value in (saved.pending_writes or ()) if saved else ():
            if channel == CHANNEL and task.startswith(mine):
                self._known[task[len(mine) :]] = value

    def _recall(self) -> Program[None]:
        """Let the meter of the run hear what was spent before, by an earlier process maybe."""
        meter, above = METER.get(), self.place.above
        if meter is None or not above:
            return
        names = [with_spent(address) for address in above]
        for level in range(len(above))[-2 if self.stepwise else -1 :]:
            if meter.recalls(names[level], names):
                saved = yield Saving(self.saver, "get_tuple", above[level])
                own = level == len(above) - 1
                meter.remember(names[level], self._spent_in(saved) if own else spent_before(saved, CHANNEL))

    def _spent_in(self, saved: object) -> list[Record]:
        """What says, at the checkpoint that the node was started from, what was spent."""
        return spent_before(saved, CHANNEL)

    def answer(self, here: str, effect: Recorded) -> Record | None:
        """The record of an effect at a path, if it is that of the same request."""
        return self._known.get(_key(here, effect)) if self._known else None

    def mark(self, here: str, mark: Mark) -> Program[None]:
        """Note that something begins which is a step of its own: where there are no steps, nothing."""
        yield from ()

    @property
    def body(self) -> str:
        """What the body is called that is played, the same whenever the node runs again."""
        return self.place.task

    def holds(self, path: str) -> bool:
        """Whether something is recorded that happened in a scope at that path."""
        return any(key.startswith(f"{path}.") for key in self._known)

    def started(self, here: str, effect: Recorded) -> Any:
        """What an earlier attempt noted when it started an effect that must not be repeated, or asked; None where none did."""
        return self._known.get(_key(here, effect) + _STARTED, _NONE)["value"]

    def start(self, here: str, effect: Recorded) -> Program[None]:
        """Note that an effect that must not be repeated is about to happen.

        Raises:
            JournalError: the note could not be kept.
        """
        if self.saver is not None and not self._late:
            yield from self._until_stored()
            yield from self._put(_key(here, effect) + _STARTED, {"value": True})

    def pose(self, here: str, ask: Recorded, passed: int) -> Program[None]:
        """Note that a question is asked, which `passed` answers to others came before.

        Raises:
            JournalError: the note could not be kept.
        """
        key = _key(here, ask) + _STARTED
        if self._late:  # the run stops here, and keeps it then
            self._done.append((key, None, {"value": passed}))
            return
        yield from self._until_stored()
        yield from self._put(key, {"value": passed})

    def filed(self, name: str) -> Program[Mapping[str, object] | None]:
        """The answer that was filed for a question of this id while nobody was running; see `questions`."""
        if not self.place.again or not self.place.above:
            return None
        kept = yield Saving(self.saver, "get_tuple", self.place.above[0])
        return filed_in((kept.pending_writes or ()) if kept else (), name)

    def write(self, here: str, effect: Recorded, record: Record) -> Program[None]:
        """Keep a record; with a checkpointer it is safe when this returns.

        Raises:
            JournalError: it could not be kept.
        """
        if self.saver is None or self._late:
            self._done.append((here, effect, record))
            return
        yield from self._until_stored()
        yield from self._put(_key(here, effect), record)

    def appended(self) -> list[Record]:
        """The records that an earlier attempt appended, in their order; `load` comes first."""
        found = sorted(key for key in self._known if key.startswith(_APPENDED))
        self._count = len(found)
        return [self._known[key] for key in found]

    def append(self, record: Record) -> Program[None]:
        """Keep a record of something that is in its order and of no other request; safe as in `write`.

        Raises:
            JournalError: it could not be kept.
        """
        self._count += 1
        key = f"{_APPENDED}{self._count:08d}"
        if self.saver is None or self._late:
            self._done.append((key, None, record))
            return
        if self._unsure:
            yield from self._until_stored()
        yield from self._put(key, record)

    def clocked(self) -> Program[None]:
        """Keep how long the run has taken, where its time is bounded: what was cut off has left no record.

        Raises:
            JournalError: it could not be kept.
        """
        meter = METER.get()
        if meter is None or meter.deadline is None or self.saver is None:
            return
        clock = round(meter.clock, 3)
        yield from self._put(f"{_CLOCKED}{clock}", {SPENT: {"at": clock}})

    def keep(self) -> Program[None]:
        """The body raised (an error or a question): what it has done must be found by the next attempt."""
        done = {_key(here, effect): record for here, effect, record in self._done}
        if self.saver is None:
            if self.place.task and (done or self._known):
                with _lock:
                    _failed[self.place.task] = {**self._known, **done}
                    if len(_failed) > _REMEMBERED:
                        _failed.popitem(last=False)
            return
        for key, record in done.items():
            yield from self._put(key, record)

    def _put(self, key: str, record: Record) -> Program[None]:
        try:
            yield Saving(self.saver, "put_writes", self.place.home, [(CHANNEL, record)], f"{self.place.task}#{key}")
        except JournalError:
            raise
        except Exception as error:
            raise JournalError(f"the result of effect {key.partition('@')[0]} could not be kept: {error}") from error

    def _until_stored(self) -> Program[None]:
        # Parallel branches may wait here at once: nobody takes away what another one still looks at.
        end, pause = time.monotonic() + _PATIENCE, 0.0002
        for address in self._unsure:
            while not (yield Saving(self.saver, "get_tuple", address)):
                if time.monotonic() > end:
                    raise JournalError(
                        f"the checkpoint of thread `{self.place.thread}` was not stored within {_PATIENCE:g} s, so this step "
                        "cannot be kept. Is a graph between this one and the one with the checkpointer compiled with "
                        "`checkpointer=False`?"
                    )
                yield Sleep(pause)
                pause = min(pause * 2, 0.05)
        self._unsure = ()


def appended_in(writes: Sequence[tuple[str, str, Any]]) -> list[Record]:
    """The records that were appended by the only node at a checkpoint, among its pending writes."""
    found = {task: value for task, channel, value in writes if channel == CHANNEL and f"#{_APPENDED}" in task}
    return [found[task] for task in sorted(found)]


def _key(here: str, effect: Recorded | None) -> str:
    return here if effect is None else f"{here}@{effect.key()}"
