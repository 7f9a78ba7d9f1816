"""Turns of a conversation: each user message is a run of the flow, on the conversation's thread."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from crewgraph.compiler.flow.report import emit_flow_event
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.contrib.conversations.messages import add_message, emit_message, messages_in, set_field
from crewgraph.contrib.conversations.state import message_to_llm_dict
from crewgraph.definitions.flow.state import create_state, state_id
from crewgraph.errors import RunError
from crewgraph.events.base import BaseEvent
from crewgraph.events.flow import (
    ConversationTurnCompletedEvent,
    ConversationTurnFailedEvent,
    ConversationTurnStartedEvent,
)
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["TURN", "TURNS", "Turn", "TurnExtension"]

TURN = ":turn"
"""The input that marks a run as a turn."""


class Turn(TypedDict):
    """The value of the input `TURN`."""

    message: str
    """The user's message."""

    intents: list[str]
    """The intents to distinguish."""


class TurnExtension:
    """Runs a flow as a conversation; see `RunExtension`."""

    def state_before(self, flow: Any, shown: object, inputs: PlainMapping) -> Any:
        """Return the state of the conversation to continue; None if it is the one shown, or the flow has held none yet."""
        shown_id, flow_id = state_id(shown), str(inputs["id"])
        if shown_id == flow_id or not messages_in(flow, shown):
            return None
        stored_states: PlainDict = vars(flow).setdefault("_other_conversations", {})
        stored_states[shown_id] = shown
        state = stored_states.pop(flow_id, None)
        return flow._fresh_state() if state is None else create_state(state, flow.flow_name)

    def begin(self, flow: Any, state: object, inputs: PlainMapping) -> None:
        """Add the user's message to the initial state of a turn."""
        message = inputs[TURN]["message"]
        add_message(flow, state, "user", message)
        set_field(state, "current_user_message", message)
        set_field(state, "last_user_message", message)

    def end(self, flow: Any, state: Any, value: Any) -> None:
        """Add the turn's result as an assistant message, unless a method has already answered the user."""
        roles = [message_to_llm_dict(message)["role"] for message in messages_in(flow, state)]
        answers = roles[len(roles) - roles[::-1].index("user") :] if "user" in roles else roles
        if isinstance(value, str) and "assistant" not in answers:
            flow.append_assistant_message(value)

    def replaces(self, run: FlowRun, values: PlainMapping) -> bool:
        """Return whether a message differs from that of the unfinished turn.

        Raises:
            RunError: If the unfinished turn waits for human feedback.
        """
        stored: Mapping[str, object] = values.get("inputs") or {}
        if values.get("parked"):
            raise RunError(
                f"conversation `{run.inputs['id']}` of flow `{run.name}` waits for human feedback; give it with "
                f"`resume({run.inputs['id']!r}, ...)` before the next message"
            )
        return run.revived(stored.get(TURN)) != run.inputs[TURN]

    def started(self, run: FlowRun) -> None:
        """Emit the start of a turn and the user's message."""
        if run.state is not None:
            _emit_turn_event(run, ConversationTurnStartedEvent)
            emit_message(run.flow, run.state, len(messages_in(run.flow, run.state)) - 1)

    def finished(self, run: FlowRun) -> None:
        """Emit the completion of a turn."""
        _emit_turn_event(run, ConversationTurnCompletedEvent)

    def failed(self, run: FlowRun, error: BaseException) -> None:
        """Emit the failure of a turn."""
        _emit_turn_event(run, ConversationTurnFailedEvent, lambda: {"error": error})


TURNS = TurnExtension()


def _emit_turn_event(run: FlowRun, event: type[BaseEvent], more: Callable[[], Mapping[str, object]] = dict) -> None:
    emit_flow_event(run.flow, event, lambda: {"session_id": str(run.inputs["id"]), **more()})
