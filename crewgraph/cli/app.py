"""The Typer application with all commands."""

import sys
import traceback
from types import TracebackType
from typing import Annotated, Any

import typer

from crewgraph import __version__
from crewgraph.cli.approve import approve, resume
from crewgraph.cli.crews import chat, reset_memories, test, train
from crewgraph.cli.moving import check, eject, migrate
from crewgraph.cli.output import print_error, print_text
from crewgraph.cli.projects import create
from crewgraph.cli.queue import jobs, worker
from crewgraph.cli.run import run
from crewgraph.cli.runs import diff, log_tasks_outputs, replay, runs, where
from crewgraph.cli.serve import serve
from crewgraph.errors import CrewgraphError

__all__ = ["app"]


class _App(typer.Typer):
    """An application that prints crewgraph's own errors as one line instead of a traceback."""

    def __call__(self, *args: Any, **kwargs: object) -> object:
        try:
            return super().__call__(*args, **kwargs)
        except CrewgraphError as error:
            print_error(error)
            sys.exit(1)
        except BaseException:
            sys.excepthook = _print_traceback
            raise


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback as Python does, with the control characters escaped that an error may bring from a model."""
    print_text("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


app = _App(
    name="crewgraph",
    help="Run CrewAI-style agents, crews and flows as LangGraph graphs.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

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
app.command()(resume)
app.command()(approve)
app.command()(worker)
app.command()(jobs)
app.command()(serve)
app.command()(reset_memories)
app.command()(check)
app.command()(migrate)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print_text(f"crewgraph {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print_text(context.get_help())
