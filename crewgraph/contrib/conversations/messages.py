"""The messages of a conversational flow: reading them from its state and adding to it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, get_args

from pydantic import BaseModel

from crewgraph.compiler.flow.report import emit_flow_event
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.contrib.conversations.state import (
    ConversationMessage,
    ConversationMessageRole,
    message_to_llm_dict,
)
from crewgraph.core.loops.bridge import call
from crewgraph.core.messages import Message
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.state import TURN, create_state, state_id
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError, RunError
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import (
    ConversationMessageAddedEvent,
    ConversationTurnCompletedEvent,
    ConversationTurnFailedEvent,
    ConversationTurnStartedEvent,
)
from crewgraph.llm.conversation import text_of
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object

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


def set_state_field(flow: FlowDefinition, name: str, value: Any) -> None:
    """Set a field of a flow's state; ignored if the state is a model without that field."""
    set_field(flow.state, name, value)


def messages_in(flow: FlowDefinition, state: Any) -> list[Any]:
    """Return the messages of a state, or those held on the flow if its model has no field for them."""
    if is_object(state):
        return state.setdefault("messages", [])
    messages = getattr(state, "messages", None)
    return messages if is_list(messages) else _messages_outside_state(flow)


def _messages_outside_state(flow: FlowDefinition) -> list[object]:
    """Return the messages held on the flow, for states without a field for them."""
    return vars(flow).setdefault("_messages_outside_state", [])


def add_message(flow: FlowDefinition, state: object, role: str, content: object, **extra: object) -> int:
    """Add a message to a state and return its index."""
    messages = messages_in(flow, state)
    plain = {"role": role, "content": content, **extra}
    messages.append(ConversationMessage.model_validate(plain) if _holds_models(state) and role in _ROLES else plain)
    return len(messages) - 1


def emit_message(flow: FlowDefinition, state: Any, index: int) -> None:
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


def append_message(flow: FlowDefinition, role: ConversationMessageRole, content: str, **extra: Any) -> None:
    """Add a message to a flow's conversation.

    Args:
        flow: The flow.
        role: The role of the author.
        content: The text.
        extra: Further fields of the message, such as `name`, `tool_call_id` or `metadata`.
    """
    state = flow.state
    emit_message(flow, state, add_message(flow, state, role, content, **extra))


def get_conversation_messages(flow: FlowDefinition) -> list[PlainDict]:
    """Return a flow's messages in the form that models take."""
    state = flow.state
    has_messages = not isinstance(state, dict) or "messages" in state
    messages = messages_in(flow, state) if has_messages else _messages_outside_state(flow)
    return [message_to_llm_dict(message) for message in messages]


def receive_user_message(
    flow: FlowDefinition, text: str, *, outcomes: Sequence[str] | None = None, llm: object = None
) -> str:
    """Add a user message; return the intent if outcomes and a model to classify it are given, else the text."""
    append_message(flow, "user", text)
    set_state_field(flow, "last_user_message", text)
    if not outcomes or llm is None:
        return text
    intent = classify_intent(text, outcomes, llm, get_conversation_messages(flow))
    set_state_field(flow, "last_intent", intent)
    return intent


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


class Turn(TypedDict):
    """The value of the input `TURN`."""

    message: str
    """The user's message."""

    intents: list[str]
    """The intents to distinguish."""


class TurnExtension:
    """The part of a conversation in a run that has the input `TURN`."""

    def state_before(self, flow: Any, shown: object, inputs: PlainMapping) -> Any:
        """Return the state that a new run continues with.

        None if that is the one of the flow object, `shown`, or it has held no conversation yet.
        """
        shown_id, flow_id = state_id(shown), str(inputs["id"])
        if shown_id == flow_id or not messages_in(flow, shown):
            return None
        stored_states: PlainDict = flow.__dict__.setdefault("_other_conversations", {})
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
        """Add the return value of the last method as an assistant message before the state is stored.

        Not if a method has already answered the user.
        """
        roles = [message_to_llm_dict(message)["role"] for message in messages_in(flow, state)]
        answers = roles[len(roles) - roles[::-1].index("user") :] if "user" in roles else roles
        if isinstance(value, str) and "assistant" not in answers:
            flow.append_assistant_message(value)

    def replaces(self, run: FlowRun, values: PlainMapping) -> bool:
        """Return whether a new run ignores the unfinished turn stored under its `id`, as its message is another one.

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
