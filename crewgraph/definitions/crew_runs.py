"""The verbs on the runs of a crew that are kept."""

from typing import TYPE_CHECKING, cast

from crewgraph.definitions.run_info import RunFilter, RunInfo, RunStatus
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.runtime.runs import acrew_runs, crew_runs
else:
    acrew_runs = lazy("crewgraph.runtime.runs:acrew_runs")
    crew_runs = lazy("crewgraph.runtime.runs:crew_runs")

__all__ = ["CrewRuns"]


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
