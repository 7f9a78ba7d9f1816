"""Commands that work on a crew: `crewgraph train`, `test`, `chat` and `reset-memories`."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from crewgraph.cli.discovery import read_project
from crewgraph.cli.output import print_error, print_text
from crewgraph.cli.target import CrewTarget, load_crew_target
from crewgraph.crew import Crew
from crewgraph.definitions.crew.training import training_path
from crewgraph.errors import RunError
from crewgraph.schema import PlainDict

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--inputs",
        "-i",
        help="An input of the run, such as `topic=rain`; can be given several times. Or inputs as a JSON object: "
        '`{"topic": "rain"}`.',
        show_default=False,
    ),
]
"""The `--inputs` option of commands that run a crew."""


def read_inputs(options: list[str] | None) -> dict[str, object]:
    """Parse the values of `--inputs` into the inputs of a run.

    Raises:
        RunError: A value is neither `name=value` nor a JSON object.
    """
    inputs: PlainDict = {}
    for option in options or []:
        if option.lstrip().startswith("{"):
            try:
                inputs |= json.loads(option)
            except ValueError as error:
                raise RunError(f"the inputs `{option}` are not valid JSON: {error}") from error
            continue
        name, equals, value = option.partition("=")
        if not equals or not name.strip():
            raise RunError(f"invalid input `{option}`: expected `name=value` or a JSON object")
        inputs[name.strip()] = value
    return inputs


def _inputs_of(crew: Crew, options: list[str] | None, script: str, *arguments: object) -> dict[str, object]:
    """Parse the inputs of rounds that cost requests; a crew with placeholders is not run without them.

    Args:
        crew: The crew.
        options: The values of `--inputs`.
        script: The script of CrewAI projects that does the same with the inputs of the project.
        arguments: The arguments that the script takes.

    Raises:
        RunError: No inputs are given, and the crew needs some.
    """
    needed = [] if options or crew.before_kickoff_callbacks else sorted(crew.fetch_inputs())
    if needed:
        hints = [" ".join(f"`--inputs {name}=...`" for name in needed)]
        if script in read_project(Path.cwd()).scripts:
            command = shlex.join(map(str, arguments))
            hints.append(f"use the inputs of the project's script with `crewgraph run {script} {command}`")
        hints.append("leave the braces in the texts with `--inputs '{}'`")
        names = ", ".join(f"`{name}`" for name in needed)
        raise RunError(f"the crew needs inputs, and none were given: {names}. Pass {', or '.join(hints)}.")
    return read_inputs(options)


def train(
    n_iterations: Annotated[int, typer.Option("-n", "--n_iterations", min=1, help="How often to run the crew.")] = 5,
    filename: Annotated[
        str, typer.Option("-f", "--filename", help="The JSON file for your feedback and the lessons learned from it.")
    ] = "trained_agents_data.json",
    inputs: Inputs = None,
    target: CrewTarget = None,
) -> None:
    """Train a crew with your feedback.

    You review the output of each task; later runs of the crew apply the lessons. To continue an interrupted training, run the
    command again with the same file.
    """
    crew = load_crew_target(target)
    path = training_path(filename)
    crew.train(n_iterations, str(path), _inputs_of(crew, inputs, "train", n_iterations, path))
    print_text(f"training saved to {path}")


def test(
    n_iterations: Annotated[int, typer.Option("-n", "--n_iterations", min=1, help="How often to run the crew.")] = 3,
    model: Annotated[
        str | None,
        typer.Option(
            "-m", "--model", help="The model that scores the outputs. By default the model of one of the agents."
        ),
    ] = None,
    inputs: Inputs = None,
    target: CrewTarget = None,
) -> None:
    """Run a crew several times and score its task outputs.

    A model gives each output a score from 1 to 10, with reasons. Prints the scores and the seconds as a table.
    """
    crew = load_crew_target(target)
    crew.test(n_iterations, model, _inputs_of(crew, inputs, "test", n_iterations, model or "MODEL"))


def chat(target: CrewTarget = None) -> None:
    """Chat with a crew.

    The crew's `chat_llm` asks for the inputs, runs the crew and shows the result. Type `exit` or press Ctrl-D to quit.
    """
    load_crew_target(target).chat()


def reset_memories(
    long: Annotated[bool, typer.Option("-l", "--long", help="The long-term memory: scores of task outputs.")] = False,
    short: Annotated[
        bool, typer.Option("-s", "--short", help="The short-term memory: answers and tool results.")
    ] = False,
    entities: Annotated[
        bool, typer.Option("-e", "--entities", help="The entity memory: people, places and things.")
    ] = False,
    external: Annotated[
        bool, typer.Option("--external", help="The external memory, which another service stores.")
    ] = False,
    memory: Annotated[bool, typer.Option("-m", "--memory", help="All of the memories above.")] = False,
    knowledge: Annotated[bool, typer.Option("-kn", "--knowledge", help="The knowledge of the crew.")] = False,
    agent_knowledge: Annotated[
        bool, typer.Option("-akn", "--agent-knowledge", help="The knowledge of its agents.")
    ] = False,
    kickoff_outputs: Annotated[
        bool, typer.Option("-k", "--kickoff-outputs", help="No effect: outputs are stored with the runs.")
    ] = False,
    everything: Annotated[bool, typer.Option("-a", "--all", help="All memories and all knowledge.")] = False,
    target: CrewTarget = None,
) -> None:
    """Delete a crew's memories and knowledge.

    Select what to delete with at least one option. What is deleted cannot be restored.
    """
    selected = {
        "long": long,
        "short": short,
        "entity": entities,
        "external": external,
        "memory": memory,
        "knowledge": knowledge,
        "agent_knowledge": agent_knowledge,
        "kickoff_outputs": kickoff_outputs,
    }
    kinds = ["all"] if everything else [kind for kind, is_selected in selected.items() if is_selected]
    if not kinds:
        print_error(
            "nothing is selected; pass `--short`, `--long`, `--entities`, `--external`, `--memory`, `--knowledge`, "
            "`--agent-knowledge` or `--all`"
        )
        raise typer.Exit(2)
    crew = load_crew_target(target)
    for kind in kinds:
        if crew.memories_of_type(kind):
            crew.reset_memories(kind)
            print_text(f"deleted: {kind}")
        else:
            what = "the crew has no memory and no knowledge" if everything else kind
            print_text(f"nothing to delete: {what}")
