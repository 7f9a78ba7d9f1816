"""The state of a conversation: its messages, events and agent threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.definitions.flow.method import FlowMethod, events_of, is_conversational_only
from crewgraph.errors import DefinitionError
from crewgraph.schema import Metadata, PlainDict, is_mapping

ConversationMessageRole = Literal["user", "assistant", "system", "tool"]
"""Author of a message."""

ConversationEventVisibility = Literal["private", "public"]
"""Whether an event is shown to the user or only stored."""


class ConversationMessage(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: ConversationMessageRole

    content: str | list[PlainDict] | None
    """Text, or content parts in the form that models take."""

    name: str | None = None
    """Name of the author."""

    tool_call_id: str | None = None
    """Id of the tool call that this result answers."""

    tool_calls: list[PlainDict] | None = None
    """Tool calls that the message requests."""

    files: PlainDict | None = None
    """Attached files by name."""

    metadata: Metadata = Field(default_factory=dict)
    """Metadata, which models do not see."""


class AgentMessage(BaseModel):
    """A message in an agent's own thread."""

    role: ConversationMessageRole | str = "assistant"
    content: Any
    metadata: Metadata = Field(default_factory=dict)


class ConversationEvent(BaseModel):
    """An event of a conversation that is not a message."""

    type: str
    payload: PlainDict = Field(default_factory=dict)

    agent_name: str | None = None
    """The agent that the event belongs to."""

    visibility: ConversationEventVisibility = "private"
    """Whether the event is shown to the user."""


class ConversationState(BaseModel):
    """State of a conversation; subclass it to add fields."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """Id of the conversation."""

    messages: list[ConversationMessage] = Field(default_factory=list[ConversationMessage])
    """The messages, latest last."""

    current_user_message: str | None = None
    """The message of the current turn."""

    last_user_message: str | None = None
    """The user's latest message."""

    last_intent: str | None = None
    """The latest route."""

    ended: bool = False
    """Whether the conversation has ended."""

    events: list[ConversationEvent] = Field(default_factory=list[ConversationEvent])
    """Events other than messages."""

    agent_threads: dict[str, list[AgentMessage]] = Field(default_factory=dict[str, list[AgentMessage]])
    """Messages of agents, by agent."""

    session_ready: bool = False
    """Free for programs: whether one-time setup of the conversation is done."""


class ChatState(BaseModel):
    """Minimal state of a conversation, for flows that handle turns themselves."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """Id of the conversation."""

    messages: list[PlainDict] = Field(default_factory=list[dict[str, Any]])
    """The messages, in the form that models take."""

    last_user_message: str | None = None
    """The user's latest message."""

    last_intent: str | None = None
    """The latest route."""

    session_ready: bool = False
    """Free for programs: whether one-time setup of the conversation is done."""


def message_to_llm_dict(message: object) -> PlainDict:
    """Return a message in the form that models take.

    Args:
        message: A `ConversationMessage`, a dict, or the text of a user message.
    """
    if is_mapping(message):
        return dict(message)
    if not isinstance(message, BaseModel):
        return {"role": getattr(message, "role", "user"), "content": getattr(message, "content", str(message))}
    fields = {name: getattr(message, name) for name in type(message).model_fields if name != "metadata"}
    return {name: value for name, value in fields.items() if value is not None or name == "content"}


@dataclass
class RouterConfig:
    """How a model routes a turn."""

    prompt: str | None = None
    """Purpose and criteria of the router; the list of routes is added to it."""

    response_format: type[BaseModel] | None = None
    """Model of the answer, with the route in `intent_field`."""

    llm: Any | None = None
    """The router's model; None uses the conversation's."""

    routes: Sequence[str] | None = None
    """The routes to choose from; None uses the labels that the flow listens to."""

    route_descriptions: dict[str, str] | None = None
    """Descriptions by route; the default is the first line of the listener's docstring."""

    default_intent: str | None = "converse"
    """The route if there is no model."""

    fallback_intent: str | None = "converse"
    """The route if the model fails or names an unknown one."""

    intent_field: str = "intent"
    """The field of the answer that contains the route."""


@dataclass
class ConversationConfig:
    """Class decorator that makes a flow conversational."""

    system_prompt: str | None = None
    """System prompt of the conversation's model; None uses a default, an empty text none."""

    llm: Any | None = None
    """The model that answers the user, and routes if the router has none of its own."""

    router: RouterConfig | None = None
    """How turns are routed; without it, every message is answered by the conversation's model."""

    answer_from_history_prompt: str | None = None
    """System prompt for answers from the history."""

    default_intents: Sequence[str] | None = None
    """Intents that `intent_llm` distinguishes before the router runs."""

    intent_llm: Any | None = None
    """The model that classifies messages by intent."""

    answer_from_history_llm: Any | None = None
    """A model that decides whether the history suffices for an answer."""

    visible_agent_outputs: Sequence[str] | Literal["all"] | None = None
    """The agents whose results become messages to the user."""

    defer_trace_finalization: bool = True
    """Ignored: each turn is a run with its own trace."""

    trace_scope: Literal["turn", "session"] | None = None
    """Ignored, for the same reason."""

    def __call__(self, flow_cls: type[Any]) -> type[Any]:
        """Make the class conversational.

        Raises:
            DefinitionError: If it is not a flow.
        """
        become = getattr(flow_cls, "become_conversational", None)
        if become is None:
            raise DefinitionError(f"`@ConversationConfig` decorates `{flow_cls.__name__}`, which is not a flow")
        become(self)
        return flow_cls


@dataclass
class ConversationalConfig:
    """`conversational_config` of flows with a `ChatState`."""

    default_intents: Sequence[str] | None = None
    """Intents that `intent_llm` distinguishes."""

    intent_llm: str | None = None
    """The model that classifies messages by intent."""

    interactive_prompt: str = "You: "
    """Prompt in the terminal."""

    interactive_timeout: float | None = None
    """Seconds to wait for a line."""

    exit_commands: Sequence[str] = field(default_factory=lambda: ("exit", "quit"))
    """Commands that end a conversation in the terminal."""

    defer_trace_finalization: bool = True
    """Ignored: each turn is a run with its own trace."""

    trace_scope: Literal["turn", "session"] | None = None
    """Ignored, for the same reason."""


def conversation_methods(methods: Mapping[str, FlowMethod]) -> dict[str, FlowMethod]:
    """Return the methods of a conversational flow by name.

    Its router may return any label that is listened to. The class's own listener to a route replaces the built-in one.

    Args:
        methods: All methods that the class defines or inherits.
    """
    routes = {event for method in methods.values() for event in events_of(method.trigger) if event not in methods}
    own = {method.trigger for method in methods.values() if not is_conversational_only(method.func)}
    chosen = {
        name: method
        for name, method in methods.items()
        if not (is_conversational_only(method.func) and method.trigger in own)
    }
    router = chosen.get("route_conversation")
    return chosen if router is None else {**chosen, router.name: replace(router, labels=tuple(sorted(routes)))}
