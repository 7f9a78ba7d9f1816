"""The verbs that train crews."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.output import TaskOutput
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.runtime.train import atrain, train
else:
    atrain = lazy("crewgraph.runtime.train:atrain")
    train = lazy("crewgraph.runtime.train:train")

__all__ = ["CrewTraining"]


class CrewTraining:
    """How people teach the agents of a crew."""

    def train(
        self,
        n_iterations: int,
        filename: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        feedback: "Callable[[TaskOutput], Any] | None" = None,
        checkpointer: "Checkpointer" = None,
    ) -> None:
        """Run the crew several times, ask a person what is to be better in each answer, and draw lessons from that.

        The agent improves its answer before the next task begins. At the end a model draws instructions for each agent from
        all that was said of its answers; later runs of crews add them to the prompts of agents with that role, where
        they find the file (see `trained_agents_file`).

        What people say is in the file as soon as they have said it. A training that was interrupted goes on where it was when
        `train` is called again with the same file and inputs.

        Args:
            n_iterations: how many runs; at least 1.
            filename: the JSON file for what people said and for the lessons; `x` and `x.pkl` are `x.json`.
            inputs: values for the `{placeholders}`.
            feedback: asks instead of the terminal: a function, sync or async, that is given the `TaskOutput` and returns what
                somebody says of it; an empty text accepts the answer.
            checkpointer: where the runs are kept, as for `kickoff`.

        Raises:
            ValueError: `n_iterations` is less than 1.
            RunError: there is nobody to ask, or the file holds another training that is not finished.
            StorageError: the file cannot be read or written; a pickle is never opened.
            OutputInvalid: the model drew no lessons that can be read.
            Exception: what `kickoff` raises. What was said is kept.
        """
        train(cast("Crew", self), n_iterations, filename, inputs, feedback, checkpointer)

    async def atrain(
        self,
        n_iterations: int,
        filename: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        feedback: "Callable[[TaskOutput], Any] | None" = None,
        checkpointer: "Checkpointer" = None,
    ) -> None:
        """Train the crew on this event loop; see `train`."""
        await atrain(cast("Crew", self), n_iterations, filename, inputs, feedback, checkpointer)
