"""All that can be done with a crew.

The verbs that talk to a crew, carried out by an extension.

The verbs on the runs of a crew that wait for people.

The verbs on the runs of a crew that are kept.
"""

from typing import TYPE_CHECKING, Protocol, cast

from crewgraph.definitions.crew.evaluation import CrewEvaluation
from crewgraph.definitions.crew.history import CrewHistory
from crewgraph.definitions.crew.memories import CrewMemories
from crewgraph.definitions.crew.pending import PendingCrew, RunFilter, RunInfo, RunStatus
from crewgraph.definitions.crew.training import CrewTraining
from crewgraph.definitions.crew.verbs import CrewVerbs
from crewgraph.extensions import extension
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.definitions.task.output import CrewOutput
    from crewgraph.runtime.crew.human_input import apending, pending
    from crewgraph.runtime.runs.index import acrew_runs, crew_runs
else:
    apending = lazy("crewgraph.runtime.crew.human_input:apending")
    pending = lazy("crewgraph.runtime.crew.human_input:pending")
    acrew_runs = lazy("crewgraph.runtime.runs.index:acrew_runs")
    crew_runs = lazy("crewgraph.runtime.runs.index:crew_runs")

__all__ = ["CrewAbilities", "CrewChat", "CrewConversation", "CrewPendingRuns", "CrewRuns"]


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


class CrewChat:
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


class CrewPendingRuns:
    """What can be asked of the runs of a crew that wait for an answer."""

    def pending(self, *, checkpointer: "Checkpointer" = None) -> list[PendingCrew]:
        """The runs of this crew that are kept, and wait for somebody's answer, those written last first.

        What a run inside a method of a flow asks, the flow asks: see `Flow.pending`.

        Args:
            checkpointer: where they are kept, as for `kickoff`.

        Raises:
            StorageError: what is kept cannot be read.
        """
        return pending(cast("Crew", self), checkpointer)

    async def apending(self, *, checkpointer: "Checkpointer" = None) -> list[PendingCrew]:
        """The runs of this crew that wait for somebody's answer, read on this event loop; see `pending`."""
        return await apending(cast("Crew", self), checkpointer)


class CrewRuns:
    """What can be asked of the runs of a crew."""

    def runs(
        self,
        *,
        status: RunStatus | None = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> list[RunInfo]:
        """The runs of this crew that are kept, those written last first.

        A crew with a name is known by it; one without by the names of its tasks.

        Args:
            status: those alone: "finished", "pending" (waiting for an answer) or "open" (to be resumed).
            inside: also those inside the methods of flows.
            limit: at most so many.
            checkpointer: where they are kept, as for `kickoff`.

        Raises:
            StorageError: what is kept cannot be read.
        """
        return crew_runs(cast("Crew", self), RunFilter(status=status, inside=inside, limit=limit), checkpointer)

    async def aruns(
        self,
        *,
        status: RunStatus | None = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> list[RunInfo]:
        """The runs of this crew that are kept, read on this event loop; see `runs`."""
        return await acrew_runs(cast("Crew", self), RunFilter(status=status, inside=inside, limit=limit), checkpointer)


class CrewAbilities(
    CrewVerbs, CrewRuns, CrewPendingRuns, CrewHistory, CrewTraining, CrewEvaluation, CrewMemories, CrewChat
):
    """The verbs of a crew, by topics."""
