"""`crewgraph test`: a model marks what a crew gives."""

from typing import Annotated

import typer

from crewgraph.cli.inputs import Inputs, read_inputs
from crewgraph.cli.target import Target, target_crew

__all__ = ["test"]


def test(
    n_iterations: Annotated[int, typer.Option("-n", "--n_iterations", min=1, help="How many rounds.")] = 3,
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="The model that judges; that of an agent where it is not given.")
    ] = None,
    inputs: Inputs = None,
    target: Target = None,
) -> None:
    """Test a crew: run it several times, let a model mark what its tasks gave, and show the scores."""
    target_crew(target).test(n_iterations, model, read_inputs(inputs))
