"""One run of a flow in this process: its living state, what methods returned, and what they work on."""

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cached_property
from itertools import count
from typing import Any

import ormsgpack
from pydantic import BaseModel

from crewgraph.compiler.flow.algebra import Progress
from crewgraph.compiler.flow.inside import threads_of
from crewgraph.compiler.flow.plan import Plan
from crewgraph.compiler.flow.record import classes_of, recorded, revived
from crewgraph.compiler.flow.works import Work
from crewgraph.definitions.flow.feedback import HumanFeedbackResult
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.state import id_of, state_source
from crewgraph.errors import StorageError

__all__ = ["RUNNING", "FlowRun", "Parked", "Running"]

_SCALARS = (str, int, float, bool, type(None))
_MANY = 50


class Running:
    """An execution that is under way; known to the code below it through `RUNNING`."""

    def __init__(self, run: "FlowRun", name: str, method: str) -> None:
        self.run, self.name, self.method = run, name, method
        self.around = RUNNING.get()
        """What the run is a part of, where a method of another flow began it."""

        self._runs_inside, self._asked = count(), count()

    def asks(self) -> int:
        """The number of the question it asks now."""
        return next(self._asked)

    def thread_inside(self) -> str:
        """The thread of the next run that begins inside of it; the same again when it runs again after a crash."""
        return f"{self._threads}{next(self._runs_inside)}"

    def began(self, thread_id: str) -> bool:
        """Whether a thread is one of these."""
        return thread_id.startswith(self._threads)

    @property
    def _threads(self) -> str:
        return threads_of(str(self.run.thread_id), self.run.key, self.name)


RUNNING: ContextVar[Running | None] = ContextVar("crewgraph_running_method", default=None)
"""The method of a flow around the running code."""


class Parked(BaseException):
    """A method asks a question that nobody is there to answer; it runs again once the run is told.

    Args:
        question: the question, as plain data.
        returned: whether the method has returned, so that its work is not done again and its changes of the state stay.
    """

    def __init__(self, question: dict[str, Any], *, returned: bool) -> None:
        super().__init__(question)
        self.question, self.returned = question, returned


