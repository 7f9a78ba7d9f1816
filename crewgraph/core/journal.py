"""The journal: stores the result of every effect with the checkpointer of the graph.

A record is one `put_writes` of the checkpointer at the checkpoint that the node started from, so it works with every
LangGraph saver. Its task id holds the effect's path and the digest of its request; savers ignore a second write with
the same id.

Records and outputs also hold what was spent for them, so that a resumed run counts what it spent before.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from crewgraph.core.cancellation import Underway, report_progress
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.current import CURRENT
from crewgraph.core.effects import Recorded, StepMark
from crewgraph.core.limits import SPENT, Meter, Stopped
from crewgraph.core.operations import Do, Program, Saving, enduring, sleep
from crewgraph.core.pregel import (
    CLAIM,
    ERROR,
    NO_ANSWER,
    OWN_KEY,
    Place,
    failed_save,
    is_single_answer,
    place_of,
    written_since_start,
)
from crewgraph.core.questions import filed_in
from crewgraph.errors import CompileError, StorageError, ThreadBusy
from crewgraph.redaction import redacted_logger

_Update = dict[str, Any]


def checkpoint_key(address: RunnableConfig) -> tuple[str, str]:
    """Return the namespace and id of a checkpoint."""
    place: Mapping[str, object] = address.get("configurable") or {}
    return str(place.get("checkpoint_ns", "")), str(place.get("checkpoint_id"))


def with_spent(update: _Update, spent: Mapping[str, object]) -> _Update:
    """Return a state update whose outputs hold what was spent for them."""
    return {name: {**value, **spent} if isinstance(value, dict) else value for name, value in update.items()}


def spent_before(saved: Any, records: str) -> list[_Update]:
    """Return the outputs and records at a checkpoint of a crew's graph that hold what was spent, counting nothing twice.

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
    spent: object = cast("_Update", value).get(SPENT) if isinstance(value, dict) else None
    return isinstance(spent, dict) and bool(cast("_Update", spent)) and set(cast("_Update", spent)) <= {"used", "at"}


CHANNEL = "__effect__"
"""The channel name of a record's write."""

SYNCED = f"{OWN_KEY}synced"
"""A key in the `configurable` of a record's address: the record must survive a power cut once it is stored. It is left out
where a saver need not wait for the disk."""

Record = dict[str, Any]
"""`{"value": ...}` or `{"error": [type, text]}`, with "tasks" if the effect called `@task` functions, and the usage "spent" on it
in a metered run."""

_STARTED = "?"
_NONE: Mapping[str, object] = {"value": None}
_CLOCKED = "!"
_log = redacted_logger(__name__)
_CHECKPOINT_TIMEOUT = 60.0  # seconds; a database may be busy for 30
_ANSWER_TIMEOUT = 5.0  # seconds
_REMEMBERED = 256

_lock = threading.Lock()
# Records of failed attempts without a checkpointer, for a retry in this process.
_failed: OrderedDict[str, dict[str, Record]] = OrderedDict()


class JournalError(StorageError):
    """A record could not be stored. Ends the run; bodies do not catch it."""


class ClaimLost(JournalError, ThreadBusy):
    """Another run has claimed the thread of this one, which therefore ends."""


