"""A body as several nodes of a graph: each performs the effects of one stage and stops before those of another.

Performed effects are in a channel of the graph (`STEPS`), so they are visible in the history and can be edited there; the
next effects are in another (`PENDING`), which the graph's edges read.
"""

import atexit
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.cancellation import Underway
from crewgraph.core.current import closing_resources
from crewgraph.core.effects import Body, Recorded, StepMark
from crewgraph.core.interpreter import run_body
from crewgraph.core.journal import CHANNEL, Journal, Record, with_spent
from crewgraph.core.limits import SPENT
from crewgraph.core.node import tracked_node
from crewgraph.core.operations import Boundary, Operation, Program, adrive, drive
from crewgraph.schema import PlainMapping

STEPS = "steps"
"""The channel of performed effects: dicts with "path", "key", "what", "value" or "error", and "spent".

An entry without a "key" answers any effect at its path: that is how a person answers in place of a tool.
"""

PENDING = "pending"
"""The channel of the next effects: a dict with "stage" and "effects", which have "path", "what" and, for a tool, "tool" and
"args"; None at the end."""

_PROGRAMS = 256
_RESULT_KEYS = ("value", "error", SPENT)


class StepJournal(Journal):
    """The journal of a body that runs in several nodes: the channel's entries and the journal of the running node."""

    stepwise = True

    def __init__(self, config: RunnableConfig, entries: Sequence[Record], *, stored: bool = True) -> None:
        super().__init__(config, stored=stored)
        self.entries: list[Record] = list(entries)
        self.added: list[Record] = []
        """The entries that the running node adds to the channel."""
        self._filed: dict[str, list[Record]] = {}
        for entry in entries:
            self._file(entry)

    def _spent_in(self, saved: Any) -> list[Record]:
        # The other channels of a task's own graph are copies of its crew's.
        outcome: list[Record] = [] if saved is None else list(saved.checkpoint["channel_values"].get(STEPS) or [])
        pending = () if saved is None else (saved.pending_writes or ())
        return [*outcome, *(value for _, channel, value in pending if channel == CHANNEL)]

    def move(self, config: RunnableConfig) -> None:
        """Continue in another node."""
        self.settle(config)
        self.known = {}
        self.entries, self.added = [*self.entries, *self.added], []

    def answer(self, here: str, effect: Recorded) -> Record | None:
        """See the base class; the records of other nodes come from the channel."""
        record = super().answer(here, effect)
        if record is not None:  # of an earlier attempt at this node: not in the channel yet
            if all(entry["path"] != here or entry["key"] != effect.key() for entry in self.added):
                self._add(here, effect, record)
            return record
        for entry in reversed(self._filed.get(here, ())):
            if entry.get("key") in (None, effect.key()):
                return {name: entry[name] for name in _RESULT_KEYS if name in entry}
        return None

    def mark(self, here: str, mark: StepMark) -> Program[None]:
        """Stop before a step, and record its beginning."""
        if here not in self._filed:
            yield Boundary(mark.stage, {here: mark})
            self.added.append({"path": here, "key": "", "what": mark.shown["what"], "value": None})
            self._file(self.added[-1])

    @property
    def body(self) -> str:
        """The id of the body: the namespace of the graph of its nodes."""
        home = self.place.home
        return self.place.task if home is None else str((home.get("configurable") or {}).get("checkpoint_ns", ""))

    def holds(self, path: str) -> bool:
        """See the base class; for all nodes."""
        return super().holds(path) or any(filed.startswith(f"{path}.") for filed in self._filed)

    def write(self, here: str, effect: Recorded, record: Record, underway: Underway | None = None) -> Program[None]:
        """See the base class; also adds the record to the channel."""
        yield from super().write(here, effect, record, underway)
        self._add(here, effect, record)

    def _add(self, here: str, effect: Recorded, record: Record) -> None:
        outcome = {name: record[name] for name in _RESULT_KEYS if name in record}
        self.added.append({"path": here, "key": effect.key(), "what": effect.label, **outcome})
        self._file(self.added[-1])

    def _file(self, entry: Record) -> None:
        self._filed.setdefault(str(entry["path"]), []).append(entry)


