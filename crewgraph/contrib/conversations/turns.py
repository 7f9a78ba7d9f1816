"""Turns of a conversation: each message of the user is a run of the flow, on the conversation's thread."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, cast

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

__all__ = ["TURN", "TURNS", "Turn", "TurnExtension"]

TURN = ":turn"
"""The input that makes a run a turn."""


class Turn(TypedDict):
    """What a turn is given."""

    message: str
    """What the user says."""

    intents: list[str]
    """The routes that are told apart first."""


class TurnExtension:
    """What makes a run a turn; see `RunExtension`."""

    def state_before(self, flow: Any, shown: Any, inputs: Mapping[str, Any]) -> Any:
        """The state of a conversation that is not the one shown; None where it is that, or the object has held none yet."""
        shown_id, flow_id = state_id(shown), str(inputs["id"])
        if shown_id == flow_id or not messages_in(flow, shown):
            return None
        others = cast("dict[str, Any]", vars(flow).setdefault("_other_conversations", {}))
        others[shown_id] = shown
        state = others.pop(flow_id, None)
        return flow._fresh_state() if state is None else create_state(state, flow.flow_name)

    def begin(self, flow: Any, state: Any, inputs: Mapping[str, Any]) -> None:
        """Take what the user says into the state that a turn begins with."""
        message = inputs[TURN]["message"]
        add_message(flow, state, "user", message)
        set_field(state, "current_user_message", message)
        set_field(state, "last_user_message", message)

    def end(self, flow: Any, state: Any, value: Any) -> None:
        """Take what a turn returned into the state, where no method has said anything to the user itself."""
        roles = [message_to_llm_dict(message)["role"] for message in messages_in(flow, state)]
        since = roles[len(roles) - roles[::-1].index("user") :] if "user" in roles else roles
        if isinstance(value, str) and "assistant" not in since:
            flow.append_assistant_message(value)

    def replaces(self, run: FlowRun, values: Mapping[str, Any]) -> bool:
        """Whether a message is another one than that of the turn which is not done.

        Raises:
            RunError: that one waits for somebody's answer.
        """
        stored: Mapping[str, Any] = values.get("inputs") or {}
        if values.get("parked"):
            raise RunError(
                f"conversation `{run.inputs['id']}` of flow `{run.name}` waits for somebody's answer; give it with "
                f"`resume({run.inputs['id']!r}, ...)` before the next message"
            )
        return run.revived(stored.get(TURN)) != run.inputs[TURN]

    def started(self, run: FlowRun) -> None:
        """Emit that a turn begins, and what the user says."""
        if run.state is not None:
            _emit(run, ConversationTurnStartedEvent)
            emit_message(run.flow, run.state, len(messages_in(run.flow, run.state)) - 1)

    def finished(self, run: FlowRun) -> None:
        """Emit that a turn is done."""
        _emit(run, ConversationTurnCompletedEvent)

    def failed(self, run: FlowRun, error: BaseException) -> None:
        """Emit that a turn has failed."""
        _emit(run, ConversationTurnFailedEvent, lambda: {"error": error})


TURNS = TurnExtension()


def _emit(run: FlowRun, event: type[BaseEvent], more: Callable[[], Mapping[str, Any]] = dict) -> None:
    emit_flow_event(run.flow, event, lambda: {"session_id": str(run.inputs["id"]), **more()})