class Journal:
    """The records of one execution of a node.

    Args:
        config: the node's config from LangGraph.
        stored: False if the graph was compiled to store nothing.

    Raises:
        CompileError: the graph has no checkpointer, but runs inside a graph that has one: its records would have no checkpoint.
    """

    stepwise = False
    """Whether the body runs in several nodes of a graph, each of which may end before an effect."""

    def __init__(self, config: RunnableConfig, *, stored: bool = True) -> None:
        self.known: dict[str, Record] = {}
        """The records of an earlier attempt, by path and digest."""

        self.spent = Meter()
        """What all answered and performed effects have spent."""
        self.settle(config)
        if not stored and self.place.saver is not None:
            raise CompileError(
                "a crew compiled with `checkpointer=False` runs inside a graph that has a checkpointer, so its steps cannot be "
                "stored. Compile it with `checkpointer=None` to use the parent's checkpointer."
            )

    def settle(self, config: RunnableConfig) -> None:
        """Take the place of the node with this config."""
        self.config = config
        self.place: Place = place_of(config)
        self.claim: ThreadClaim | None = (config.get("configurable") or {}).get(CLAIM)
        self.saver = self.place.saver if self.place.home is not None else None
        self._record_home = self._claimed(self.place.home)
        # With durability "exit" nothing is stored before the end of the run; neither are the records.
        self._late = self.place.durability == "exit"
        # Records not stored yet. Without a checkpointer they never are, and need no digest unless the attempt fails.
        self._done: list[tuple[str, Recorded | None, Record]] = []
        # With durability "async" the checkpoint may not be stored yet; a record without it would be lost.
        sure = self.place.again or self.place.durability == "sync" or self._late
        self._unsure = () if sure else self.place.above

    def load(self) -> Program[None]:
        """Load the records of an earlier attempt, if there may have been one."""
        if not self.place.again:
            return
        if self.saver is None:
            with _lock:
                self.known.update(_failed.pop(self.place.task, {}))
            return
        yield from self._recall()
        saved = yield Saving(self.saver, "get_tuple", self.place.home)
        mine = f"{self.place.task}#"
        for task, channel, value in (saved.pending_writes or ()) if saved else ():
            if channel == CHANNEL and task.startswith(mine):
                self.known[task[len(mine) :]] = value

    def _recall(self) -> Program[None]:
        """Charge the meter of the run with what was spent before, perhaps by an earlier process."""
        meter, above = CURRENT.get().meter, self.place.above
        if meter is None or not above:
            return
        names = [checkpoint_key(address) for address in above]
        for level in range(len(above))[-2 if self.stepwise else -1 :]:
            if meter.recalls(names[level], names):
                saved = yield Saving(self.saver, "get_tuple", above[level])
                own = level == len(above) - 1
                meter.remember(names[level], self._spent_in(saved) if own else spent_before(saved, CHANNEL))

    def _spent_in(self, saved: object) -> list[Record]:
        """Return the records and outputs that hold what was spent, at the checkpoint that the node started from."""
        return spent_before(saved, CHANNEL)

    def answer(self, here: str, effect: Recorded) -> Record | None:
        """Return the record of an effect at a path, None if there is none of the same request."""
        return self.known.get(_key(here, effect)) if self.known else None

    def mark(self, here: str, mark: StepMark) -> Program[None]:
        """Record the start of a step. Only `StepJournal` does."""
        yield from ()

    @property
    def body(self) -> str:
        """The id of the body that runs; the same when the node runs again."""
        return self.place.task

    def holds(self, path: str) -> bool:
        """Whether there is a record inside the scope at a path."""
        return any(key.startswith(f"{path}.") for key in self.known)

    def started(self, here: str, effect: Recorded) -> Any:
        """Return what an earlier attempt stored when it started this effect or asked this question; None if none did."""
        return self.known.get(_key(here, effect) + _STARTED, _NONE)["value"]

    def start(self, here: str, effect: Recorded, underway: Underway | None) -> Program[bool]:
        """Record that an effect that must not be repeated is about to start; False if another run has done so meanwhile.

        A cancellation waits until the effect has ended: one that was not called must not be stored as started.

        Raises:
            JournalError: it could not be stored.
        """
        if self.saver is None or self._late:
            return True
        return (yield enduring(self._start(here, effect), underway))

    def _start(self, here: str, effect: Recorded) -> Program[bool]:
        yield from self._until_stored()
        token, key = uuid4().hex, _key(here, effect) + _STARTED
        yield from self._put(key, {"value": token}, synced=True)
        saved = yield Saving(self.saver, "get_tuple", self.place.home)
        mine = f"{self.place.task}#{key}"
        stored = (
            next((value for task, _, value in saved.pending_writes or () if task == mine), _NONE) if saved else _NONE
        )
        return stored["value"] == token

    def check_owner(self) -> Program[None]:
        """Check that the run still owns its thread.

        Raises:
            ClaimLost: it does not.
        """
        if self.claim is not None:
            try:
                yield Do(self.claim.verify, self.claim.averify)
            except ThreadBusy as error:
                raise ClaimLost(str(error)) from error

    def pose(self, here: str, ask: Recorded, value: object) -> Program[None]:
        """Store what `started` returns of a question from now on.

        Raises:
            JournalError: it could not be stored.
        """
        key = _key(here, ask) + _STARTED
        if self._late:  # the run stops here and stores it then
            self._done.append((key, None, {"value": value}))
            return
        yield from self._until_stored()
        yield from self._put(key, {"value": value})

    def filed(self, name: str) -> Program[Mapping[str, object] | None]:
        """Return the answer that was filed for a question while nothing ran, None without one; see `questions`."""
        if not self.place.again or not self.place.above:
            return None
        saved = yield Saving(self.saver, "get_tuple", self.place.above[0])
        return filed_in((saved.pending_writes or ()) if saved else (), name)

    def forget_answer(self, *, taken: bool) -> Program[None]:
        """Remove the value that the run was resumed with, which LangGraph would hand to the next question of a continued run.

        Args:
            taken: whether a question has just taken it: LangGraph stores it, but may not have done so yet.

        Raises:
            JournalError: it could not be removed.
        """
        if self.saver is None or self._late or not self.place.again:
            return
        end, pause = time.monotonic() + (_ANSWER_TIMEOUT if taken else 0), 0.0002
        while True:
            saved = yield Saving(self.saver, "get_tuple", self.place.above[0])
            pending = (saved.pending_writes or ()) if saved else ()
            stored = [value for task, channel, value in pending if is_single_answer(task, channel)]
            if stored or time.monotonic() >= end:
                break
            yield sleep(pause)
            pause = min(pause * 2, 0.05)
        if taken and not stored:
            _log.warning(
                "the answer that the run of thread `%s` was resumed with is not stored after %g s, so it cannot be removed: name "
                "the question in each answer, `Command(resume={interrupt.id: value})`, else the next one may get it",
                self.place.thread,
                _ANSWER_TIMEOUT,
            )
        if stored and stored[0] is not None:
            yield from self._save(*NO_ANSWER, self._claimed(self.place.above[0]))

    def write(self, here: str, effect: Recorded, record: Record, underway: Underway | None = None) -> Program[None]:
        """Store a record; with a checkpointer it is durable when this returns.

        Args:
            here: the path of the effect.
            effect: the effect.
            record: its record.
            underway: delays a cancellation until the record is stored.

        Raises:
            JournalError: it could not be stored.
        """
        if self.saver is None or self._late:
            self._done.append((here, effect, record))
            return
        if underway is not None and (self._unsure or (self.claim is not None and not self.claim.is_fenced)):
            yield enduring(Journal.write(self, here, effect, record), underway)
            return
        if self._unsure:
            yield from self._until_stored()
        yield from self._put(_key(here, effect), record, synced=effect.once)
        if CURRENT.get().supervision is not None:
            report_progress()

    def clocked(self) -> Program[None]:
        """Store the seconds that the run has taken, if its time is limited: an effect that was cut off leaves no record.

        Raises:
            JournalError: it could not be stored.
        """
        meter = CURRENT.get().meter
        if meter is None or meter.deadline is None or self.saver is None:
            return
        clock = round(meter.clock, 3)
        yield from self._put(f"{_CLOCKED}{clock}", {SPENT: {"at": clock}})

    def stopped(self, stop: Stopped) -> Program[None]:
        """Store the error of a run that has reached a limit: LangGraph stores those of exceptions that may be handled.

        Raises:
            JournalError: it could not be stored.
        """
        if self.saver is None:
            return
        writes = [(ERROR, stop.why())]
        yield from self._save(writes, self.place.task)
        if self.stepwise and len(self.place.above) > 1:  # the node of the graph around these steps is stopped, too
            yield from self._save(writes, self.place.task, self._claimed(self.place.above[-2]))

    def keep(self) -> Program[None]:
        """Store what is not stored yet, after the body raised an error or a question, for the next attempt."""
        done = {_key(here, effect): record for here, effect, record in self._done}
        if self.saver is None:
            if self.place.task and (done or self.known):
                with _lock:
                    _failed[self.place.task] = {**self.known, **done}
                    if len(_failed) > _REMEMBERED:
                        _failed.popitem(last=False)
            return
        for key, record in done.items():
            yield from self._put(key, record)

    def _put(self, key: str, record: Record, *, synced: bool = False) -> Program[None]:
        home = self._record_home
        if synced and home is not None:
            home = RunnableConfig(configurable={**(home.get("configurable") or {}), SYNCED: True})
        return self._save([(CHANNEL, record)], f"{self.place.task}#{key}", home)

    def _claimed(self, address: RunnableConfig | None) -> RunnableConfig | None:
        """Return the address of a checkpoint with the claim, which our saver and Postgres check in each transaction."""
        if self.claim is None or address is None:
            return address
        return {"configurable": {**(address.get("configurable") or {}), CLAIM: self.claim}}

    def _save(
        self, writes: Sequence[tuple[str, object]], task: str, home: RunnableConfig | None = None
    ) -> Program[None]:
        try:
            if self.claim is not None and not self.claim.is_fenced and self.claim.is_doubtful:
                yield Do(self.claim.verify, self.claim.averify)
            yield Saving(self.saver, "put_writes", home or self._record_home, writes, task)
        except JournalError:
            raise
        except ThreadBusy as error:
            raise ClaimLost(str(error)) from error
        except Exception as error:  # any error of any checkpointer
            effect = task.partition("#")[2].partition("@")[0]
            what = f"the result of effect {effect}" if effect else "the error of the run"
            raise JournalError(f"{what} could not be stored: {error}") from error

    def _until_stored(self) -> Program[None]:
        # Parallel branches may wait here at the same time, so nothing is removed while they read it.
        end, pause = time.monotonic() + _CHECKPOINT_TIMEOUT, 0.0002
        for address in self._unsure:
            while not (yield Saving(self.saver, "get_tuple", address)):
                if (error := failed_save(self.config)) is not None:
                    raise JournalError(
                        f"a checkpoint of thread `{self.place.thread}` could not be stored, so this step cannot be: {error}. "
                        "Fix the cause, then continue the thread."
                    ) from error
                if time.monotonic() > end:
                    raise JournalError(
                        f"the checkpoint of thread `{self.place.thread}` was not stored within {_CHECKPOINT_TIMEOUT:g} s, so "
                        "this step cannot be stored. Is a graph between this one and the one with the checkpointer compiled with "
                        "`checkpointer=False`?"
                    )
                yield sleep(pause)
                pause = min(pause * 2, 0.05)
        self._unsure = ()


def _key(here: str, effect: Recorded | None) -> str:
    return here if effect is None else f"{here}@{effect.key()}"
