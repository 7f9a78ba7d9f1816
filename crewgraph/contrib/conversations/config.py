"""How a flow holds conversations: the class decorator, and the choice of the route by a model."""

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
    """How a model chooses the route of a turn."""

    prompt: str | None = None
    """What the assistant is for, and by what it goes; the routes are told by themselves."""

    response_format: type[BaseModel] | None = None
    """A model that the answer fits, with the route in `intent_field`."""

    llm: Any | None = None
    """The model that chooses; that of the conversation where None."""

    routes: Sequence[str] | None = None
    """The routes that it may choose; what the flow listens to where None."""

    route_descriptions: dict[str, str] | None = None
    """What routes are for; else the first line of the listener's docstring."""

    default_intent: str | None = "converse"
    """The route where there is no model."""

    fallback_intent: str | None = "converse"
    """The route where the model names none of them, or fails."""

    intent_field: str = "intent"
    """The field of the answer that names the route."""


@dataclass
class ConversationConfig:
    """Makes a flow a conversation, as a decorator of its class."""

    system_prompt: str | None = None
    """What the model that talks is told first; a few words of ours where None, nothing where empty."""

    llm: Any | None = None
    """The model that talks, and chooses the route."""

    router: RouterConfig | None = None
    """How the route is chosen; without it every message is just talked about."""

    answer_from_history_prompt: str | None = None
    """What the model is told that answers from what was said before."""

    default_intents: Sequence[str] | None = None
    """Routes that `intent_llm` tells apart before anything else."""

    intent_llm: Any | None = None
    """The model that does so."""

    answer_from_history_llm: Any | None = None
    """A model that is asked first whether what was said before is enough for an answer."""

    visible_agent_outputs: Sequence[str] | Literal["all"] | None = None
    """The agents whose results are said to the user, too."""

    defer_trace_finalization: bool = True
    """Without effect: each turn is a run, and a trace of its own."""

    trace_scope: Literal["turn", "session"] | None = None
    """Without effect, likewise."""

    def __call__(self, flow_cls: type[Any]) -> type[Any]:
        """Make the class conversational.

        Raises:
            DefinitionError: it is no flow.
        """
        become = getattr(flow_cls, "become_conversational", None)
        if become is None:
            raise DefinitionError(f"`@ConversationConfig` stands on `{flow_cls.__name__}`, which is no flow")
        become(self)
        return flow_cls


@dataclass
class ConversationalConfig:
    """What flows on a `ChatState` are given as `conversational_config`."""

    default_intents: Sequence[str] | None = None
    """The intents that a turn is told apart by."""

    intent_llm: str | None = None
    """The model that does so."""

    interactive_prompt: str = "You: "
    """What a terminal shows."""

    interactive_timeout: float | None = None
    """Seconds that a line is waited for."""

    exit_commands: Sequence[str] = field(default_factory=lambda: ("exit", "quit"))
    """What ends a conversation on a terminal."""

    defer_trace_finalization: bool = True
    """Without effect: each turn is a run, and a trace of its own."""

    trace_scope: Literal["turn", "session"] | None = None
    """Without effect, likewise."""


def conversation_methods(methods: Mapping[str, FlowMethod]) -> dict[str, FlowMethod]:
    """The methods of a conversation, by name.

    Its router may return whatever is listened to. A listener of the class's own to a route takes the place of the built-in one.

    Args:
        methods: all methods that the class has and inherits.
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
