"""The methods of conversational flows, implemented by an extension: each user message is a run on the conversation's thread."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from crewgraph.definitions.flow.dsl import listen, router, start
from crewgraph.definitions.flow.method import conversational_only
from crewgraph.extensions import extension
from crewgraph.schema import Metadata

if TYPE_CHECKING:
    from crewgraph.flow import ConversationConfig


_Role = Literal["user", "assistant", "system", "tool"]
_Visibility = Literal["private", "public"]


class FlowConversation:
    """The methods of conversational flows: `conversational = True`, or `@ConversationConfig(...)` on its class.

    Its graph starts with `route_conversation`, which fires the label of a route. Your own listener to `"converse"` or `"end"`
    replaces the built-in one.
    """

    conversational_config: ClassVar[Any] = None
    """The settings of the conversation; see `ConversationConfig`."""

    builtin_routes: ClassVar[tuple[str, ...]] = ("converse", "end")
    """The routes that every conversation has."""

    internal_routes: ClassVar[tuple[str, ...]] = ("answer_from_history",)
    """Routes that are never offered to a model."""

    builtin_route_descriptions: ClassVar[dict[str, str]] = {
        "converse": "To talk: small talk, questions back, and whatever can be answered from what was said so far.",
        "end": "The user takes leave, or wants to stop.",
        "answer_from_history": "What was said so far holds the answer; nothing has to be looked up or done.",
    }
    """Descriptions of the built-in routes, for models."""

    defer_trace_finalization: bool = False
    """Has no effect: each turn is a run with its own trace."""

    intent_llm_given: Any = None
    """The model that classifies intents, as passed to the last turn."""

    @classmethod
    def become_conversational(cls, config: "ConversationConfig") -> None:
        """Make a class conversational."""
        flow: Any = cls
        flow.conversational, flow.conversational_config = True, config
        flow.define()

    @property
    def conversation_messages(self) -> list[dict[str, Any]]:
        """The messages so far, in the format of models."""
        return _messages().get_conversation_messages(self)

    def append_message(self, role: _Role, content: str, **extra: object) -> None:
        """Append a message to the conversation; `extra` holds `name`, `tool_call_id`, `metadata` and the like."""
        _messages().append_message(self, role, content, **extra)

    def append_assistant_message(self, content: str, *, metadata: Metadata | None = None) -> None:
        """Append a message to the user."""
        self.append_message("assistant", content, **({"metadata": metadata} if metadata else {}))

    def append_agent_result(
        self,
        agent_name: str,
        result: Any,
        *,
        visibility: _Visibility = "private",
        metadata: Metadata | None = None,
    ) -> None:
        """Record the result of an agent, in `events` and in the agent's thread.

        Args:
            agent_name: the agent.
            result: its result: an output with `raw`, or any other value, as text.
            visibility: "public" also shows it to the user, as do the agents in `visible_agent_outputs`.
            metadata: further data to record.
        """
        _conversations().append_agent_result(self, agent_name, result, visibility, metadata or {})

    def receive_user_message(self, text: str, *, outcomes: Sequence[str] | None = None, llm: object = None) -> str:
        """Append a user message. Returns the intent if `outcomes` and a model to classify it are given, else the text."""
        return _messages().receive_user_message(self, text, outcomes=outcomes, llm=llm)

    def classify_intent(
        self, text: str, outcomes: Sequence[str], *, llm: object, context: Sequence[Mapping[str, object]] | None = None
    ) -> str:
        """Return the outcome that a model assigns to a text.

        Args:
            text: the text.
            outcomes: the possible outcomes; the first, with a warning, if the model names none of them.
            llm: the model.
            context: the earlier messages; None uses the conversation's.

        Raises:
            DefinitionError: there are no outcomes.
        """
        history = self.conversation_messages if context is None else context
        return _messages().classify_intent(text, outcomes, llm, history)

    def build_agent_context(self, agent_name: str) -> list[dict[str, Any]]:
        """Return the messages for an agent: the conversation, followed by the agent's own messages."""
        return _conversations().agent_context(self, agent_name)

    def build_router_context(self) -> dict[str, Any]:
        """Return the context for choosing a route."""
        return _conversations().router_context(self)

    def route_turn(self, context: dict[str, Any]) -> str | None:
        """The route of this turn; override it to choose it yourself. None leaves it to the model of the config."""
        return None

    def can_answer_from_history(self, context: dict[str, Any]) -> bool:
        """Whether the conversation already holds the answer, as judged by `answer_from_history_llm`; False without that model."""
        return _conversations().can_answer_from_history(self, context)

    @conversational_only
    def conversation_start(self) -> str | None:
        """Called at the start of each turn, for preparations; returns the user's text."""
        flow: Any = self
        return _conversations().state_field(flow.state, "current_user_message")

    @conversational_only
    @start()
    @router()
    def route_conversation(self) -> str:
        """Chooses the route of a turn."""
        self.conversation_start()
        return _conversations().select_route(self)

    @conversational_only
    @listen("converse")
    def converse_turn(self) -> str:
        """Answers with the whole conversation as context."""
        return _conversations().converse(self)

    @conversational_only
    @listen("end")
    def end_conversation(self) -> str:
        """Ends the conversation."""
        return _conversations().end_conversation(self)

    @conversational_only
    @listen("answer_from_history")
    def answer_from_history_turn(self) -> str:
        """Answers from the history alone."""
        return _conversations().answer_from_history(self)

    def handle_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: object = None,
        **kickoff_kwargs: Any,
    ) -> Any:
        """Answer a user message, as a run in the conversation's thread.

        A turn that failed or was killed resumes where it stopped if the same message is sent again; another message abandons
        it, and the old message stays unanswered.

        Args:
            message: the user's message.
            session_id: the id of the conversation; None uses the one of this flow object. Stored conversations (`@persist`,
                `checkpointer=`) can be continued in any process, others only with this object.
            intents: the intents to classify the message by, before routing.
            intent_llm: the model that classifies it.
            kickoff_kwargs: other arguments of `kickoff`.

        Returns:
            As `kickoff`: the result of the last method. Text that no method has sent itself is added to the messages.

        Raises:
            DefinitionError: the flow is not conversational, or there are intents but no model (also ValueError).
            RunError: the conversation waits for a person's answer.
        """
        flow: Any = self
        return flow.kickoff(
            **_conversations().turn_arguments(
                self, "handle_turn", message, session_id, intents, intent_llm, kickoff_kwargs
            )
        )

    async def ahandle_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: object = None,
        **kickoff_kwargs: object,
    ) -> Any:
        """Answer a user message on the current event loop; see `handle_turn`."""
        kickoff_arguments = _conversations().turn_arguments(
            self, "ahandle_turn", message, session_id, intents, intent_llm, kickoff_kwargs
        )
        flow: Any = self
        return await flow.kickoff_async(**kickoff_arguments)

    def stream_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: object = None,
        **kickoff_kwargs: object,
    ) -> Any:
        """Answer a user message and yield every event as a frame; see `stream_events`."""
        flow: Any = self
        return flow.stream_events(
            **_conversations().turn_arguments(
                self, "stream_turn", message, session_id, intents, intent_llm, kickoff_kwargs
            )
        )

    def astream_turn(
        self,
        message: str,
        *,
        session_id: str | None = None,
        intents: Sequence[str] | None = None,
        intent_llm: object = None,
        **kickoff_kwargs: object,
    ) -> Any:
        """Answer a user message on the current event loop and yield every event as a frame; see `stream_events`."""
        flow: Any = self
        return flow.astream_events(
            **_conversations().turn_arguments(
                self, "astream_turn", message, session_id, intents, intent_llm, kickoff_kwargs
            )
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
        **handle_turn_kwargs: object,
    ) -> None:
        """Hold a conversation in the terminal until one of the `exit_commands`, the end of the input, or Ctrl-C.

        Args:
            session_id: as for `handle_turn`.
            prompt: the prompt of the input line.
            assistant_prefix: the prefix of answers.
            exit_commands: the commands that end it.
            input_fn: reads a line.
            output_fn: shows an answer.
            skip_empty: whether to ignore empty lines.
            defer_trace_finalization: without effect.
            handle_turn_kwargs: other arguments of `handle_turn`.
        """
        _conversations().converse_at_terminal(
            self,
            session_id,
            prompt,
            assistant_prefix,
            exit_commands,
            input_fn,
            output_fn,
            skip_empty,
            handle_turn_kwargs,
        )

    def finalize_session_traces(self, *, discard: bool = False) -> None:
        """Has no effect: each turn is a run, and its trace ends with it."""


def _conversations() -> Any:
    """Return the module that implements these methods."""
    return extension("conversations")


def _messages() -> Any:
    """Return the module that reads and adds messages."""
    return extension("conversations.messages")
