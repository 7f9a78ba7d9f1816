"""The methods of a crew, gathered from their topics; here those that chat with it, and that list stored and pending runs."""

from typing import TYPE_CHECKING, Protocol, cast

from crewgraph.definitions.crew.evaluation import CrewEvaluation
from crewgraph.definitions.crew.history import CrewHistory
from crewgraph.definitions.crew.memories import CrewMemories
from crewgraph.definitions.crew.run_methods import CrewRunMethods
from crewgraph.definitions.crew.training import CrewTraining
from crewgraph.definitions.queue_methods import QueueMethods
from crewgraph.extensions import extension
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.crew.pending import PendingCrew, RunFilter, RunInfo, StatusFilter
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.definitions.task.output import CrewOutput
    from crewgraph.runtime.crew.human_input import acrew_questions, crew_questions
    from crewgraph.runtime.runs.index import acrew_runs, crew_runs
else:
    RunFilter = lazy("crewgraph.definitions.crew.pending:RunFilter")
    acrew_questions = lazy("crewgraph.runtime.crew.human_input:acrew_questions")
    crew_questions = lazy("crewgraph.runtime.crew.human_input:crew_questions")
    acrew_runs = lazy("crewgraph.runtime.runs.index:acrew_runs")
    crew_runs = lazy("crewgraph.runtime.runs.index:crew_runs")

__all__ = ["ChatMethods", "CrewAbilities", "CrewConversation", "CrewPendingRuns", "CrewRuns"]


class CrewConversation(Protocol):
    """A conversation with a crew, in this process."""

    crew: "Crew"
    """The crew."""

    messages: list[dict[str, str]]
    """The remembered messages, oldest first, as dicts of role and content; results of the crew are assistant messages."""

    output: "CrewOutput | None"
    """The last output of the crew in this conversation; None before any."""

    def say(self, text: str) -> str:
        """Send a message and return the answer: the model's, or the result of the crew if the model ran it.

        Raises:
            Exception: Any error of the model; the message is then not remembered. Errors of the crew are reported by the model.
        """
        ...

    async def asay(self, text: str) -> str:
        """Send a message on the current event loop; see `say`."""
        ...

    def greet(self) -> str:
        """Return a greeting, to start the conversation."""
        ...

    async def agreet(self) -> str:
        """Return a greeting, on the current event loop; see `greet`."""
        ...


class ChatMethods:
    """Methods to chat with a crew."""

    def chat(self, *, checkpointer: "Checkpointer" = None) -> CrewConversation:
        """Chat with the crew on the terminal: `chat_llm` greets, asks for the inputs, runs the crew, and shows the result.

        "exit", Ctrl-D and Ctrl-C end the chat.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.

        Returns:
            The conversation with its messages and the last output.

        Raises:
            NoModelError: Neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: The model needs an API key.
        """
        return extension("conversations.crew_terminal")(self, checkpointer=checkpointer)

    def conversation(self, *, checkpointer: "Checkpointer" = None, max_messages: int = 60) -> CrewConversation:
        """Chat with the crew without a terminal, for notebooks and servers: `crew.conversation().say("Hello")`.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.
            max_messages: Maximum number of messages that the model sees; older ones are forgotten.

        Raises:
            NoModelError: Neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: The model needs an API key.
        """
        return extension("conversations.crew")(self, checkpointer=checkpointer, max_messages=max_messages)


class CrewPendingRuns:
    """Methods to list the runs that wait for an answer."""

    def pending(self, *, checkpointer: "Checkpointer" = None) -> "list[PendingCrew]":
        """Return the stored runs of this crew that wait for an answer, last updated first.

        Questions of a crew that runs in a method of a flow are asked by the flow: see `Flow.pending`.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.

        Raises:
            StorageError: The stored runs cannot be read.
        """
        return crew_questions(cast("Crew", self), checkpointer)

    async def apending(self, *, checkpointer: "Checkpointer" = None) -> "list[PendingCrew]":
        """Return the runs that wait for an answer, on the current event loop; see `pending`."""
        return await acrew_questions(cast("Crew", self), checkpointer)


class CrewRuns:
    """Methods to list the stored runs."""

    def runs(
        self,
        *,
        status: "StatusFilter | None" = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "list[RunInfo]":
        """Return the stored runs of this crew, last updated first.

        A crew is identified by its name, or by the names of its tasks if it has no name.

        Args:
            status: Only runs with this status: "working", "waiting" (for an answer), "failed", "abandoned", "done"; "open"
                for those that can be resumed, failed or abandoned.
            inside: Whether to include runs inside methods of flows.
            limit: Maximum number of runs; None returns all.
            checkpointer: Where the runs are stored, as for `kickoff`.

        Raises:
            StorageError: The stored runs cannot be read.
        """
        return crew_runs(cast("Crew", self), RunFilter(status=status, inside=inside, limit=limit), checkpointer)

    async def aruns(
        self,
        *,
        status: "StatusFilter | None" = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "list[RunInfo]":
        """Return the stored runs of this crew, on the current event loop; see `runs`."""
        return await acrew_runs(cast("Crew", self), RunFilter(status=status, inside=inside, limit=limit), checkpointer)


class CrewAbilities(
    CrewRunMethods,
    QueueMethods,
    CrewRuns,
    CrewPendingRuns,
    CrewHistory,
    CrewTraining,
    CrewEvaluation,
    CrewMemories,
    ChatMethods,
):
    """All methods of a crew."""
