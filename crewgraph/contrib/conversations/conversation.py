"""Implements the conversation methods of flows: choosing a route, answering the user, and the turns."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from crewgraph.compiler.flow.report import emit_flow_event
from crewgraph.compiler.flow.running import RUNNING
from crewgraph.contrib.conversations.messages import (
    TURN,
    Turn,
    ask_model,
    classify_intent,
    messages_in,
    set_state_field,
    state_field,
    warn_user,
)
from crewgraph.contrib.conversations.state import (
    AgentMessage,
    ConversationConfig,
    ConversationEvent,
    ConversationEventVisibility,
    RouterConfig,
    message_to_llm_dict,
)
from crewgraph.core.messages import Message
from crewgraph.core.outages import is_outage
from crewgraph.definitions.flow.method import is_conversational_only
from crewgraph.definitions.flow.state import state_id
from crewgraph.errors import DefinitionError
from crewgraph.events.flow import ConversationRouteSelectedEvent
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainDict, PlainMapping, is_object, model_outline
from crewgraph.text import extract_json

STORED_CLASSES = (ConversationConfig, AgentMessage, ConversationEvent)
"""Classes of values that conversations store in state and outputs."""

_CONVERSE = "converse"
_FROM_HISTORY = "answer_from_history"
_BY_METHODS = "route_to_flow"


def select_route(flow: Any) -> str:
    """Choose the route of the current turn, store it in the state and emit its event."""
    previous: str | None = state_field(flow.state, "last_intent")
    route = _chosen_route(flow)
    set_state_field(flow, "last_intent", route)
    emit_flow_event(
        flow,
        ConversationRouteSelectedEvent,
        lambda: {
            "session_id": flow.flow_id,
            "route": route,
            "user_message": state_field(flow.state, "current_user_message"),
            "message_index": len(messages_in(flow, flow.state)) - 1,
            "previous_intent": previous,
        },
    )
    return route


def _chosen_route(flow: Any) -> str:
    """Choose by `route_turn`, by intents, from the history, and by the model, in this order."""
    intent = _intent(flow)
    if intent is not None:
        set_state_field(flow, "last_intent", intent)
    context: dict[str, object] = flow.build_router_context()
    override: str | None = flow.route_turn(context)
    if override is not None:
        return str(override)
    if intent is not None:
        return intent
    if flow.can_answer_from_history(context):
        return _FROM_HISTORY
    router: RouterConfig | None = getattr(flow.conversational_config, "router", None)
    return _CONVERSE if router is None else _model_route(flow, router, context)


def _intent(flow: Any) -> str | None:
    """Return the intent of the message, if there are intents and a model to classify it."""
    config: object = flow.conversational_config
    running = RUNNING.get()
    turn: Turn | None = running.run.inputs.get(TURN) if running is not None else None
    outcomes: Sequence[str] | None = (turn["intents"] if turn else None) or getattr(config, "default_intents", None)
    llm = flow.intent_llm_given if flow.intent_llm_given is not None else getattr(config, "intent_llm", None)
    if turn is None or not outcomes or llm is None:
        return None
    return flow.classify_intent(turn["message"], outcomes, llm=llm)


def _model_route(flow: Any, router: RouterConfig, context: Mapping[str, object]) -> str:
    """Let a model choose the route."""
    llm = router.llm if router.llm is not None else flow.conversational_config.llm
    routes = _routes(flow, router)
    if llm is None:
        return router.default_intent or _CONVERSE
    request = {**context, "available_routes": list(routes)}
    prompt: list[Message] = [
        {"role": "system", "content": _router_prompt(router, routes)},
        {"role": "user", "content": json.dumps(request, ensure_ascii=False, default=str)},
    ]
    try:
        reply = ask_model(llm, prompt)
    except Exception as error:  # the fallback route handles the turn
        if not is_outage(error):
            raise
        warn_user(f"the model could not choose a route of flow `{flow.flow_name}`: {type(error).__name__}: {error}")
        return router.fallback_intent or _CONVERSE
    name = _parse_route(reply, router)
    by_name = {route.casefold(): route for route in routes}
    return by_name.get(name.strip().casefold()) or router.fallback_intent or _CONVERSE


def _router_prompt(router: RouterConfig, routes: Mapping[str, str]) -> str:
    book = default_book()
    listing = "\n".join(f"- {name}: {use}" if use else f"- {name}" for name, use in routes.items())
    form = book.slice("route_form", field=router.intent_field)
    if router.response_format is not None:
        form = book.slice("route_schema", schema=model_outline(router.response_format))
    instructions = book.slice("route_system", routes=listing, form=form)
    return f"{router.prompt}\n\n{instructions}" if router.prompt else instructions


def _parse_route(reply: str, router: RouterConfig) -> str:
    """Return the route in a reply, which is a JSON object or the bare name."""
    data = extract_json(reply)
    if not is_object(data):
        return reply.strip().strip("`'\".")
    if router.response_format is not None:
        try:
            return str(getattr(router.response_format.model_validate(data), router.intent_field, ""))
        except ValidationError:
            return ""
    return str(data.get(router.intent_field, ""))


def _routes(flow: Any, router: RouterConfig) -> dict[str, str]:
    """Return the routes that a model may choose, each with its description."""
    definition = flow.topology()
    listeners = {
        method.trigger: method.func
        for method in definition.methods.values()
        if isinstance(method.trigger, str) and method.trigger not in definition.methods
    }
    hidden = (*flow.builtin_routes, *flow.internal_routes)
    chosen = router.routes if router.routes is not None else sorted(name for name in listeners if name not in hidden)
    descriptions = router.route_descriptions or {}
    return {
        name: descriptions.get(name) or flow.builtin_route_descriptions.get(name) or _first_line(listeners.get(name))
        for name in dict.fromkeys([*chosen, *flow.builtin_routes])
    }


def _first_line(function: Any) -> str:
    if function is None or is_conversational_only(function):
        return ""
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    return next((line for line in lines if line), "")


def can_answer_from_history(flow: Any, context: PlainMapping) -> bool:
    """Return whether the history contains the answer; see `Flow.can_answer_from_history`."""
    config: ConversationConfig | None = flow.conversational_config
    llm = getattr(config, "answer_from_history_llm", None)
    history: list[Mapping[str, object]] = context["message_history"]
    if llm is None or len(history) < 2:
        return False
    question = default_book().slice("history_enough", message=str(context["current_user_message"]))
    return classify_intent(question, (_FROM_HISTORY, _BY_METHODS), llm, history) == _FROM_HISTORY


def system_prompt(flow: Any) -> str:
    """Return the system prompt of the conversation's model."""
    prompt: str | None = getattr(flow.conversational_config, "system_prompt", None)
    return default_book().slice("conversational_system_prompt") if prompt is None else prompt


