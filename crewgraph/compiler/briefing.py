"""What an agent is told of a task in a run: the texts of both, their placeholders filled from the inputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from crewgraph.compiler.assignment import Assignment, context_of
from crewgraph.compiler.state import INPUTS
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.faults import title
from crewgraph.definitions.task import Task
from crewgraph.text import fill

__all__ = ["Briefing", "briefing_of"]

_SEPARATORS = re.compile(r"[/\\\\]|\.\.+")


@dataclass(frozen=True, kw_only=True)
class Briefing:
    """The texts of a run, their placeholders filled."""

    role: str
    goal: str
    backstory: str
    description: str
    expected_output: str
    output_file: str | None
    context: str
    """What other tasks found out; empty where nothing is given."""


def briefing_of(assignment: Assignment, state: Mapping[str, Any]) -> Briefing:
    """The texts of a task and its agent for a run with this state; without inputs, texts stay as they are.

    Raises:
        MissingInput: a placeholder has no value among the inputs.
        StorageError: the state holds something else than outputs where the context should be.
        TypeError: the inputs in the state are no dict.
    """
    inputs: Mapping[str, Any] = state.get(INPUTS) or {}
    if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f'`inputs` in the state is {inputs!r:.80}; give a dict of names and values: {{"topic": "rain"}}'
        )
    task, agent = assignment.task, assignment.agent
    if assignment.told is not None:
        return _as_shown(task, agent, assignment.told)

    def filled(template: str | None, field: str, owner: str) -> str:
        return fill(template or "", inputs, where=f"`{field}` of {owner}") if inputs else template or ""

    where, path = title(task), task.template("output_file")
    return Briefing(
        role=filled(agent.role, "role", f"agent `{agent.role}`"),
        goal=filled(agent.goal, "goal", f"agent `{agent.role}`"),
        backstory=filled(agent.backstory, "backstory", f"agent `{agent.role}`"),
        description=filled(task.template("description"), "description", where),
        expected_output=filled(task.template("expected_output"), "expected_output", where),
        output_file=None if path is None else fill(path, _as_names(inputs), where=f"`output_file` of {where}"),
        context=context_of(assignment, state),
    )


def _as_shown(task: Task, agent: BaseAgent, context: str) -> Briefing:
    return Briefing(
        role=agent.role,
        goal=agent.goal,
        backstory=agent.backstory,
        description=task.description,
        expected_output=task.expected_output,
        output_file=task.output_file,
        context=context,
    )


def _as_names(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Inputs as parts of a path: none of them can name another folder."""
    shown: dict[str, Any] = {
        name: str(cast(object, value)) if isinstance(value, (list, dict)) else value for name, value in inputs.items()
    }
    return {name: _SEPARATORS.sub("_", value) if isinstance(value, str) else value for name, value in shown.items()}
