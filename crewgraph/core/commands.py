"""Commands of LangGraph that would steer a graph from inside a task or method."""

from typing import Any, cast

from langgraph.errors import ParentCommand
from langgraph.types import Command

from crewgraph.errors import RunError

__all__ = ["WAY_OUT", "refused_command"]

WAY_OUT = (
    "To go elsewhere in a graph around the crew or flow, add a conditional edge there that reads its `output`, or call its "
    "`invoke` in a node that returns the command."
)
"""What to do in place of a command in a task or method."""


def refused_command(left: ParentCommand, where: str) -> RunError:
    """Return the error for a command to the graph around one that a task or method runs.

    LangGraph would apply it to the node of the task or method, which would then end without a result.
    """
    goto: object = cast("Command[Any]", left.args[0]).goto
    return RunError(
        f"a graph inside {where} returned a `Command` for the graph around it (goto={goto!r:.80}), but crews and flows determine "
        f"themselves what runs next. Let that graph end with data. {WAY_OUT}"
    )
