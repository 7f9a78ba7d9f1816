"""Events of flows, and of conversational flows."""

from typing import Any, Literal

from crewgraph.events.base import BaseEvent
from crewgraph.schema import Metadata, PlainDict


class FlowEvent(BaseEvent):
    """An event of a flow."""

    flow_name: str
    """The flow's name."""


class FlowCreatedEvent(FlowEvent):
    """A flow was created."""

    type: str = "flow_created"


class FlowStartedEvent(FlowEvent):
    """A flow starts."""

    type: str = "flow_started"

    inputs: PlainDict | None = None
    """The inputs that initialize its state; None without inputs and for a resumed run."""

    flow_id: str | None = None
    """The run: the `id` of its state."""


class FlowFinishedEvent(FlowEvent):
    """A flow has completed."""

    type: str = "flow_finished"

    result: Any = None
    """The result of its last method."""

    state: Any = None
    """A copy of the flow's state, a dict or a pydantic model."""


class FlowFailedEvent(FlowEvent):
    """A run of a flow has ended with an exception."""

    type: str = "flow_failed"

    error: Any
    """The exception."""


class FlowPausedEvent(FlowEvent):
    """A run of a flow waits for a person's answer, and nothing else in it can continue."""

    type: str = "flow_paused"

    flow_id: str
    """The run."""

    method_name: str
    """The method that asks; the first, where several do."""

    state: Any
    """A copy of the flow's state, a dict or a pydantic model."""

    message: str
    """The question."""

    emit: list[str] | None = None
    """The possible outcomes; None for a free answer."""


class FlowPlotEvent(FlowEvent):
    """A flow was drawn."""

    type: str = "flow_plot"


class _MethodEvent(FlowEvent):
    method_name: str
    """The method."""


class _ExecutionEvent(_MethodEvent):
    execution: str | None = None
    """The execution in the run: `judge#2` is the second one."""


class MethodExecutionStartedEvent(_ExecutionEvent):
    """A method of a flow starts."""

    type: str = "method_execution_started"

    state: Any
    """A copy of the flow's state, a dict or a pydantic model."""

    params: PlainDict | None = None
    """The arguments of the method: the result of its trigger as `_0`, others by name."""


class MethodExecutionFinishedEvent(_ExecutionEvent):
    """A method of a flow has returned."""

    type: str = "method_execution_finished"

    result: Any = None
    """The result; for a method with human feedback, the feedback."""

    state: Any
    """A copy of the flow's state, a dict or a pydantic model."""


class MethodExecutionFailedEvent(_ExecutionEvent):
    """A method of a flow has raised."""

    type: str = "method_execution_failed"

    error: Any
    """The exception."""


class MethodExecutionPausedEvent(_ExecutionEvent):
    """A method of a flow waits for a person's answer; others continue."""

    type: str = "method_execution_paused"

    state: Any
    """A copy of the flow's state, a dict or a pydantic model."""

    flow_id: str
    """The run."""

    message: str
    """The question."""

    emit: list[str] | None = None
    """The possible outcomes; None for a free answer."""

    question: Any = None
    """The question, as returned by `pending()`."""


class HumanFeedbackRequestedEvent(_MethodEvent):
    """Feedback on the result of a method is requested."""

    type: str = "human_feedback_requested"

    output: Any
    """The return value of the method."""

    message: str
    """The question."""

    emit: list[str] | None = None
    """The possible outcomes; None for a free answer."""

    request_id: str | None = None
    """The question's name within the run."""


class HumanFeedbackReceivedEvent(_MethodEvent):
    """Feedback on the result of a method was received."""

    type: str = "human_feedback_received"

    feedback: str
    """The text of the feedback."""

    outcome: str | None = None
    """The outcome that the answer maps to, if outcomes are defined."""

    request_id: str | None = None
    """The question's name within the run."""


class FlowInputRequestedEvent(_MethodEvent):
    """A method asks a question with `ask`."""

    type: str = "flow_input_requested"

    message: str
    """The question."""

    metadata: Metadata | None = None
    """Further metadata."""


class FlowInputReceivedEvent(_MethodEvent):
    """A question of `ask` was answered."""

    type: str = "flow_input_received"

    message: str
    """The question."""

    response: str | None = None
    """The answer."""

    metadata: Metadata | None = None
    """Further metadata."""

    response_metadata: Metadata | None = None
    """Further data of the answer; always None."""


class ConversationMessageAddedEvent(FlowEvent):
    """A message was added to a conversation."""

    type: str = "conversation_message_added"

    session_id: str
    """The conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    """The role of the author."""

    content: Any
    """The content of the message."""

    message_index: int
    """The index of the message, from 0."""


class ConversationRouteSelectedEvent(FlowEvent):
    """A route was chosen for a message."""

    type: str = "conversation_route_selected"

    session_id: str
    """The conversation."""

    route: str
    """The chosen route."""

    user_message: str | None = None
    """The user's message."""

    message_index: int | None = None
    """The index of the message, from 0."""

    previous_intent: str | None = None
    """The previous route."""


class ConversationTurnCompletedEvent(FlowEvent):
    """A user message was answered."""

    type: str = "conversation_turn_completed"

    session_id: str
    """The conversation."""


class ConversationTurnFailedEvent(FlowEvent):
    """A user message could not be answered."""

    type: str = "conversation_turn_failed"

    session_id: str
    """The conversation."""

    error: Any
    """The error."""


class ConversationTurnStartedEvent(FlowEvent):
    """The processing of a user message starts."""

    type: str = "conversation_turn_started"

    session_id: str
    """The conversation."""
