"""The messages of a conversational flow: reading them from its state and adding to it."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, get_args

from pydantic import BaseModel

from crewgraph.contrib.conversations.config import ConversationalConfig
from crewgraph.contrib.conversations.state import (
    ConversationMessage,
    ConversationMessageRole,
    message_to_llm_dict,
)
from crewgraph.core.loops.bridge import call
from crewgraph.core.messages import Message
from crewgraph.definitions.flow.state import state_id
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import ConversationMessageAddedEvent
from crewgraph.llm.conversation import text_of
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.book import default_book
from crewgraph.schema import PlainDict, is_list, is_mapping, is_object

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import FlowDefinition

__all__ = [
    "ConversationalInputs",
    "add_message",
    "append_message",
    "ask_model",
    "classify_intent",
    "emit_message",
    "get_conversation_messages",
    "get_conversational_config",
    "input_history_to_messages",
    "messages_in",
    "normalize_kickoff_inputs",
    "prepare_conversational_turn",
    "receive_user_message",
    "set_field",
    "set_state_field",
    "state_field",
    "warn_user",
]

_ROLES = get_args(ConversationMessageRole)


class ConversationalInputs(TypedDict, total=False):
    """The inputs of a conversational turn."""

    id: NotRequired[str]
    """Id of the conversation."""

    user_message: NotRequired[str | PlainDict]
    """The user's message."""

    last_intent: NotRequired[str]
    """The route of the previous turn."""


def state_field(state: object, name: str, default: object = None) -> Any:
    """Return a field of a state, which may be a model or a dict."""
    return state.get(name, default) if is_object(state) else getattr(state, name, default)


def set_field(state: Any, name: str, value: Any) -> None:
    """Set a field of a state; ignored if the state is a model without that field."""
    if isinstance(state, dict):
        state[name] = value
    elif name in type(state).model_fields or type(state).model_config.get("extra") == "allow":
        setattr(state, name, value)


def set_state_field(flow: "FlowDefinition", name: str, value: Any) -> None:
    """Set a field of a flow's state; ignored if the state is a model without that field."""
    set_field(flow.state, name, value)


def messages_in(flow: "FlowDefinition", state: Any) -> list[Any]:
    """Return the messages of a state, or those held on the flow if its model has no field for them."""
    if is_object(state):
        return state.setdefault("messages", [])
    messages = getattr(state, "messages", None)
    return messages if is_list(messages) else _messages_outside_state(flow)


def _messages_outside_state(flow: "FlowDefinition") -> list[object]:
    """Return the messages held on the flow, for states without a field for them."""
    return vars(flow).setdefault("_messages_outside_state", [])


def add_message(flow: "FlowDefinition", state: object, role: str, content: object, **extra: object) -> int:
    """Add a message to a state and return its index."""
    messages = messages_in(flow, state)
    plain = {"role": role, "content": content, **extra}
    messages.append(ConversationMessage.model_validate(plain) if _holds_models(state) and role in _ROLES else plain)
    return len(messages) - 1


def emit_message(flow: "FlowDefinition", state: Any, index: int) -> None:
    """Emit the event of an added message."""
    message = message_to_llm_dict(messages_in(flow, state)[index])
    if message["role"] in _ROLES and crewai_event_bus.wants(ConversationMessageAddedEvent):
        event = ConversationMessageAddedEvent(
            flow_name=flow.flow_name,
            session_id=state_id(state),
            role=message["role"],
            content=message.get("content"),
            message_index=index,
        )
        crewai_event_bus.emit(flow, event)


def append_message(flow: "FlowDefinition", role: ConversationMessageRole, content: str, **extra: Any) -> None:
    """Add a message to a flow's conversation.

    Args:
        flow: The flow.
        role: The role of the author.
        content: The text.
        extra: Further fields of the message, such as `name`, `tool_call_id` or `metadata`.
    """
    state = flow.state
    emit_message(flow, state, add_message(flow, state, role, content, **extra))


def get_conversation_messages(flow: "FlowDefinition") -> list[PlainDict]:
    """Return a flow's messages in the form that models take."""
    state = flow.state
    has_messages = not isinstance(state, dict) or "messages" in state
    messages = messages_in(flow, state) if has_messages else _messages_outside_state(flow)
    return [message_to_llm_dict(message) for message in messages]


def receive_user_message(
    flow: "FlowDefinition", text: str, *, outcomes: Sequence[str] | None = None, llm: object = None
) -> str:
    """Add a user message; return the intent if outcomes and a model to classify it are given, else the text."""
    append_message(flow, "user", text)
    set_state_field(flow, "last_user_message", text)
    if not outcomes or llm is None:
        return text
    intent = classify_intent(text, outcomes, llm, get_conversation_messages(flow))
    set_state_field(flow, "last_intent", intent)
    return intent


