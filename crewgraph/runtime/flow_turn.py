"""A turn of a conversation: whether it goes on or begins, and what is told of it."""

from collections.abc import Callable, Mapping
from typing import Any

from crewgraph.compiler.flow.report import tell
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.definitions.flow.messages import messages_in, tell_message
from crewgraph.definitions.flow.turn import TURN
from crewgraph.errors import RunError
from crewgraph.events.base import BaseEvent
from crewgraph.events.flow import (
    ConversationTurnCompletedEvent,
    ConversationTurnFailedEvent,
    ConversationTurnStartedEvent,
)

__all__ = ["is_another_turn", "turn_begins", "turn_ends", "turn_fails"]


def is_another_turn(run: FlowRun, values: Mapping[str, Any]) -> bool:
    """Whether a message is another one than that of the turn which is not done; that one is then left aside.

    Raises:
        RunError: that one waits for somebody's answer.
    """
    if TURN not in run.inputs:
        return False
    given: Mapping[str, Any] = values.get("inputs") or {}
    if values.get("parked"):
        raise RunError(
            f"conversation `{run.inputs['id']}` of flow `{run.name}` waits for somebody's answer; give it with "
            f"`resume({run.inputs['id']!r}, ...)` before the next message"
        )
    return run.revived(given.get(TURN)) != run.inputs[TURN]


def turn_begins(run: FlowRun) -> None:
    """Tell that a turn begins, and what the user says."""
    if TURN in run.inputs and run.state is not None:
        _tell(run, ConversationTurnStartedEvent)
        tell_message(run.flow, run.state, len(messages_in(run.flow, run.state)) - 1)


def turn_ends(run: FlowRun) -> None:
    """Tell that a turn is done."""
    if TURN in run.inputs:
        _tell(run, ConversationTurnCompletedEvent)


def turn_fails(run: FlowRun, error: BaseException) -> None:
    """Tell that a turn has failed."""
    if TURN in run.inputs:
        _tell(run, ConversationTurnFailedEvent, lambda: {"error": error})


def _tell(run: FlowRun, event: type[BaseEvent], more: Callable[[], Mapping[str, Any]] = dict) -> None:
    tell(run.flow, event, lambda: {"session_id": str(run.inputs["id"]), **more()})
