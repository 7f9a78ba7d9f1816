"""`crewgraph train`: people teach a crew.

The inputs of a run on the command line.

`crewgraph test`: a model marks what a crew gives.

`crewgraph chat`: talking to a crew.

`crewgraph reset-memories`: a crew forgets.
"""

import json
from typing import Annotated, Any, cast

import typer

from crewgraph.cli.target import Target, target_crew
from crewgraph.definitions.crew.training import training_path
from crewgraph.errors import RunError

__all__ = ["Inputs", "chat", "read_inputs", "reset_memories", "test", "train"]


Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        help="A value for a placeholder, as `topic=rain`; may be given several times. Or the JSON of all, as "
        '`{"topic": "rain"}`.',
        show_default=False,
    ),
]
"""The option of a command that runs a crew."""


def read_inputs(given: list[str] | None) -> dict[str, object]:
    """The values for placeholders that were given.

    Raises:
        RunError: something is neither `name=value` nor a JSON object.
    """
    inputs: dict[str, Any] = {}
    for one in given or []:
        if one.lstrip().startswith("{"):
            inputs |= _object(one)
            continue
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise RunError(
                f"the input `{one}` is nothing that a run can be given; write `name=value`, or a JSON object"
            )
        inputs[name.strip()] = value
    return inputs


def _object(text: str) -> dict[str, object]:
    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise RunError(f"the inputs `{text}` are no JSON: {error}") from error
    return cast("dict[str, Any]", found)  # it begins with a brace


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


def chat(target: Target = None) -> None:
    """Talk to a crew: its `chat_llm` asks for the inputs, has it work, and shows the result; `exit` or Ctrl-D ends it."""
    target_crew(target).chat()


def reset_memories(
    long: Annotated[bool, typer.Option("-l", "--long", help="How well tasks were done.")] = False,
    short: Annotated[bool, typer.Option("-s", "--short", help="What was found out with tools, and answers.")] = False,
    entities: Annotated[bool, typer.Option("-e", "--entities", help="People, places and things.")] = False,
    external: Annotated[bool, typer.Option("--external", help="What is kept elsewhere.")] = False,
    memory: Annotated[bool, typer.Option("-m", "--memory", help="All of these.")] = False,
    knowledge: Annotated[bool, typer.Option("-kn", "--knowledge", help="What the crew knows.")] = False,
    agent_knowledge: Annotated[bool, typer.Option("-akn", "--agent-knowledge", help="What its agents know.")] = False,
    kickoff_outputs: Annotated[
        bool, typer.Option("-k", "--kickoff-outputs", help="Kept with the runs, by a checkpointer; nothing is removed.")
    ] = False,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Everything.")] = False,
    target: Target = None,
) -> None:
    """Forget what a crew remembers and knows. It cannot be taken back."""
    asked = {
        "long": long,
        "short": short,
        "entity": entities,
        "external": external,
        "memory": memory,
        "knowledge": knowledge,
        "agent_knowledge": agent_knowledge,
        "kickoff_outputs": kickoff_outputs,
    }
    kinds = ["all"] if everything else [kind for kind, wanted in asked.items() if wanted]
    if not kinds:
        raise typer.BadParameter("say what to forget: `--short`, `--long`, `--entities`, ..., or `--all`")
    crew = target_crew(target)
    for kind in kinds:
        if crew.memories_of_type(kind):
            crew.reset_memories(kind)
            typer.echo(f"forgotten: {kind}")
        else:
            typer.echo(f"nothing there: {kind}")
