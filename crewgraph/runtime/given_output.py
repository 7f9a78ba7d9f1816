"""Outputs that somebody gives in the place of a task's work."""

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from crewgraph.compiler.task.binding import Assignment
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.task.output import TaskOutput, plain_model
from crewgraph.errors import DefinitionError
from crewgraph.llm.structure import read_structure

__all__ = ["given_output", "taken_over"]

_USED = tuple((name, field) for name, field in TaskOutput.model_fields.items() if name.startswith("usage"))


def taken_over(output: TaskOutput) -> TaskOutput:
    """An output that a run takes over: what it took was used by another run."""
    return output.model_copy(update={name: field.get_default(call_default_factory=True) for name, field in _USED})


def given_output(
    given: Any, assignment: Assignment, before: TaskOutput | None, inputs: Mapping[str, Any]
) -> TaskOutput:
    """What is given for a task, as its output.

    Args:
        given: an output; a text; a dict with `raw` and other fields of an output; the fields of the structure that the task
            gives.
        assignment: the task.
        before: the output that it had; None where it was not done.
        inputs: what fills the texts of the task.

    Raises:
        DefinitionError: it does not fit the task.
        TypeError: it is nothing that an output is made of.
    """
    where = f"the output given for {title(assignment.task)}"
    if isinstance(given, TaskOutput):
        fields = given.to_plain()
    elif isinstance(given, str):
        fields = _read(given, assignment, where)
    elif isinstance(given, Mapping):
        fields = _of_dict(dict(cast("Mapping[str, Any]", given)), assignment, where)
    else:
        raise TypeError(f"{where} is {given!r:.80}; give a text, a dict or a `TaskOutput`")
    try:
        plain = {**(before or _undone(assignment, inputs)).to_plain(), **fields}
        return taken_over(TaskOutput.from_plain(plain, assignment.task.output_pydantic))
    except (ValidationError, TypeError) as error:
        raise DefinitionError(f"{where} does not fit: {error}") from error


def _of_dict(fields: dict[str, Any], assignment: Assignment, where: str) -> dict[str, Any]:
    if "raw" not in fields:
        return _read(json.dumps(fields, default=str, ensure_ascii=False), assignment, where, wanted=True)
    unknown = ", ".join(f"`{name}`" for name in fields if name not in TaskOutput.model_fields)
    if unknown:
        raise DefinitionError(f"{where} has {unknown}, which an output has not")
    read = _read(fields["raw"], assignment, where) if isinstance(fields["raw"], str) else {}
    return {**read, **fields}


def _read(text: str, assignment: Assignment, where: str, *, wanted: bool = False) -> dict[str, Any]:
    """A text with the structure that the task gives; `wanted` where it must give one."""
    task = assignment.task
    model = task.output_pydantic or task.output_json
    if model is None:
        if wanted:
            raise DefinitionError(f"{where} is a dict without `raw`, and the task gives a text; give a text")
        return {"raw": text, "pydantic": None, "json_dict": None}
    found, problem = read_structure(text, model)
    if found is None:
        raise DefinitionError(f"{where} does not fit `{model.__name__}`: {problem}")
    if task.output_pydantic is not None:
        return {"raw": text, "pydantic": plain_model(found)}
    return {"raw": text, "json_dict": found.model_dump(mode="json")}


def _undone(assignment: Assignment, inputs: Mapping[str, Any]) -> TaskOutput:
    """The frame of an output of a task that was not done, with the texts of a run with these inputs."""
    task, texts = assignment.task, assignment.task.worded(inputs)
    return TaskOutput(
        name=task.name or texts["description"],
        description=texts["description"] or "",
        expected_output=texts["expected_output"],
        agent=assignment.agent.worded(inputs)["role"] or "",
        output_format=task.output_format,
    )
