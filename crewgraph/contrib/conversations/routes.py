"""What flows that are conversations ask models: which way a message goes, and what to say."""

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from crewgraph.compiler.flow.report import emit_flow_event
from crewgraph.compiler.flow.run import RUNNING
from crewgraph.contrib.conversations.config import ConversationConfig, RouterConfig
from crewgraph.contrib.conversations.messages import intent_of, messages_in, reply_of, set_state_field, state_field
from crewgraph.contrib.conversations.turns import TURN, Turn
from crewgraph.core.messages import Message
from crewgraph.definitions.flow.method import is_conversational_only
from crewgraph.deprecations import user_stacklevel
from crewgraph.events.flow import ConversationRouteSelectedEvent
from crewgraph.prompts.book import english
from crewgraph.schema import described
from crewgraph.text import extract_json

__all__ = [
    "answered_from_history",
    "conversed",
    "ended",
    "is_answerable",
    "routed",
    "system_prompt",
]

_CONVERSE = "converse"
_FROM_HISTORY = "answer_from_history"
_BY_METHODS = "route_to_flow"


def routed(flow: Any) -> str:
    """The route of the turn that is under way, noted in the state and told."""
    before: str | None = state_field(flow.state, "last_intent")
    route = _route(flow)
    set_state_field(flow, "last_intent", route)
    emit_flow_event(
        flow,
        ConversationRouteSelectedEvent,
        lambda: {
            "session_id": flow.flow_id,
            "route": route,
            "user_message": state_field(flow.state, "current_user_message"),
            "message_index": len(messages_in(flow, flow.state)) - 1,
            "previous_intent": before,
        },
    )
    return route


def _route(flow: Any) -> str:
    """By the flow's own choice, by intents, by what was said before, and by the model, in this order."""
    intent = _intent(flow)
    if intent is not None:
        set_state_field(flow, "last_intent", intent)
    context: dict[str, Any] = flow.build_router_context()
    own: str | None = flow.route_turn(context)
    if own is not None:
        return str(own)
    if intent is not None:
        return intent
    if flow.can_answer_from_history(context):
        return _FROM_HISTORY
    router: RouterConfig | None = getattr(flow.conversational_config, "router", None)
    return _CONVERSE if router is None else _chosen(flow, router, context)


def _intent(flow: Any) -> str | None:
    """What intents tell, where there are some and a model for them."""
    config: Any = flow.conversational_config
    running = RUNNING.get()
    turn: Turn | None = running.run.inputs.get(TURN) if running is not None else None
    outcomes: Sequence[str] | None = (turn["intents"] if turn else None) or getattr(config, "default_intents", None)
    llm = flow.intent_llm_given if flow.intent_llm_given is not None else getattr(config, "intent_llm", None)
    if turn is None or not outcomes or llm is None:
        return None
    return flow.classify_intent(turn["message"], outcomes, llm=llm)


def _chosen(flow: Any, router: RouterConfig, context: Mapping[str, Any]) -> str:
    """The route that a model chooses."""
    llm = router.llm if router.llm is not None else flow.conversational_config.llm
    routes = _routes(flow, router)
    if llm is None:
        return router.default_intent or _CONVERSE
    told = {**context, "available_routes": list(routes)}
    asked: list[Message] = [
        {"role": "system", "content": _router_prompt(router, routes)},
        {"role": "user", "content": json.dumps(told, ensure_ascii=False, default=str)},
    ]
    try:
        said = reply_of(llm, asked)
    except Exception as error:  # noqa: BLE001 - the turn goes on by the route that is there for this
        _warn(f"the model could not choose a route of flow `{flow.flow_name}`: {type(error).__name__}: {error}")
        return router.fallback_intent or _CONVERSE
    named = _named_route(said, router)
    known = {one.casefold(): one for one in routes}
    return known.get(named.strip().casefold()) or router.fallback_intent or _CONVERSE


