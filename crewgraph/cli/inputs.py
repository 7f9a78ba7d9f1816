"""The inputs of a run on the command line."""

import json
from typing import Annotated, Any, cast

import typer

from crewgraph.errors import RunError

__all__ = ["Inputs", "read_inputs"]

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


def read_inputs(given: list[str] | None) -> dict[str, Any]:
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


def _object(text: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(text)
    except ValueError as error:
        raise RunError(f"the inputs `{text}` are no JSON: {error}") from error
    return cast("dict[str, Any]", found)  # it begins with a brace
