"""Flows that are conversations: each message of the user is a run, on one thread."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from crewgraph.definitions.flow.conversation_config import ConversationConfig, conversational_only
from crewgraph.definitions.flow.conversation_state import (
    AgentMessage,
    ConversationEvent,
    ConversationEventVisibility,
    ConversationMessageRole,
    message_to_llm_dict,
)
from crewgraph.definitions.flow.dsl import listen, router, start
from crewgraph.definitions.flow.messages import (
    add_message,
    append_message,
    get_conversation_messages,
    messages_in,
    receive_user_message,
    set_field,
    set_state_field,
    state_field,
)
from crewgraph.definitions.flow.state import id_of
from crewgraph.definitions.flow.turn import TURN, Turn
from crewgraph.errors import DefinitionError
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.flow.definition import FlowDefinition
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.runtime.conversation import (
        answered_from_history,
        conversed,
        ended,
        intent_of,
        is_answerable,
        routed,
        system_prompt,
    )
else:
    answered_from_history = lazy("crewgraph.runtime.conversation:answered_from_history")
    conversed = lazy("crewgraph.runtime.conversation:conversed")
    ended = lazy("crewgraph.runtime.conversation:ended")
    intent_of = lazy("crewgraph.runtime.conversation:intent_of")
    is_answerable = lazy("crewgraph.runtime.conversation:is_answerable")
    routed = lazy("crewgraph.runtime.conversation:routed")
    system_prompt = lazy("crewgraph.runtime.conversation:system_prompt")

__all__ = ["FlowConversation"]


class FlowConversation:
    """What a flow can do that is a conversation: `conversational = True`, or `@ConversationConfig(...)` on its class.

    Its graph begins with `route_conversation`, which fires the label of a route. A listener of one's own to `"converse"` or
    `"end"` takes the place of the one that is there.
    """

    conversational: ClassVar[bool] = False
    """Whether it is a conversation."""

    conversational_config: ClassVar[Any] = None
    """How it is one; see `ConversationConfig`."""

    builtin_routes: ClassVar[tuple[str, ...]] = ("converse", "end")
    """The routes that every conversation has."""

    internal_routes: ClassVar[tuple[str, ...]] = ("answer_from_history",)
    """Routes that no model is offered."""

    builtin_route_descriptions: ClassVar[dict[str, str]] = {
        "converse": "To talk: small talk, questions back, and whatever can be answered from what was said so far.",
        "end": "The user takes leave, or wants to stop.",
        "answer_from_history": "What was said so far holds the answer; nothing has to be looked up or done.",
    }
    """What they are for, as a model is told."""

    defer_trace_finalization: bool = False
    """Without effect: each turn is a run, and a trace of its own."""

    intent_llm_given: Any = None
    """The model that the last turn was given to tell intents apart."""

    if TYPE_CHECKING:
        said_beside: list[Any]
        _definition: ClassVar[FlowDefinition]
        state: Any
        kickoff: Callable[..., Any]
        kickoff_async: Callable[..., Any]
        stream_events: Callable[..., Any]
        astream_events: Callable[..., Any]

        @classmethod
        def define(cls) -> None: ...

    @classmethod
    def become_conversational(cls, config: ConversationConfig) -> None:
        """Make the class a conversation."""
        cls.conversational, cls.conversational_config = True, config
        cls.define()

    @property
    def conversation_messages(self) -> list[dict[str, Any]]:
        """What was said, as models take it."""
        return get_conversation_messages(self._flow)

    def append_message(self, role: ConversationMessageRole, content: str, **extra: Any) -> None:
        """Add a message to what was said; see `append_message` of this package."""
        append_message(self._flow, role, content, **extra)

    def append_assistant_message(self, content: str, *, metadata: dict[str, Any] | None = None) -> None:
        """Say something to the user."""
        append_message(self._flow, "assistant", content, **({"metadata": metadata} if metadata else {}))

    def append_agent_result(
        self,
        agent_name: str,
        result: Any,
        *,
        visibility: ConversationEventVisibility = "private",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Note what an agent found out, in `events` and in the agent's thread.

        Args:
            agent_name: the agent.
            result: what it found out: an output with `raw`, or anything else, as text.
            visibility: "public": it is said to the user, too; so is what `visible_agent_outputs` names.
            metadata: what else is to be noted.
        """
        shown = getattr(self.conversational_config, "visible_agent_outputs", None)
        if shown == "all" or (shown and agent_name in shown):
            visibility = "public"
        raw = getattr(result, "raw", result)
        content = raw if isinstance(raw, str) else str(raw)
        event = ConversationEvent(
            type="agent_result",
            payload={"content": content, **(metadata or {})},
            agent_name=agent_name,
            visibility=visibility,
        )
        said = AgentMessage(content=content, metadata=metadata or {})
        events: list[Any] = state_field(self.state, "events") or []
        threads: dict[str, list[Any]] = state_field(self.state, "agent_threads") or {}
        set_state_field(self._flow, "events", [*events, event])
        set_state_field(self._flow, "agent_threads", {**threads, agent_name: [*threads.get(agent_name, []), said]})
        if visibility == "public":
            self.append_assistant_message(content)

    def receive_user_message(self, text: str, *, outcomes: Sequence[str] | None = None, llm: Any = None) -> str:
        """Add what the user says; see `receive_user_message` of this package."""
        return receive_user_message(self._flow, text, outcomes=outcomes, llm=llm)

    def classify_intent(
        self, text: str, outcomes: Sequence[str], *, llm: Any, context: Sequence[Mapping[str, Any]] | None = None
    ) -> str:
        """What a text comes to, as a model reads it.

        Args:
            text: the text.
            outcomes: what it may come to; the first where the model names none of them, with a warning.
            llm: the model.
            context: what was said before; the conversation's messages where None.

        Raises:
            DefinitionError: there are no outcomes.
        """
        return intent_of(text, outcomes, llm, self.conversation_messages if context is None else context)

    def build_agent_context(self, agent_name: str) -> list[dict[str, Any]]:
        """What an agent is to know: what was said, and behind it what it said itself."""
        threads: dict[str, list[Any]] = state_field(self.state, "agent_threads") or {}
        return [*self.conversation_messages, *(message_to_llm_dict(one) for one in threads.get(agent_name, []))]

    def build_router_context(self) -> dict[str, Any]:
        """What there is to choose a route by."""
        state = self.state
        noted: list[ConversationEvent] = state_field(state, "events") or []
        return {
            "system_prompt": system_prompt(self),
            "current_user_message": state_field(state, "current_user_message"),
            "message_history": self.conversation_messages,
            "events": [one.model_dump() for one in noted],
            "last_intent": state_field(state, "last_intent"),
        }

    def route_turn(self, context: dict[str, Any]) -> str | None:
        """The route of this turn; override it to choose it yourself. None leaves it to the model of the config."""
        return None

    def can_answer_from_history(self, context: dict[str, Any]) -> bool:
        """Whether what was said holds the answer, as `answer_from_history_llm` judges; False where there is none."""
        return is_answerable(self, context)

    @conversational_only
    def conversation_start(self) -> str | None:
        """Called at the beginning of each turn, for what is to be made ready; what the user says."""
        return state_field(self.state, "current_user_message")

    @conversational_only
    @start()
    @router()
    def route_conversation(self) -> str:
        """Chooses the route of a turn."""
        self.conversation_start()
        return routed(self)

    @conversational_only
    @listen("converse")
    def converse_turn(self) -> str:
        """Talks, knowing what was said."""
        return conversed(self)

    @conversational_only
    @listen("end")
    def end_conversation(self) -> str:
        """Ends the conversation."""
        return ended(self)

    @conversational_only
    @listen("answer_from_history")
    def answer_from_history_turn(self) -> str:
        """Answers from what was said before."""
        return answered_from_history(self)

    def handle_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: Any = None,
        **kickoff_kwargs: Any,
    ) -> Any:
        """Answer a message of the user: a run in the conversation's thread.

        A turn that failed or was killed goes on where it was if the same message comes again; with another one it is left
        aside, and the message stays unanswered.

        Args:
            message: what the user says.
            session_id: the conversation; the one that the flow's object shows where None. Conversations that are kept
                (`@persist`, `checkpointer=`) go on in any process, others in this object.
            intents: routes that are told apart before anything else.
            intent_llm: the model that does so.
            kickoff_kwargs: other arguments of `kickoff`.

        Returns:
            As `kickoff`: what the last method returned. A text that no method said itself is added to the messages.

        Raises:
            DefinitionError: the flow is no conversation, or there are intents and no model (also ValueError).
            RunError: the conversation waits for somebody's answer.
        """
        return self.kickoff(**self._turn("handle_turn", message, session_id, intents, intent_llm, kickoff_kwargs))

    async def ahandle_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: Any = None,
        **kickoff_kwargs: Any,
    ) -> Any:
        """Answer a message of the user on this event loop; see `handle_turn`."""
        given = self._turn("ahandle_turn", message, session_id, intents, intent_llm, kickoff_kwargs)
        return await self.kickoff_async(**given)

    def stream_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: Any = None,
        **kickoff_kwargs: Any,
    ) -> Any:
        """Answer a message of the user, and tell every event as a frame; see `stream_events`."""
        return self.stream_events(**self._turn("stream_turn", message, session_id, intents, intent_llm, kickoff_kwargs))

    def astream_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: Any = None,
        **kickoff_kwargs: Any,
    ) -> Any:
        """Answer a message of the user on this event loop, and tell every event as a frame; see `stream_events`."""
        return self.astream_events(
            **self._turn("astream_turn", message, session_id, intents, intent_llm, kickoff_kwargs)
        )

    def chat(
        self,
        *,
        session_id: str | None = None,
        prompt: str = "\nYou: ",
        assistant_prefix: str = "\nAssistant: ",
        exit_commands: Sequence[str] = ("exit", "quit"),
        input_fn: Callable[[str], str] = input,
        output_fn: Callable[[str], None] = print,
        skip_empty: bool = True,
        defer_trace_finalization: bool = True,
        **handle_turn_kwargs: Any,
    ) -> None:
        """Hold a conversation on the terminal, until one of the `exit_commands`, the end of the input, or Ctrl-C.

        Args:
            session_id: as for `handle_turn`.
            prompt: what is shown before a line is read.
            assistant_prefix: what stands before an answer.
            exit_commands: the words that end it.
            input_fn: reads a line.
            output_fn: shows an answer.
            skip_empty: whether empty lines are no messages.
            defer_trace_finalization: without effect.
            handle_turn_kwargs: other arguments of `handle_turn`.
        """
        self._check_conversational("chat")
        ends = {one.casefold() for one in exit_commands}
        try:
            while (said := input_fn(prompt)).strip().casefold() not in ends:
                if said.strip() or not skip_empty:
                    answer = self.handle_turn(said, session_id=session_id, **handle_turn_kwargs)
                    output_fn(f"{assistant_prefix}{answer}")
        except (EOFError, KeyboardInterrupt):
            return
        finally:
            self.finalize_session_traces()

    def finalize_session_traces(self, *, discard: bool = False) -> None:
        """Without effect: each turn is a run, whose trace ends with it."""

    def begin_turn(self, state: Any, turn: Turn) -> None:
        """Take what the user says into the state that a turn begins with."""
        add_message(self._flow, state, "user", turn["message"])
        set_field(state, "current_user_message", turn["message"])
        set_field(state, "last_user_message", turn["message"])

    def end_turn(self, state: Any, value: Any) -> None:
        """Take what a turn gave into the state, where no method has said anything to the user itself."""
        told = [message_to_llm_dict(one)["role"] for one in messages_in(self._flow, state)]
        since = told[len(told) - told[::-1].index("user") :] if "user" in told else told
        if isinstance(value, str) and "assistant" not in since:
            self.append_assistant_message(value)

    @property
    def _flow(self) -> "Flow[Any]":
        """The flow that this is a part of."""
        return cast("Flow[Any]", self)

    def _check_conversational(self, verb: str) -> None:
        if not self.conversational:
            raise DefinitionError(
                f"`{verb}` is for conversations, and flow `{type(self).__name__}` is none. Write `conversational = True` in the "
                "class, or decorate it with `@ConversationConfig(...)`."
            )

    def _turn(
        self,
        verb: str,
        message: str,
        session_id: str | None,
        intents: Sequence[str] | None,
        intent_llm: Any,
        more: dict[str, Any],
    ) -> dict[str, Any]:
        """The arguments of the kickoff that is a turn."""
        self._check_conversational(verb)
        config: Any = self.conversational_config
        self.intent_llm_given = intent_llm
        if intents and intent_llm is None and getattr(config, "intent_llm", None) is None:
            raise DefinitionError(
                "`intents` are told apart by a model; give `intent_llm`, here or to `ConversationConfig`."
            )
        turn: Turn = {"message": message, "intents": list(intents or ())}
        inputs: Mapping[str, Any] = more.pop("inputs", None) or {}
        return {**more, "inputs": {**inputs, "id": session_id or id_of(self.state), TURN: turn}}
