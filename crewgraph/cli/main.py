"""The parser of the command `crewgraph`, with all its commands."""

import sys
from typing import Annotated, Any

import typer

from crewgraph import __version__
from crewgraph.cli.approve import approve
from crewgraph.cli.chat import chat
from crewgraph.cli.check import check
from crewgraph.cli.create import create
from crewgraph.cli.diff import diff
from crewgraph.cli.eject import eject
from crewgraph.cli.log_tasks_outputs import log_tasks_outputs
from crewgraph.cli.migrate import migrate
from crewgraph.cli.replay import replay
from crewgraph.cli.reset_memories import reset_memories
from crewgraph.cli.run import run
from crewgraph.cli.runs import runs
from crewgraph.cli.test import test
from crewgraph.cli.train import train
from crewgraph.cli.where import where
from crewgraph.errors import CrewgraphError

__all__ = ["app"]


class _App(typer.Typer):
    """The commands, with crewgraph's own errors told in a line."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except CrewgraphError as error:
            typer.echo(f"Error: {error}", err=True)
            sys.exit(1)


app = _App(
    name="crewgraph",
    help="Teams of agents in CrewAI's vocabulary, run as LangGraph graphs.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
"""The command."""

app.command(context_settings={"allow_interspersed_args": False})(run)
app.command()(test)
app.command()(train)
app.command()(chat)
app.command()(create)
app.command()(where)
app.command()(runs)
app.command()(log_tasks_outputs)
app.command()(replay)
app.command()(diff)
app.command()(eject)
app.command()(approve)
app.command()(reset_memories)
app.command()(check)
app.command()(migrate)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show crewgraph's version.")] = False,
) -> None:
    if version:
        typer.echo(f"crewgraph {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