class FlowRun:
    """The living side of a run.

    Args:
        flow: the flow.
        plan: what its triggers come to.
        state: its state; None where it is still to be read from the checkpoint.
        inputs: what the run was given.
        stored: whether checkpoints are written.
    """

    def __init__(self, flow: "Flow[Any]", plan: Plan, state: Any, inputs: Mapping[str, Any], *, stored: bool) -> None:
        self.flow, self.plan, self.inputs, self.stored = flow, plan, dict(inputs), stored
        self.state = state
        self.values: dict[str, Any] = {}
        """What executions returned, as they returned it."""

        self.works: dict[str, Work] = {}
        """What runs in the background."""

        self.ended: list[str] = []
        """What has ended and is not committed yet, in this order."""

        self.failed = False
        """Whether a method failed, so that nothing more is begun."""

        self.answers: dict[str, Any] = {}
        """What was answered, by question."""

        self.parked: dict[str, Any] = {}
        """The questions that nobody was there to answer, by their ids."""

        self.feedback: list[HumanFeedbackResult] = []
        """What people said of outputs, in order."""

        self.outputs: list[Any] = []
        self.completed: dict[str, int] = {}
        self.is_shown = True
        """Whether the flow's object shows its state; not so in graphs, which serve many at once."""

        self.again = False
        """Whether what is in flight was so in another process, and may have done a part of its work."""

        self.saver: Any = None
        self.thread_id: str | None = None
        self.key = ""
        """What tells it from other runs on the same state."""

        self._kept: dict[str, Any] = {}
        self.beginning = threading.Lock()
        """Held while methods are begun in the background."""

        self._heard: set[str] = set()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The flow's name."""
        return self.flow.flow_name

    @property
    def flow_id(self) -> str:
        """The `id` of the state."""
        return id_of(self.state)

    @cached_property
    def _classes(self) -> dict[str, type[Any]]:
        kind = type(self.state) if isinstance(self.state, BaseModel) else None
        source = state_source(type(self.flow))
        found = classes_of(
            self.plan.definition, type(self.flow), kind or (source if isinstance(source, type) else None)
        )
        return {**found, HumanFeedbackResult.__qualname__: HumanFeedbackResult}

    def revived(self, value: Any) -> Any:
        """A value that a checkpoint holds."""
        return revived(value, self._classes)

    def recorded(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values for fields of the state, as checkpoints hold them."""
        return {key: recorded(one, f"`{key}` in the state of flow `{self.name}`") for key, one in values.items()}

    def read(self, state: Mapping[str, Any], progress: Progress, inputs: Mapping[str, Any] | None = None) -> None:
        """Take over what a checkpoint holds, once."""
        results, self.key = progress["results"], progress["run"]
        if self.state is not None:
            return
        with self._lock:
            if self.state is None:
                self.state = self.flow.restored_state({key: self.revived(one) for key, one in state.items()})
                self.values = {key: self.revived(one) for key, one in results.items()}
                self.inputs = {key: self.revived(one) for key, one in (inputs or {}).items()} | self.inputs
                self._kept = self._packed()
                self.again = True
                if self.is_shown:
                    self.flow.take_state(self.state)

    def finish(self, name: str, method: str, value: Any) -> Any:
        """Note what an execution returned; its form for checkpoints."""
        self.values[name] = value
        self.ended.remove(name)
        self.outputs.append(value)
        if isinstance(value, HumanFeedbackResult):
            self.feedback.append(value)
        self.completed[method] = self.completed.get(method, 0) + 1
        return recorded(value, f"what method `{method}` of flow `{self.name}` returned") if self.stored else value

    def saved(self, method: str) -> None:
        """Let the user's backend save the state, where one is asked to, once a method has completed."""
        definition = self.plan.definition
        done = definition.methods[method]
        for backend in dict.fromkeys((self.flow.persistence, definition.persistence, done.persistence)):
            if backend is not None and backend is not True:
                backend.save_state(self.flow_id, method, self.state)
        if (done.verbose and done.persistence) or (definition.verbose and definition.persistence):
            print(f"Flow state is saved: {self.flow_id}, after `{method}`")  # noqa: T201 - `verbose` asks for it

    def hears(self, question: str) -> bool:
        """Whether the answer to a question is new in this process: a method that asks several runs again with each."""
        with self._lock:
            new = question not in self._heard
            self._heard.add(question)
        return new

    def forget(self, wanted: Mapping[str, Any]) -> None:
        """Let go of values that nobody is still to be given."""
        if len(self.values) > 2 * len(wanted) + 8:
            self.values = {name: value for name, value in self.values.items() if name in wanted}

    def changes(self) -> dict[str, Any]:
        """The top-level values of the state that are not as they were when this was last asked, as checkpoints hold them."""
        before, now = self._kept, self._packed()
        self._kept = now
        changed: dict[str, Any] = {
            key: one if type(one) is not bytes else ormsgpack.unpackb(one)
            for key, one in now.items()
            if key not in before or (before[key] is not one and before[key] != one)
        }
        gone = [key for key in before if key not in now]
        return {**changed, "$gone": gone} if gone else changed

    def shown(self) -> dict[str, Any]:
        """The state at the end of a run that is kept nowhere: as plain data, but for what has no such form."""
        told: dict[str, Any] = {}
        for key, value in self._fields().items():
            try:
                told[key] = recorded(value, key)
            except StorageError:
                told[key] = value
        return told

    def _packed(self) -> dict[str, Any]:
        return {key: self._packed_value(key, value) for key, value in self._fields().items()}

    def _packed_value(self, key: str, value: Any) -> Any:
        if type(value) in _SCALARS:
            return recorded(value, key)
        for attempt in range(_MANY):
            try:
                return ormsgpack.packb(recorded(value, f"`{key}` in the state of flow `{self.name}`"))
            except RuntimeError:  # a method that runs beside changed its size meanwhile
                if attempt == _MANY - 1:
                    raise
        raise AssertionError

    def _fields(self) -> dict[str, Any]:
        for attempt in range(_MANY):
            try:
                if isinstance(self.state, BaseModel):
                    return {**self.state.__dict__, **(self.state.__pydantic_extra__ or {})}
                return dict(self.state)
            except RuntimeError:
                if attempt == _MANY - 1:
                    raise
        raise AssertionError