_Suspended = tuple[Program[Any], StepJournal]


class Stepper:
    """Runs one body across its nodes.

    A body that stopped at the end of a node is suspended, and resumes in the next node if the channel holds the very same
    entries; otherwise it runs again from its start, answered from them. So a step costs the same in long and short tasks.

    Args:
        body: creates the generator of effects from the graph's state.
        stages: the stages that have nodes; effects of other stages are performed in the node that reaches them.
        stored: False if the graph is compiled without a checkpointer.
    """

    def __init__(
        self,
        body: Callable[[Mapping[str, object]], Body[dict[str, object]]],
        stages: Collection[str],
        *,
        stored: bool = True,
    ) -> None:
        self._body, self._stages, self._stored = body, frozenset(stages), stored

    def play(self, stage: str, state: PlainMapping, config: RunnableConfig) -> Program[dict[str, object]]:
        """Perform the effects of a stage and return the state update."""
        entries: Sequence[Record] = state.get(STEPS) or []
        suspended = _suspended.take(self, entries)
        if suspended is None:
            journal = StepJournal(config, entries, stored=self._stored)
            program: Program[object] = run_body(self._body(state), journal)
        else:
            program, journal = suspended
            journal.move(config)
            yield from journal.load()
        stopped = yield from self._until(program, stage)
        if not isinstance(stopped, Boundary):
            return {**with_spent(stopped, journal.spent.record_fields), STEPS: journal.added, PENDING: None}
        _suspended.put(self, [*journal.entries, *journal.added], (program, journal))
        return {STEPS: journal.added, PENDING: _pending_effects(stopped)}

    def _until(self, program: Program[object], stage: str) -> Program[Any]:
        """Run a program to its result, or to the boundary before another node's stage."""
        reply: Any = None
        step: Callable[[Any], Operation] = program.send
        try:
            while True:
                operation = step(reply)
                if isinstance(operation, Boundary) and operation.stage in self._stages - {stage}:
                    return operation
                try:
                    reply, step = (yield operation), program.send
                except GeneratorExit:
                    program.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
                    reply, step = error, program.throw
        except StopIteration as stop:
            return stop.value


class StepNode(Runnable[Any, Any]):
    """One node of a body: performs the effects of its stage; see `BodyNode` for why it is a Runnable."""

    def __init__(self, stage: str, stepper: Stepper) -> None:
        self.name = stage
        self._stage, self._stepper = stage, stepper

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config() if config is None else config
        with closing_resources():
            return drive(tracked_node(self._stepper.play(self._stage, input, config)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config() if config is None else config
        with closing_resources():
            return await adrive(tracked_node(self._stepper.play(self._stage, input, config)))


def _pending_effects(boundary: Boundary) -> dict[str, object]:
    effects = [{"path": path, **effect.shown} for path, effect in boundary.effects.items()]
    return {"stage": boundary.stage, "effects": effects}


class _Programs:
    """The most recent suspended programs, by the entries they have seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Holding the entries keeps their ids from being reused.
        self._kept: OrderedDict[int, tuple[Stepper, Sequence[Record], _Suspended]] = OrderedDict()

    def take(self, owner: Stepper, entries: Sequence[Record]) -> _Suspended | None:
        with self._lock:
            entry = self._kept.pop(id(entries[-1]), None) if entries else None
        if entry is None:
            return None
        by, seen, suspended = entry
        same = by is owner and len(seen) == len(entries) and all(map(_is_same, seen, entries))
        return suspended if same else None

    def put(self, owner: Stepper, entries: Sequence[Record], suspended: _Suspended) -> None:
        if not entries:
            return
        with self._lock:
            self._kept[id(entries[-1])] = (owner, entries, suspended)
            if len(self._kept) > _PROGRAMS:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Drop all suspended programs."""
        with self._lock:
            self._kept.clear()


def _is_same(first: object, second: object) -> bool:
    return first is second


_suspended = _Programs()
atexit.register(_suspended.clear)  # a generator that is finalized at interpreter exit would find modules gone