def converse(flow: Any) -> str:
    """Answer with the conversation's model, and add the answer to the messages."""
    llm = getattr(flow.conversational_config, "llm", None)
    if llm is None:
        return _append_answer(flow, default_book().slice("conversation_without_model"))
    return _append_answer(flow, ask_model(llm, _prompt_messages(system_prompt(flow), flow)))


def answer_from_history(flow: Any) -> str:
    """Answer from the history alone, and add the answer to the messages."""
    config: ConversationConfig | None = flow.conversational_config
    if config is None or config.answer_from_history_llm is None:
        return converse(flow)
    prompt = config.answer_from_history_prompt or default_book().slice("history_answer")
    return _append_answer(flow, ask_model(config.answer_from_history_llm, _prompt_messages(prompt, flow)))


def end_conversation(flow: Any) -> str:
    """Mark the conversation as ended, and add the farewell to the messages."""
    set_state_field(flow, "ended", True)
    return _append_answer(flow, default_book().slice("conversation_ended"))


def _append_answer(flow: Any, text: str) -> str:
    flow.append_assistant_message(text)
    return text


def _prompt_messages(prompt: str, flow: Any) -> list[Message]:
    history = flow.conversation_messages
    return [{"role": "system", "content": prompt}, *history] if prompt else list(history)


