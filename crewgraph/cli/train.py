"""`crewgraph train`: people teach a crew."""

from typing import Annotated

import typer

from crewgraph.cli.inputs import Inputs, read_inputs
from crewgraph.cli.target import Target, target_crew
from crewgraph.definitions.training import training_path

__all__ = ["train"]


def train(
    n_iterations: Annotated[int, typer.Option("-n", "--n_iterations", min=1, help="How many rounds.")] = 5,
    filename: Annotated[
        str, typer.Option("-f", "--filename", help="The JSON file for what people say, and for the lessons.")
    ] = "trained_agents_data.json",
    inputs: Inputs = None,
    target: Target = None,
) -> None:
    """Train a crew: you say what is to be better in each answer, and later runs keep to it.

    A training that was interrupted goes on where it was when it is called again with the same file.
    """
    crew, given = target_crew(target), read_inputs(inputs)
    path = training_path(filename)
    crew.train(n_iterations, str(path), given)
    typer.echo(f"trained: {path}")