def _router_prompt(router: RouterConfig, routes: Mapping[str, str]) -> str:
    book = english()
    listed = "\n".join(f"- {name}: {use}" if use else f"- {name}" for name, use in routes.items())
    form = book.slice("route_form", field=router.intent_field)
    if router.response_format is not None:
        form = book.slice("route_schema", schema=described(router.response_format))
    told = book.slice("route_system", routes=listed, form=form)
    return f"{router.prompt}\n\n{told}" if router.prompt else told


def _named_route(said: str, router: RouterConfig) -> str:
    """The route in an answer: a JSON object that holds it, or its name alone."""
    found = extract_json(said)
    if not isinstance(found, dict):
        return said.strip().strip("`'\".")
    values = cast("dict[str, Any]", found)
    if router.response_format is not None:
        try:
            return str(getattr(router.response_format.model_validate(values), router.intent_field, ""))
        except ValidationError:
            return ""
    return str(values.get(router.intent_field, ""))


def _routes(flow: Any, router: RouterConfig) -> dict[str, str]:
    """The routes that a model may choose, each with what it is for."""
    definition = flow.topology()
    listening = {
        method.trigger: method.func
        for method in definition.methods.values()
        if isinstance(method.trigger, str) and method.trigger not in definition.methods
    }
    hidden = (*flow.builtin_routes, *flow.internal_routes)
    own = router.routes if router.routes is not None else sorted(name for name in listening if name not in hidden)
    described_by = router.route_descriptions or {}
    return {
        name: described_by.get(name) or flow.builtin_route_descriptions.get(name) or _first_line(listening.get(name))
        for name in dict.fromkeys([*own, *flow.builtin_routes])
    }


def _first_line(function: Any) -> str:
    if function is None or is_conversational_only(function):
        return ""
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    return next((line for line in lines if line), "")


def is_answerable(flow: Any, context: Mapping[str, Any]) -> bool:
    """Whether what was said before holds the answer; see `Flow.can_answer_from_history`."""
    config: ConversationConfig | None = flow.conversational_config
    llm = getattr(config, "answer_from_history_llm", None)
    history: list[Mapping[str, Any]] = context["message_history"]
    if llm is None or len(history) < 2:
        return False
    question = english().slice("history_enough", message=str(context["current_user_message"]))
    return intent_of(question, (_FROM_HISTORY, _BY_METHODS), llm, history) == _FROM_HISTORY


def system_prompt(flow: Any) -> str:
    """What the model that talks is told first."""
    given: str | None = getattr(flow.conversational_config, "system_prompt", None)
    return english().slice("conversational_system_prompt") if given is None else given


def conversed(flow: Any) -> str:
    """What the model says; it is added to the messages."""
    llm = getattr(flow.conversational_config, "llm", None)
    if llm is None:
        return _told(flow, english().slice("conversation_without_model"))
    return _told(flow, reply_of(llm, _prompted(system_prompt(flow), flow)))


def answered_from_history(flow: Any) -> str:
    """What the model says that knows what was said before, and nothing else."""
    config: ConversationConfig | None = flow.conversational_config
    if config is None or config.answer_from_history_llm is None:
        return conversed(flow)
    prompt = config.answer_from_history_prompt or english().slice("history_answer")
    return _told(flow, reply_of(config.answer_from_history_llm, _prompted(prompt, flow)))


def ended(flow: Any) -> str:
    """What is said at the end; the state is noted as ended."""
    set_state_field(flow, "ended", True)
    return _told(flow, english().slice("conversation_ended"))


def _told(flow: Any, text: str) -> str:
    flow.append_assistant_message(text)
    return text


def _prompted(prompt: str, flow: Any) -> list[Message]:
    said: list[Any] = flow.conversation_messages
    return [{"role": "system", "content": prompt}, *said] if prompt else list(said)


def _warn(what: str) -> None:
    warnings.warn(what, stacklevel=user_stacklevel())