def append_agent_result(
    flow: Any, agent: str, result: Any, visibility: ConversationEventVisibility, metadata: PlainMapping
) -> None:
    """Add the result of an agent to `events` and to the agent's thread; see `Flow.append_agent_result`."""
    visible = getattr(flow.conversational_config, "visible_agent_outputs", None)
    if visible == "all" or (visible and agent in visible):
        visibility = "public"
    raw = getattr(result, "raw", result)
    content = raw if isinstance(raw, str) else str(raw)
    event = ConversationEvent(
        type="agent_result", payload={"content": content, **metadata}, agent_name=agent, visibility=visibility
    )
    message = AgentMessage(content=content, metadata=dict(metadata))
    events: list[object] = state_field(flow.state, "events") or []
    threads: dict[str, list[object]] = state_field(flow.state, "agent_threads") or {}
    set_state_field(flow, "events", [*events, event])
    set_state_field(flow, "agent_threads", {**threads, agent: [*threads.get(agent, []), message]})
    if visibility == "public":
        flow.append_assistant_message(content)


def agent_context(flow: Any, agent: str) -> list[PlainDict]:
    """Return the messages, followed by those in an agent's thread."""
    threads: dict[str, list[object]] = state_field(flow.state, "agent_threads") or {}
    return [*flow.conversation_messages, *(message_to_llm_dict(message) for message in threads.get(agent, []))]


def router_context(flow: Any) -> PlainDict:
    """Return the data by which a route is chosen."""
    state = flow.state
    events: list[ConversationEvent] = state_field(state, "events") or []
    return {
        "system_prompt": system_prompt(flow),
        "current_user_message": state_field(state, "current_user_message"),
        "message_history": flow.conversation_messages,
        "events": [event.model_dump() for event in events],
        "last_intent": state_field(state, "last_intent"),
    }


def turn_arguments(
    flow: Any,
    method: str,
    message: str,
    session_id: str | None,
    intents: Sequence[str] | None,
    intent_llm: object,
    keywords: Mapping[str, Any],
) -> PlainDict:
    """Return the arguments of the kickoff that runs a turn.

    Raises:
        DefinitionError: If the flow is not conversational, or there are intents but no model.
    """
    _check_conversational(flow, method)
    flow.intent_llm_given = intent_llm
    if intents and intent_llm is None and getattr(flow.conversational_config, "intent_llm", None) is None:
        raise DefinitionError(
            "`intents` need a model to classify messages; pass `intent_llm`, here or to `ConversationConfig`."
        )
    turn: Turn = {"message": message, "intents": list(intents or ())}
    inputs: Mapping[str, object] = keywords.get("inputs") or {}
    return {**keywords, "inputs": {**inputs, "id": session_id or state_id(flow.state), TURN: turn}}


def converse_at_terminal(
    flow: Any,
    session_id: str | None,
    prompt: str,
    assistant_prefix: str,
    exit_commands: Sequence[str],
    input_fn: Callable[[str], str],
    output_fn: Callable[[str], None],
    skip_empty: bool,
    keywords: Mapping[str, object],
) -> None:
    """Run the conversation in the terminal; see `Flow.chat`."""
    _check_conversational(flow, "chat")
    exit_words = {command.casefold() for command in exit_commands}
    try:
        while (line := input_fn(prompt)).strip().casefold() not in exit_words:
            if line.strip() or not skip_empty:
                answer = flow.handle_turn(line, session_id=session_id, **keywords)
                output_fn(f"{assistant_prefix}{answer}")
    except (EOFError, KeyboardInterrupt):
        return
    finally:
        flow.finalize_session_traces()


def _check_conversational(flow: Any, method: str) -> None:
    if not flow.conversational:
        raise DefinitionError(
            f"`{method}` needs a conversational flow, but `{type(flow).__name__}` is not one. Set `conversational = True` in "
            "the class, or decorate it with `@ConversationConfig(...)`."
        )
