"""Configuration of conversational flows: the class decorator and the router settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel

from crewgraph.definitions.flow.method import FlowMethod, events_of, is_conversational_only
from crewgraph.errors import DefinitionError

__all__ = [
    "ConversationConfig",
    "ConversationalConfig",
    "RouterConfig",
    "conversation_methods",
]


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