def prepare_conversational_turn(
    flow: "FlowDefinition",
    *,
    user_message: str | PlainDict | None = None,
    intents: Sequence[str] | None = None,
    intent_llm: Any = None,
    config: ConversationalConfig | None = None,
) -> None:
    """Add the user's message to a flow's state before it runs.

    Args:
        flow: The flow.
        user_message: The message; None does nothing.
        intents: The possible intents; None uses those of the config.
        intent_llm: The model that classifies the message; None uses that of the config.
        config: Defaults of the other arguments; None uses the flow's config.

    Raises:
        DefinitionError: If there are intents but no model.
    """
    if user_message is None:
        return
    config = config or get_conversational_config(flow)
    outcomes = intents or (config.default_intents if config else None)
    llm = intent_llm if intent_llm is not None else (config.intent_llm if config else None)
    if intents and llm is None:
        raise DefinitionError("`intents` need a model to classify messages; pass `intent_llm`.")
    text = user_message if isinstance(user_message, str) else str(user_message.get("content") or "")
    set_state_field(flow, "last_intent", None)
    receive_user_message(flow, text, outcomes=outcomes, llm=llm)


def get_conversational_config(flow: object) -> ConversationalConfig | None:
    """Return a flow's `conversational_config` if it is a `ConversationalConfig`, else None."""
    config = getattr(flow, "conversational_config", None)
    return config if isinstance(config, ConversationalConfig) else None


def normalize_kickoff_inputs(
    inputs: PlainDict | None,
    *,
    user_message: str | PlainDict | None = None,
    session_id: str | None = None,
) -> PlainDict | None:
    """Return the inputs with the conversation's id and the user's message added; None if all arguments are None."""
    if inputs is None and user_message is None and session_id is None:
        return None
    merged = dict(inputs or {})
    if session_id is not None:
        merged["id"] = session_id
    if user_message is not None:
        merged["user_message"] = user_message
    return merged


def input_history_to_messages(entries: Sequence[Any]) -> list[PlainDict]:
    """Convert input requests to messages: requests become the assistant's, responses the user's."""
    messages: list[dict[str, object]] = []
    for entry in entries:
        question, answer = _entry_field(entry, "message"), _entry_field(entry, "response")
        if question:
            messages.append({"role": "assistant", "content": question})
        if answer:
            messages.append({"role": "user", "content": answer})
    return messages


def _entry_field(entry: object, name: str) -> object:
    return entry.get(name) if is_mapping(entry) else getattr(entry, name, None)


def _holds_models(state: object) -> bool:
    """Return whether a state's messages are `ConversationMessage`s."""
    if not isinstance(state, BaseModel):
        return False
    field = type(state).model_fields.get("messages")
    return field is not None and ConversationMessage in get_args(field.annotation)


def classify_intent(text: str, outcomes: Sequence[str], llm: object, history: Sequence[Mapping[str, object]]) -> str:
    """Classify a text as one of the outcomes; see `Flow.classify_intent`.

    Raises:
        DefinitionError: If there are no outcomes.
    """
    if not outcomes:
        raise DefinitionError("`outcomes` is empty; pass at least one.")
    book = default_book()
    transcript = "\n".join(f"{message.get('role')}: {message.get('content')}" for message in history)
    prompt: list[Message] = [
        {"role": "system", "content": book.slice("intent_system", outcomes=", ".join(outcomes))},
        {"role": "user", "content": book.slice("intent_text", said=transcript, text=text)},
    ]
    answer = ask_model(llm, prompt).casefold()
    exact = [outcome for outcome in outcomes if outcome.casefold() == answer.strip().strip("`'\".")]
    by_length = sorted(outcomes, key=len, reverse=True)
    matches = exact or [outcome for outcome in by_length if outcome.casefold() in answer]
    if not matches:
        warn_user(f"the model answered {answer!r:.80}, which is none of {', '.join(outcomes)}; using `{outcomes[0]}`")
    return matches[0] if matches else outcomes[0]


def ask_model(llm: object, messages: list[Message]) -> str:
    """Return a model's reply as text."""
    model: Any = LLM(llm) if isinstance(llm, str) else llm
    if callable(getattr(model, "call", None)):
        answer: Any = call(model.call, list(messages))
        return answer.model_dump_json() if isinstance(answer, BaseModel) else str(answer)
    return text_of(as_model(model).complete(messages, (), (), {})["content"])


def warn_user(message: str) -> None:
    """Warn at the line of the user's code."""
    warnings.warn(message, stacklevel=user_stacklevel())
