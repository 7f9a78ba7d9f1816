"""The verbs on the runs of a crew that wait for people."""

from typing import Any

from crewgraph.definitions.door import people
from crewgraph.definitions.pending_crew import PendingCrew

__all__ = ["CrewPeople"]


class CrewPeople:
    """What can be asked of the runs of a crew that wait for an answer."""

    def pending(self, *, checkpointer: Any = None) -> list[PendingCrew]:
        """The runs of this crew that are kept, and wait for somebody's answer, those written last first.

        What a run inside a method of a flow asks, the flow asks: see `Flow.pending`.

        Args:
            checkpointer: where they are kept, as for `kickoff`.

        Raises:
            StorageError: what is kept cannot be read.
        """
        return people().pending(self, checkpointer)

    async def apending(self, *, checkpointer: Any = None) -> list[PendingCrew]:
        """The runs of this crew that wait for somebody's answer, read on this event loop; see `pending`."""
        return await people().apending(self, checkpointer)
