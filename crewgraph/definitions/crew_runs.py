"""The verbs on the runs of a crew that are kept."""

from typing import Any

from crewgraph.definitions.door import runs
from crewgraph.definitions.run_info import RunInfo, RunStatus

__all__ = ["CrewRuns"]


class CrewRuns:
    """What can be asked of the runs of a crew."""

    def runs(
        self,
        *,
        status: RunStatus | None = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: Any = None,
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
        return runs().crew_runs(self, status, inside, limit, checkpointer)

    async def aruns(
        self,
        *,
        status: RunStatus | None = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: Any = None,
    ) -> list[RunInfo]:
        """The runs of this crew that are kept, read on this event loop; see `runs`."""
        return await runs().acrew_runs(self, status, inside, limit, checkpointer)
