"""The Typer application with all commands."""

import re
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup

from crewgraph import __version__
from crewgraph.cli.approve import approve, resume
from crewgraph.cli.crews import chat, reset_memories, test, train
from crewgraph.cli.moving import check, eject, migrate
from crewgraph.cli.output import escape_unencodable, print_error, print_text, report_lost_output
from crewgraph.cli.program import RunProgram
from crewgraph.cli.projects import create
from crewgraph.cli.queue import jobs, worker
from crewgraph.cli.run import run
from crewgraph.cli.runs import diff, log_tasks_outputs, replay, runs, where
from crewgraph.cli.serve import serve
from crewgraph.errors import CrewgraphError
from crewgraph.schema import fault_text
from crewgraph.text import suggestion
from crewgraph.tracebacks import show_users_frames


class _Command(TyperCommand):
    """A command that reports missing arguments in one line, with its first example, and wrong ones without library terms."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = _wrong_value(error.__cause__)
            if " is not one of " in error.message:
                written, *choices = re.findall("'([^']*)'", error.message)
                error.message += suggestion(written, choices)
            if error.message or error.param is None:
                raise
            what = str(getattr(error.param, "help", "")).rstrip(".")
            example = str(self.epilog).splitlines()[2].strip()
            name = max(error.param.opts, key=len)
            print_error(f"`{name}` is missing: {what[:1].lower()}{what[1:]}. Example: `{example}`")
            raise typer.Exit(2) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; after Ctrl-C or Ctrl-D, print how to continue the run, which Typer would omit."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError) as error:
            if text := "\n".join(filter(None, [str(error), *getattr(error, "__notes__", ())])):
                print_text(f"\n{text}", err=True)
                raise typer.Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None
            raise


def _wrong_value(error: ValidationError) -> str:
    fault = error.errors()[0]
    bounds = fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_from_float":
            return f"{fault['input']!r} is not a whole number."
        case "float_parsing":
            return f"{fault['input']!r} is not a number."
        case "greater_than_equal":
            return f"it must be {bounds['ge']:g} or more, not {fault['input']}."
        case "less_than_equal":
            return f"it must be {bounds['le']:g} or less, not {fault['input']}."
        case _:
            return fault_text(fault)


_COMMANDS_OF_CREWAI = {
    "install": "install the project with `pip install -e .`",
    "uv": "use uv itself",
    "version": "use `crewgraph --version`",
    "update": "use `crewgraph migrate`",
    "kickoff": "use `crewgraph run`",
    "plot": "use `crewgraph run plot`, or `flow.plot()` in Python",
    "flow": "use `crewgraph run` for `flow kickoff`, and `crewgraph run plot` for `flow plot`",
    "memory": "read memories in Python, as with `crew.memory.recall(...)`",
    "checkpoint": "use `crewgraph runs`, and `crew.history()` in Python",
    "eval": "use `crewgraph test`",
    "traces": "turn tracing on with LANGSMITH_TRACING=true",
    "env": "set environment variables, or write them into `.env`",
    **dict.fromkeys(
        ("config", "deploy", "enterprise", "login", "logout", "org", "skill", "template", "tool", "triggers"),
        "CrewAI's hosted platform can only be used with CrewAI",
    ),
}
"""What to do instead of commands that only `crewai` has."""


class _Commands(TyperGroup):
    """The commands; those of `crewai` that are missing are answered with what to do instead."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and args[0] in _COMMANDS_OF_CREWAI:
            print_error(f"There is no command `{args[0]}`: {_COMMANDS_OF_CREWAI[args[0]]}.")
            raise typer.Exit(2)
        return super().resolve_command(ctx, args)


class _App(typer.Typer):
    """An application that prints crewgraph's own errors, and those of standard output, as one line instead of a traceback."""

    def __call__(self, *args: Any, **kwargs: object) -> object:
        undo = escape_unencodable()
        try:
            return super().__call__(*args, **kwargs)
        except RunProgram:
            undo()  # the program gets the streams that it would have under `python`
            raise
        except SystemExit as end:
            if report_lost_output() and not end.code:
                sys.exit(1)
            raise
        except CrewgraphError as error:
            print_error(error)
            report_lost_output()
            sys.exit(1)
        except Exception as error:  # noqa: BLE001 - the command ends with it
            if not (isinstance(error, OSError) and report_lost_output(after_error=True)):
                show_users_frames(error)
                print_text("".join(traceback.format_exception(error)).rstrip("\n"), err=True)
            sys.exit(1)


app = _App(
    name="crewgraph",
    cls=_Commands,
    help="Run CrewAI-style agents, crews and flows as LangGraph graphs.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    run: ("run main.py", "run -m my_crew.main", "run"),
    test: ("test --n_iterations 5 --inputs topic=rain",),
    train: ("train --n_iterations 2 --inputs topic=rain",),
    chat: ("chat --target my_crew.crew:MyCrew",),
    create: ("create crew my_crew", "create flow my_flow --path projects"),
    where: ("where",),
    runs: ("runs --status open", "runs --limit 100 --json"),
    log_tasks_outputs: ("log-tasks-outputs", "log-tasks-outputs brest-1 --json"),
    replay: ("replay --task_id write", "replay brest-1 --task_id 1 --inputs topic=snow"),
    diff: ("diff brest-1 brest-2",),
    eject: ("eject my_crew.crew:MyCrew --output graph.py",),
    resume: ("resume brest-1",),
    approve: ("approve brest-1 --yes", 'approve brest-1 --no "It costs too much."', "approve"),
    worker: ("worker --queue postgresql://localhost/runs --concurrency 8",),
    jobs: ("jobs --state failed", "jobs --retry brest-1"),
    serve: ("serve --port 8000", "serve --target my_crew.crew:MyCrew --target my_flow.main:MyFlow"),
    reset_memories: ("reset-memories --long --short", "reset-memories --all"),
    check: ("check", "check src --json"),
    migrate: ("migrate", "migrate --write"),
}
"""The commands in the order of the help, with examples; the first is shown where an argument is missing."""

for _command, _examples in _EXAMPLES.items():
    app.command(
        cls=_Command,
        epilog="\n".join(["\b", "Examples:", *(f"  crewgraph {example}" for example in _examples)]),
        context_settings={"allow_interspersed_args": _command is not run},
    )(_command)


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
