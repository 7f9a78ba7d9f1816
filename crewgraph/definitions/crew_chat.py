"""The verbs that talk to a crew, carried out by an extension."""

from typing import TYPE_CHECKING, Protocol

from crewgraph.extensions import extension

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.output import CrewOutput
    from crewgraph.definitions.run_options import Checkpointer

__all__ = ["CrewConversation", "CrewTalk"]


class CrewConversation(Protocol):
    """A conversation about a crew, in this process: one thing is said after the other."""

    crew: "Crew"
    """What is talked about."""

    messages: list[dict[str, str]]
    """What was said and is remembered, the latest last, as role and content; the crew's results stand as answers."""

    output: "CrewOutput | None"
    """What the crew gave last in this conversation."""

    def say(self, text: str) -> str:
        """Say something to it, and get its answer: the model's, or the result of the crew if that was asked to work.

        Raises:
            Exception: whatever the model raised; it is as if nothing had been said. What the crew raises is told by the
                model.
        """
        ...

    async def asay(self, text: str) -> str:
        """The same on this event loop."""
        ...

    def greet(self) -> str:
        """Have it speak first."""
        ...

    async def agreet(self) -> str:
        """The same on this event loop."""
        ...


class CrewTalk:
    """The ways to talk to a crew."""

    def chat(self, *, checkpointer: "Checkpointer" = None) -> CrewConversation:
        """Talk to the crew on the terminal: `chat_llm` greets, asks for the inputs, has the crew work, and shows the result.

        "exit", Ctrl-D and Ctrl-C end it.

        Args:
            checkpointer: where the runs of the crew are kept, as for `kickoff`.

        Returns:
            What was said, and the output of the run that ended last; `conversation` tells more.

        Raises:
            NoModelError: neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: that model needs a key.
        """
        return extension("conversations.crew_terminal")(self, checkpointer=checkpointer)

    def conversation(self, *, checkpointer: "Checkpointer" = None, max_messages: int = 60) -> CrewConversation:
        """The same without a terminal, for notebooks and servers: `talk = crew.conversation(); talk.say("Hello")`.

        Args:
            checkpointer: where the runs of the crew are kept, as for `kickoff`.
            max_messages: of so many messages the model is reminded; older ones are forgotten.

        Raises:
            NoModelError: neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: that model needs a key.
        """
        return extension("conversations.crew")(self, checkpointer=checkpointer, max_messages=max_messages)
