"""The verbs on the runs of a crew that wait for people."""

from typing import TYPE_CHECKING, cast

from crewgraph.definitions.pending_crew import PendingCrew
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.runtime.people import apending, pending
else:
    apending = lazy("crewgraph.runtime.people:apending")
    pending = lazy("crewgraph.runtime.people:pending")

__all__ = ["CrewPeople"]


class CrewPeople:
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
