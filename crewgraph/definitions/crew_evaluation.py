"""The verbs that test crews."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.evaluation import CrewTestResult
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.runtime.evaluate import atest, test
else:
    atest = lazy("crewgraph.runtime.evaluate:atest")
    test = lazy("crewgraph.runtime.evaluate:test")

__all__ = ["CrewEvaluation"]


class CrewEvaluation:
    """How a crew is judged."""

    def test(
        self,
        n_iterations: int,
        eval_llm: Any = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        openai_model_name: Any = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewTestResult":
        """Run the crew several times, let a model mark what each task gave, and print the scores as a table.

        Args:
            n_iterations: how many runs; at least 1.
            eval_llm: the model that judges; that of the first agent who has one where None.
            inputs: values for the `{placeholders}`.
            openai_model_name: the former name of `eval_llm`.
            checkpointer: where the runs are kept, as for `kickoff`.

        Returns:
            Scores from 1 to 10 with reasons, seconds, tokens and costs, by rounds and tasks. A task that could not be judged has
            an `error` in place of a score.

        Raises:
            ValueError: `n_iterations` is less than 1.
            ModelError: there is no such model to judge.
            Exception: what `kickoff` raises; `result` of it holds the rounds that are finished, if there are any.
        """
        llm = openai_model_name if eval_llm is None else eval_llm
        return test(cast("Crew", self), n_iterations, llm, inputs, checkpointer)

    async def atest(
        self,
        n_iterations: int,
        eval_llm: Any = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        openai_model_name: Any = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewTestResult":
        """Test the crew on this event loop; see `test`."""
        llm = openai_model_name if eval_llm is None else eval_llm
        return await atest(cast("Crew", self), n_iterations, llm, inputs, checkpointer)
