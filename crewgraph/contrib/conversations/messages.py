"""What is said in a flow: read from its state, and written into it."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast, get_args

from pydantic import BaseModel

from crewgraph.contrib.conversations.config import ConversationalConfig
from crewgraph.contrib.conversations.state import (
    ConversationMessage,
    ConversationMessageRole,
    message_to_llm_dict,
)
from crewgraph.core.messages import Message
from crewgraph.definitions.flow.state import state_id
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import ConversationMessageAddedEvent
from crewgraph.llm.conversation import text_of
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.book import english

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow

__all__ = [
    "ConversationalInputs",
    "add_message",
    "append_message",
    "emit_message",
    "get_conversation_messages",
    "get_conversational_config",
    "input_history_to_messages",
    "intent_of",
    "messages_in",
    "normalize_kickoff_inputs",
    "prepare_conversational_turn",
    "receive_user_message",
    "reply_of",
    "set_field",
    "set_state_field",
    "state_field",
]

_ROLES = get_args(ConversationMessageRole)


class ConversationalInputs(TypedDict, total=False):
    """The inputs of a turn."""

    id: NotRequired[str]
    """The conversation."""

    user_message: NotRequired[str | dict[str, Any]]
    """What the user says."""

    last_intent: NotRequired[str]
    """The route of the turn before."""


def state_field(state: Any, name: str, default: Any = None) -> Any:
    """A field of a state, be it a model or a dict."""
    if isinstance(state, dict):
        return cast("dict[str, Any]", state).get(name, default)
    return getattr(state, name, default)


def set_field(state: Any, name: str, value: Any) -> None:
    """Set a field of a state; a model that has none of this name stays as it is."""
    if isinstance(state, dict):
        state[name] = value
    elif name in type(state).model_fields or type(state).model_config.get("extra") == "allow":
        setattr(state, name, value)


def set_state_field(flow: "Flow[Any]", name: str, value: Any) -> None:
    """Set a field of a flow's state; a model that has none of this name stays as it is."""
    set_field(flow.state, name, value)


def messages_in(flow: "Flow[Any]", state: Any) -> list[Any]:
    """The messages of a state; where its model has no field for them, those that the flow's object holds."""
    if isinstance(state, dict):
        return cast("dict[str, list[Any]]", state).setdefault("messages", [])
    held = getattr(state, "messages", None)
    return cast("list[Any]", held) if isinstance(held, list) else _beside_state(flow)


def _beside_state(flow: "Flow[Any]") -> list[Any]:
    """What was said, where the state has no place for it."""
    return vars(flow).setdefault("said_beside", [])


def add_message(flow: "Flow[Any]", state: Any, role: str, content: Any, **extra: Any) -> int:
    """Put a message into a state; its place, from 0."""
    messages = messages_in(flow, state)
    plain = {"role": role, "content": content, **extra}
    messages.append(ConversationMessage.model_validate(plain) if _are_models(state) and role in _ROLES else plain)
    return len(messages) - 1


def emit_message(flow: "Flow[Any]", state: Any, place: int) -> None:
    """Emit that a message was added."""
    told = message_to_llm_dict(messages_in(flow, state)[place])
    if told["role"] in _ROLES and crewai_event_bus.wants(ConversationMessageAddedEvent):
        event = ConversationMessageAddedEvent(
            flow_name=flow.flow_name,
            session_id=state_id(state),
            role=told["role"],
            content=told.get("content"),
            message_index=place,
        )
        crewai_event_bus.emit(flow, event)


def append_message(flow: "Flow[Any]", role: ConversationMessageRole, content: str, **extra: Any) -> None:
    """Add a message to what was said.

    Args:
        flow: the flow.
        role: who says it.
        content: what is said.
        extra: `name`, `tool_call_id`, `metadata` and so on.
    """
    state = flow.state
    emit_message(flow, state, add_message(flow, state, role, content, **extra))


def get_conversation_messages(flow: "Flow[Any]") -> list[dict[str, Any]]:
    """What was said in a flow, as models take it."""
    state = flow.state
    held = messages_in(flow, state) if not isinstance(state, dict) or "messages" in state else _beside_state(flow)
    return [message_to_llm_dict(one) for one in held]


def receive_user_message(
    flow: "Flow[Any]", text: str, *, outcomes: Sequence[str] | None = None, llm: Any = None
) -> str:
    """Add what the user says; what was meant, where outcomes and a model to tell them apart are given, else the text."""
    append_message(flow, "user", text)
    set_state_field(flow, "last_user_message", text)
    if not outcomes or llm is None:
        return text
    intent = intent_of(text, outcomes, llm, get_conversation_messages(flow))
    set_state_field(flow, "last_intent", intent)
    return intent


