"""Events of flow runs."""

from collections.abc import Callable, Mapping, Sequence
from copy import Error, copy, deepcopy
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.definitions.flow.feedback import HumanFeedbackResult, Question, label_value
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.state import read_with_retries
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import (
    FlowFailedEvent,
    FlowFinishedEvent,
    FlowInputReceivedEvent,
    FlowInputRequestedEvent,
    FlowStartedEvent,
    HumanFeedbackReceivedEvent,
    HumanFeedbackRequestedEvent,
    MethodExecutionFailedEvent,
    MethodExecutionFinishedEvent,
    MethodExecutionPausedEvent,
    MethodExecutionStartedEvent,
)
from crewgraph.events.lineage import LINEAGE, last_event, restored_lineage
from crewgraph.events.stream_context import LISTENING, publish_stream_event

_Fields = Callable[[], Mapping[str, Any]]
"""The fields of an event, computed only if there is a listener."""


def emit_flow_event(flow: "FlowDefinition", event: type[BaseEvent], fields: _Fields) -> None:
    """Emit an event of a flow; if its events are suppressed, those within a run only to the readers of its stream."""
    suppressed = flow.suppress_flow_events and event not in (FlowStartedEvent, FlowFinishedEvent, FlowFailedEvent)
    if bool(LISTENING.get().sinks) if suppressed else crewai_event_bus.wants(event):
        instance = event(flow_name=flow.flow_name, **fields())  # pyright: ignore[reportCallIssue]
        (publish_stream_event if suppressed else crewai_event_bus.emit)(flow, instance)


def copied(state: Any) -> Any:
    """Return a copy of a state for events; parts that cannot be copied are shared."""
    try:
        own = read_with_retries(lambda: deepcopy(state))
    except (AttributeError, Error, RuntimeError, TypeError, ValueError):  # it holds a lock, a connection
        own = copy(state)
    return CopiedState(own) if isinstance(own, BaseModel) else own


class CopiedState(dict[str, Any]):
    """A copy of a state with a model: a dict of the fields with the model's attributes."""

    def __init__(self, model: BaseModel) -> None:
        super().__init__(model.model_dump(warnings=False))
        if "id" in vars(model):  # even if the model has no such field
            self["id"] = vars(model)["id"]
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying looks up protocol methods that must not come from the model
            raise AttributeError(name)
        return getattr(self._model, name)


def question_of(plain: Mapping[str, object], revive: Callable[[object], object]) -> Question:
    """Return a question in the form of checkpoints: its text unchanged, its subject as plain data."""
    revived = {
        name: revive(plain[name]) for name in ("message", "metadata", "refused", "callback_info") if name in plain
    }
    return Question.from_plain({**plain, **revived})


class FlowReport:
    """Emits the events of one execution of a method.

    Args:
        run: the run.
        name: the execution's id.
        method: the method's name.
    """

    def __init__(self, run: FlowRun, name: str, method: str) -> None:
        self._run, self._name, self._method = run, name, method

    def started(self, source: str | None, args: Sequence[object], keywords: Mapping[str, object]) -> None:
        """Report that the method starts, with these arguments, triggered by an execution or by the start of the run."""
        params = {**{f"_{index}": value for index, value in enumerate(args)}, **keywords}
        cause = None if source is None else self._run.end_events.get(source)
        around = LINEAGE.get()
        with restored_lineage(around if cause is None else around._replace(trigger=cause)):
            self._emit(MethodExecutionStartedEvent, lambda: {**self._now(), "params": params})
            self._run.lineages[self._name] = LINEAGE.get()

    def finished(self, value: object) -> None:
        """Report that the method returned."""
        with restored_lineage(self._run.lineages.get(self._name)):
            self._emit(
                MethodExecutionFinishedEvent, lambda: {**self._now(), "result": label_value(self._method, value)}
            )
            self._run.end_events[self._name] = last_event()

    def failed(self, error: BaseException) -> None:
        """Report that the method raised; the exception gets a note with the place."""
        note = f"in method `{self._method}` of flow `{self._run.name}`"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
            with restored_lineage(self._run.lineages.get(self._name)):
                self._emit(MethodExecutionFailedEvent, lambda: {"execution": self._name, "error": error})

    def paused(self, plain: Mapping[str, object]) -> None:
        """Report that the method waits for the answer to a question, given in the form of checkpoints."""
        question = question_of(plain, self._run.revived)
        fields = {
            "flow_id": self._run.thread_id or self._run.flow_id,
            **_question_fields(question),
            "question": question,
        }
        with restored_lineage(self._run.lineages.get(self._name)):
            self._emit(MethodExecutionPausedEvent, lambda: {**self._now(), **fields})

    def feedback_requested(self, question: Question) -> None:
        """Report that feedback on its output is requested."""
        fields = {**_question_fields(question), "output": question.output, "request_id": question.id}
        self._emit(HumanFeedbackRequestedEvent, lambda: fields)

    def feedback_received(self, feedback: HumanFeedbackResult, question: str) -> None:
        """Report that feedback on its output was received."""
        fields = {"feedback": feedback.feedback, "outcome": feedback.outcome, "request_id": question}
        self._emit(HumanFeedbackReceivedEvent, lambda: fields)

    def input_requested(self, question: Question) -> None:
        """Report that the method asks a question."""
        fields = {"message": question.message, "metadata": dict(question.metadata) or None}
        self._emit(FlowInputRequestedEvent, lambda: fields)

    def input_received(self, question: Question, answer: str | None) -> None:
        """Report the answer to its question; None after the timeout."""
        fields = {"message": question.message, "metadata": dict(question.metadata) or None, "response": answer}
        self._emit(FlowInputReceivedEvent, lambda: fields)

    def _now(self) -> dict[str, object]:
        return {"execution": self._name, "state": copied(self._run.state)}

    def _emit(self, event: type[BaseEvent], fields: _Fields) -> None:
        emit_flow_event(self._run.flow, event, lambda: {"method_name": self._method, **fields()})


def _question_fields(question: Question) -> dict[str, object]:
    return {"message": question.message, "emit": list(question.outcomes) or None}
