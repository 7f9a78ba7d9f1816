"""What a method of a flow is called with."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from crewgraph.core.files import FILES
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.definitions.flow.run_extension import RESERVED_INPUTS
from crewgraph.errors import RunError

__all__ = ["arguments_of", "unknown_inputs"]

_PAYLOAD = "crewai_trigger_payload"
"""The input that is what started the run from outside: a start method's parameter of this name is nothing else."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def arguments_of(
    method: FlowMethod, given: Any, triggered: bool, inputs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, without the flow itself.

    Args:
        method: what is called.
        given: what came of the event that triggered it, for its first parameter.
        triggered: whether an event did; else the run begins with it, and its parameters are inputs, by their names.
        inputs: what the run was given.

    Raises:
        RunError: a parameter has no default, and there is nothing for it.
    """
    parameters = _parameters(method.func)
    args: tuple[Any, ...] = ()
    rest = parameters
    takes = bool(parameters) and parameters[0].kind in (*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL)
    if triggered and takes and not (method.is_start and parameters[0].name == _PAYLOAD):
        args, rest = (given,), parameters[1:]
    keywords: dict[str, Any] = {}
    for parameter in rest:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and not triggered:
            keywords = {**inputs, **keywords}
        elif parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        elif parameter.name in inputs:
            keywords[parameter.name] = inputs[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            known = ", ".join(f"`{name}`" for name in inputs) or "none"
            raise RunError(
                f"method `{method.name}` needs `{parameter.name}`, which is no input (there are: {known}). Give it to "
                f"`kickoff`, or give the parameter a default."
            )
    return args, keywords


def unknown_inputs(definition: FlowDefinition, state: Any, inputs: Mapping[str, Any]) -> list[str]:
    """What to tell of inputs that lead nowhere: no field of the state's model has the name, and no parameter of a method."""
    if not isinstance(state, BaseModel) or state.model_config.get("extra") == "allow":
        return []
    parameters = [one for method in definition.methods.values() for one in _parameters(method.func)]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return []
    known = {*type(state).model_fields, *(one.name for one in parameters), "id", _PAYLOAD, *RESERVED_INPUTS, FILES}
    told: list[str] = []
    for name in inputs.keys() - known:
        near = difflib.get_close_matches(name, sorted(known), n=1)
        told.append(
            f"the input `{name}` is no field of the state `{type(state).__name__}` of flow `{definition.name}`, and no "
            f"parameter of a method.{f' Did you mean `{near[0]}`?' if near else ''}"
        )
    return told


@lru_cache(10_000)
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    parameters = tuple(inspect.signature(function).parameters.values())
    return parameters if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL else parameters[1:]
