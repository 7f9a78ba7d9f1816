"""`crewgraph reset-memories`: a crew forgets."""

from typing import Annotated

import typer

from crewgraph.cli.target import Target, target_crew

__all__ = ["reset_memories"]


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
        if crew.kept_under(kind):
            crew.reset_memories(kind)
            typer.echo(f"forgotten: {kind}")
        else:
            typer.echo(f"nothing there: {kind}")
