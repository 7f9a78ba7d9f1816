"""Talking to a crew."""

from typing import TYPE_CHECKING, cast

from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.runtime.chat import CrewChat, chat
else:
    chat = lazy("crewgraph.runtime.chat:chat")
    CrewChat = lazy("crewgraph.runtime.chat:CrewChat")

__all__ = ["CrewTalk"]


class CrewTalk:
    """The ways to talk to a crew."""

    def chat(self, *, checkpointer: "Checkpointer" = None) -> "CrewChat":
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
        return chat(cast("Crew", self), checkpointer=checkpointer)

    def conversation(self, *, checkpointer: "Checkpointer" = None, max_messages: int = 60) -> "CrewChat":
        """The same without a terminal, for notebooks and servers: `talk = crew.conversation(); talk.say("Hello")`.

        Args:
            checkpointer: where the runs of the crew are kept, as for `kickoff`.
            max_messages: of so many messages the model is reminded; older ones are forgotten.

        Raises:
            NoModelError: neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: that model needs a key.
        """
        return CrewChat(cast("Crew", self), checkpointer=checkpointer, max_messages=max_messages)
