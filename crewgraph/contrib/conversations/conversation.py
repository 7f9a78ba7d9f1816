"""Implements the conversation methods of flows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crewgraph.contrib.conversations import routes
from crewgraph.contrib.conversations.messages import (
    TURN,
    Turn,
    append_message,
    classify_intent,
    get_conversation_messages,
    receive_user_message,
    set_state_field,
    state_field,
)
from crewgraph.contrib.conversations.state import (
    AgentMessage,
    ConversationConfig,
    ConversationEvent,
    ConversationEventVisibility,
    ConversationMessageRole,
    message_to_llm_dict,
)
from crewgraph.definitions.flow.state import state_id
from crewgraph.errors import DefinitionError
from crewgraph.schema import PlainDict, PlainMapping


class Conversation:
    """The conversation that a flow holds.

    Args:
        flow: The flow.
    """

    stored_classes = (ConversationConfig, AgentMessage, ConversationEvent)
    """Classes of values that conversations store in state and outputs."""

    def __init__(self, flow: Any) -> None:
        self._flow = flow

    @property
    def messages(self) -> list[PlainDict]:
        """The messages, in the form that models take."""
        return get_conversation_messages(self._flow)

    def append_message(self, role: ConversationMessageRole, content: str, extra: Mapping[str, object]) -> None:
        """Add a message."""
        append_message(self._flow, role, content, **extra)

    def append_agent_result(
        self, agent: str, result: Any, visibility: ConversationEventVisibility, metadata: PlainMapping
    ) -> None:
        """Add the result of an agent to `events` and to the agent's thread; see `Flow.append_agent_result`."""
        flow = self._flow
        visible = getattr(flow.conversational_config, "visible_agent_outputs", None)
        if visible == "all" or (visible and agent in visible):
            visibility = "public"
        raw = getattr(result, "raw", result)
        content = raw if isinstance(raw, str) else str(raw)
        event = ConversationEvent(
            type="agent_result",
            payload={"content": content, **metadata},
            agent_name=agent,
            visibility=visibility,
        )
        message = AgentMessage(content=content, metadata=dict(metadata))
        events: list[object] = state_field(flow.state, "events") or []
        threads: dict[str, list[object]] = state_field(flow.state, "agent_threads") or {}
        set_state_field(flow, "events", [*events, event])
        set_state_field(flow, "agent_threads", {**threads, agent: [*threads.get(agent, []), message]})
        if visibility == "public":
            flow.append_assistant_message(content)

    def receive(self, text: str, outcomes: Sequence[str] | None, llm: object) -> str:
        """Add a user message; see `receive_user_message`."""
        return receive_user_message(self._flow, text, outcomes=outcomes, llm=llm)

    def classify(
        self, text: str, outcomes: Sequence[str], llm: object, context: Sequence[Mapping[str, object]] | None
    ) -> str:
        """Classify a text as one of the outcomes; see `Flow.classify_intent`."""
        return classify_intent(text, outcomes, llm, self._flow.conversation_messages if context is None else context)

    def agent_context(self, agent: str) -> list[PlainDict]:
        """Return the messages, followed by those in an agent's thread."""
        threads: dict[str, list[object]] = state_field(self._flow.state, "agent_threads") or {}
        thread = [message_to_llm_dict(message) for message in threads.get(agent, [])]
        return [*self._flow.conversation_messages, *thread]

    def router_context(self) -> PlainDict:
        """Return the data by which a route is chosen."""
        state = self._flow.state
        events: list[ConversationEvent] = state_field(state, "events") or []
        return {
            "system_prompt": routes.system_prompt(self._flow),
            "current_user_message": state_field(state, "current_user_message"),
            "message_history": self._flow.conversation_messages,
            "events": [event.model_dump() for event in events],
            "last_intent": state_field(state, "last_intent"),
        }

    def can_answer_from_history(self, context: PlainMapping) -> bool:
        """Return whether the history contains the answer."""
        return routes.can_answer_from_history(self._flow, context)

    def current_message(self) -> str | None:
        """Return the user's message in this turn."""
        return state_field(self._flow.state, "current_user_message")

    def route(self) -> str:
        """Choose the route of this turn."""
        return routes.select_route(self._flow)

    def converse(self) -> str:
        """Answer with the conversation's model."""
        return routes.converse(self._flow)

    def answer_from_history(self) -> str:
        """Answer from the history alone."""
        return routes.answer_from_history(self._flow)

    def end(self) -> str:
        """End the conversation."""
        return routes.end_conversation(self._flow)

    def turn(
        self,
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
        flow = self._flow
        self._check_conversational(method)
        flow.intent_llm_given = intent_llm
        if intents and intent_llm is None and getattr(flow.conversational_config, "intent_llm", None) is None:
            raise DefinitionError(
                "`intents` need a model to classify messages; pass `intent_llm`, here or to `ConversationConfig`."
            )
        turn: Turn = {"message": message, "intents": list(intents or ())}
        inputs: Mapping[str, object] = keywords.get("inputs") or {}
        return {**keywords, "inputs": {**inputs, "id": session_id or state_id(flow.state), TURN: turn}}

    def on_terminal(
        self,
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
        self._check_conversational("chat")
        exit_words = {command.casefold() for command in exit_commands}
        try:
            while (line := input_fn(prompt)).strip().casefold() not in exit_words:
                if line.strip() or not skip_empty:
                    answer = self._flow.handle_turn(line, session_id=session_id, **keywords)
                    output_fn(f"{assistant_prefix}{answer}")
        except (EOFError, KeyboardInterrupt):
            return
        finally:
            self._flow.finalize_session_traces()

    def _check_conversational(self, method: str) -> None:
        flow = self._flow
        if not flow.conversational:
            raise DefinitionError(
                f"`{method}` needs a conversational flow, but `{type(flow).__name__}` is not one. Set `conversational = True` in "
                "the class, or decorate it with `@ConversationConfig(...)`."
            )