def prepare_conversational_turn(
    flow: "Flow[Any]",
    *,
    user_message: str | dict[str, Any] | None = None,
    intents: Sequence[str] | None = None,
    intent_llm: Any = None,
    config: ConversationalConfig | None = None,
) -> None:
    """Take what the user says into a flow's state, before it runs.

    Args:
        flow: the flow.
        user_message: what the user says; nothing is done where None.
        intents: what it may come to; those of the config where None.
        intent_llm: the model that tells these apart; that of the config where None.
        config: what stands for what is not given; the flow's where None.

    Raises:
        DefinitionError: there are intents, and no model.
    """
    if user_message is None:
        return
    chosen = config or get_conversational_config(flow)
    outcomes = intents or (chosen.default_intents if chosen else None)
    llm = intent_llm if intent_llm is not None else (chosen.intent_llm if chosen else None)
    if intents and llm is None:
        raise DefinitionError("`intents` are told apart by a model; give `intent_llm`.")
    text = user_message if isinstance(user_message, str) else str(user_message.get("content") or "")
    set_state_field(flow, "last_intent", None)
    receive_user_message(flow, text, outcomes=outcomes, llm=llm)


def get_conversational_config(flow: Any) -> ConversationalConfig | None:
    """What a flow on a `ChatState` is given as `conversational_config`; None where it has none."""
    found = getattr(flow, "conversational_config", None)
    return found if isinstance(found, ConversationalConfig) else None


def normalize_kickoff_inputs(
    inputs: dict[str, Any] | None,
    *,
    user_message: str | dict[str, Any] | None = None,
    session_id: str | None = None,
) -> dict[str, Any] | None:
    """The inputs with the conversation and what the user says in them; None where nothing is given."""
    if inputs is None and user_message is None and session_id is None:
        return None
    given = dict(inputs or {})
    if session_id is not None:
        given["id"] = session_id
    if user_message is not None:
        given["user_message"] = user_message
    return given


def input_history_to_messages(entries: Sequence[Any]) -> list[dict[str, Any]]:
    """Questions and answers as messages: what was asked is the assistant's, what was answered the user's."""
    told: list[dict[str, Any]] = []
    for entry in entries:
        asked, answered = _of_entry(entry, "message"), _of_entry(entry, "response")
        if asked:
            told.append({"role": "assistant", "content": asked})
        if answered:
            told.append({"role": "user", "content": answered})
    return told


def _of_entry(entry: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", entry).get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def _are_models(state: Any) -> bool:
    """Whether the messages of a state are `ConversationMessage`s."""
    if not isinstance(state, BaseModel):
        return False
    field = type(state).model_fields.get("messages")
    return field is not None and ConversationMessage in get_args(field.annotation)


def intent_of(text: str, outcomes: Sequence[str], llm: Any, said: Sequence[Mapping[str, Any]]) -> str:
    """What a text comes to; see `Flow.classify_intent`.

    Raises:
        DefinitionError: there are no outcomes.
    """
    if not outcomes:
        raise DefinitionError("there are no `outcomes` that the text could come to; give at least one.")
    book = english()
    before = "\n".join(f"{one.get('role')}: {one.get('content')}" for one in said)
    asked: list[Message] = [
        {"role": "system", "content": book.slice("intent_system", outcomes=", ".join(outcomes))},
        {"role": "user", "content": book.slice("intent_text", said=before, text=text)},
    ]
    answer = reply_of(llm, asked).casefold()
    exact = [one for one in outcomes if one.casefold() == answer.strip().strip("`'\".")]
    named = exact or [one for one in sorted(outcomes, key=len, reverse=True) if one.casefold() in answer]
    if not named:
        _warn(f"the model answered {answer!r:.80}, which is none of {', '.join(outcomes)}; `{outcomes[0]}` is taken")
    return named[0] if named else outcomes[0]


def reply_of(llm: Any, messages: list[Message]) -> str:
    """What a model answers."""
    model: Any = LLM(llm) if isinstance(llm, str) else llm
    if callable(getattr(model, "call", None)):
        answer: Any = model.call(list(messages))
        return answer.model_dump_json() if isinstance(answer, BaseModel) else str(answer)
    return text_of(as_model(model).complete(messages, (), (), {})["content"])


def _warn(what: str) -> None:
    warnings.warn(what, stacklevel=user_stacklevel())
