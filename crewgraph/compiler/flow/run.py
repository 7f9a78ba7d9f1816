"""A run of a flow in this process: its live state, the results of methods, and the running executions."""

import threading
from asyncio import CancelledError
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.crew.state import MESSAGES
from crewgraph.compiler.flow.algebra import GraphState, Progress
from crewgraph.compiler.flow.background import Work
from crewgraph.compiler.flow.record import Classes, classes_of, from_record, of_run, to_record
from crewgraph.compiler.flow.running import Running
from crewgraph.compiler.flow.state_changes import CommittedState
from crewgraph.core.cancellation import Cancellation, check_cancelled, report_progress
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.current import CURRENT
from crewgraph.definitions.flow.feedback import HumanFeedbackResult, PendingFeedbackContext, output_value
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.state import state_fields, state_id, state_source, with_inputs
from crewgraph.definitions.run_options import Inputs
from crewgraph.errors import StorageError
from crewgraph.events.lineage import Lineage
from crewgraph.llm.conversation import openai_messages, read_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.schema import PlainDict, PlainMapping

_MANY_EXECUTIONS = 64
"""Number of lineages kept for ended executions, whose events may still arrive."""


class FlowRun:
    """The live state of a run.

    Args:
        flow: the flow.
        state: its state; None if it has yet to be read from the checkpoint.
        inputs: the run's inputs.
        stored: whether checkpoints are written.
    """

    results_by_method: dict[str, object]
    """The last results of methods, by name; after a resume, only for declared flows."""

    usage: UsageLedger
    """The usage of the models called by methods in this process."""

    is_in_node = False
    """Whether the code of a node of another graph kicked it off."""

    speaker: str | None = None
    """The author of its message to a conversation; None if it takes part in none."""

    def __init__(self, flow: "FlowDefinition", state: object, inputs: Inputs, *, stored: bool) -> None:
        self.flow, self.topology, self.inputs, self.stored = flow, flow.topology(), dict(inputs), stored
        self.state = state
        self.values: dict[str, object] = {}
        """The results of executions, as live objects."""

        self.works: dict[str, Work] = {}
        """The executions in the background."""

        self.ended: list[str] = []
        """The ended executions that are not committed yet, in order."""

        self.failed = False
        """Whether a method failed, so that no more executions start."""

        self.unsaved: tuple[str, StorageError] | None = None
        """The method after which a backend could not save the state, and why."""

        self.answers: dict[str, PlainDict] = {}
        """The answers, by question id."""

        self.restored: dict[str, PendingFeedbackContext] = {}
        """Questions of returned methods, by method, in a run that is stored only in a persistence backend."""

        self.parked: dict[str, PlainDict] = {}
        """The pending questions, by id."""

        self.saved_questions: frozenset[str] = frozenset()
        """Questions already saved to backends, by id; by method if the run was restored from one."""

        self.cancellation = Cancellation()

        self.claim: ThreadClaim | None = None
        """The claim on its thread, or on that of the flow around it."""

        self.results_by_method, self.usage = {}, UsageLedger()
        self.feedback: list[HumanFeedbackResult] = []
        """The feedback on outputs, in order."""

        self.inputs_asked: list[dict[str, object]] = []
        """The questions asked with `ask` in this process, and their answers."""

        self.outputs: list[object] = []
        self.completed: dict[str, int] = {}
        self.is_shown = True
        """Whether the flow object shows its state; not for graphs, which serve many runs."""

        self.again = False
        """Whether executions were in flight in another process, and may have done part of their work."""

        self.saver: object = None
        self.thread_id: str | None = None
        self.key = ""
        """The unique id of the run."""

        self.beginning = threading.Lock()
        """Held while background methods are started."""

        self._seen_answers: set[str] = set()
        self.running: dict[str, Running] = {}
        """The executions that have started and are not committed yet."""

        self.lineages: dict[str, Lineage] = {}
        """The lineages of executions."""

        self.end_events: dict[str, str | None] = {}
        """The ids of the events of executions' ends."""

        self.committed = CommittedState(self)
        self._lock = threading.Lock()

    @property
    def may_ask_here(self) -> bool:
        """Whether questions may be asked at a terminal. A graph run and stored by other code leaves them pending."""
        return self.is_shown or not self.stored

    def has_saved(self, question: PlainMapping) -> bool:
        """Return whether a question was already saved to a backend."""
        return not self.saved_questions.isdisjoint((question["id"], question["method"]))

    @property
    def name(self) -> str:
        """The flow's name."""
        return self.flow.flow_name

    @property
    def marks(self) -> frozenset[str]:
        """The methods after which the state is saved; empty if after all."""
        return self.topology.marks

    @property
    def flow_id(self) -> str:
        """The `id` of the state."""
        return state_id(self.state)

    def tag(self, kind: type[object]) -> str:
        """Return the name of a class in checkpoints."""
        return self._classes.tag(kind)

    @cached_property
    def _classes(self) -> Classes:
        kind = type(self.state) if isinstance(self.state, BaseModel) else None
        source = state_source(type(self.flow))
        state = kind or (source if isinstance(source, type) else None)
        return classes_of(self.topology, type(self.flow), state, HumanFeedbackResult, *self.flow.stored_classes())

    def revived(self, value: Any) -> Any:
        """Restore a value from its checkpoint form."""
        return from_record(value, self._classes)

    def recorded_value(self, value: Any, where: str) -> Any:
        """Return a value in the form of checkpoints; unchanged if the run is not stored."""
        return to_record(value, where, self.tag) if self.stored else value

    def recorded(self, values: Mapping[str, object]) -> PlainDict:
        """Return values of state fields in the form of checkpoints."""
        return {
            key: to_record(value, f"`{key}` in the state of flow `{self.name}`", self.tag)
            for key, value in values.items()
        }

    def check_cancelled(self) -> None:
        """Raise if the run must not start anything more.

        Raises:
            RunAbandoned: its reader has left.
            asyncio.CancelledError: it was cancelled while threads worked for it.
        """
        check_cancelled()
        if self.cancellation.is_requested:
            raise CancelledError(*self.cancellation.reason)

    def read(self, values: GraphState) -> None:
        """Read the state of the run from a checkpoint, once.

        Args:
            values: the state of the graph.
        """
        progress: Progress = values["progress"]
        results, self.key = progress["results"], progress["run"]
        if self.state is not None:
            return
        with self._lock:
            if self.state is None:
                state: Mapping[str, object] = values.get("state") or {}
                self.state = self.flow.restored_state({name: self.revived(value) for name, value in state.items()})
                inputs: Inputs = values.get("inputs") or {}
                self.inputs = {name: self.revived(value) for name, value in inputs.items()} | self.inputs
                self.feedback = [self.revived(item) for item in of_run(values, "feedback") or ()]
                outputs: Mapping[str, object] = of_run(values, "outputs") or {}
                self.results_by_method = {key: self.revived(value) for key, value in outputs.items()}
                self.values = {key: self.revived(value) for key, value in results.items()}
                self.committed.take()
                self.again = True
                if self.is_shown:
                    self.flow.take_state(self.state)

    def hear(self, messages: object) -> None:
        """Give the flow the whole conversation in the graph before its first method, if it reads it."""
        with self._lock:
            if MESSAGES not in self.inputs:
                return
            self.inputs[MESSAGES] = openai_messages(read_messages(messages))
            changed = with_inputs(self.state, {MESSAGES: self.inputs[MESSAGES]}, self.name)
            if changed is not self.state and hasattr(changed, MESSAGES):
                setattr(self.state, MESSAGES, getattr(changed, MESSAGES))

    def finish(self, name: str, method: str, value: object) -> Any:
        """Record the result of an execution; return it in the form of checkpoints."""
        if CURRENT.get().supervision is not None:
            report_progress()
        self.values[name] = value
        self.ended.remove(name)
        self.works.pop(name, None)
        self.running.pop(name, None)
        self.outputs.append(value)
        self.results_by_method[method] = value
        if isinstance(value, HumanFeedbackResult) and value.method_name == method:
            self.feedback.append(value)
            self.outputs[-1] = output_value(method, value)
        self.completed[method] = self.completed.get(method, 0) + 1
        return self.recorded_value(value, f"the result of method `{method}` of flow `{self.name}`")

    def is_new_answer(self, question: str) -> bool:
        """Whether an answer is new in this process; a method with several questions runs again for each."""
        with self._lock:
            new = question not in self._seen_answers
            self._seen_answers.add(question)
        return new

    def forget(self, needed: Mapping[str, object]) -> None:
        """Drop values that no execution needs any more."""
        if len(self.values) > 2 * len(needed) + 8:
            self.values = {name: value for name, value in self.values.items() if name in needed}
        if len(self.lineages) > _MANY_EXECUTIONS + 2 * (len(needed) + len(self.running)):
            kept = {*needed, *self.running, *list(self.lineages)[-_MANY_EXECUTIONS // 2 :]}
            self.lineages = {name: lineage for name, lineage in self.lineages.items() if name in kept}
            self.end_events = {name: event for name, event in self.end_events.items() if name in kept}

    def changes(self, done: Collection[str] = ()) -> dict[str, object]:
        """Return the changes of the state since the last call, in the form of checkpoints."""
        return self.committed.changes(done)

    def final_state(self) -> dict[str, object]:
        """Return the final state of an unstored run, as plain data where possible."""
        plain: dict[str, object] = {}
        for key, value in state_fields(self.state).items():
            try:
                plain[key] = to_record(value, key)
            except StorageError:
                plain[key] = value
        return plain
