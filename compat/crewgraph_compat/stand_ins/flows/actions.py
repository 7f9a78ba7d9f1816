"""The actions of declared flows under CrewAI's names."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import Parameter, Signature
from typing import Any, cast

from pydantic_core import to_jsonable_python

from crewgraph.contrib.declared.actions import (
    FlowActionDefinition,
    FlowAgentActionDefinition,
    FlowCodeActionDefinition,
    FlowCrewActionDefinition,
    FlowEachActionDefinition,
    FlowExpressionActionDefinition,
    FlowScriptActionDefinition,
    FlowToolActionDefinition,
)
from crewgraph.contrib.declared.steps import Local, bind_to_flow, build_step, import_function
from crewgraph.core.loops.bridge import acall
from crewgraph.flow.flow import Flow

__all__ = [
    "AgentAction",
    "CodeAction",
    "CrewAction",
    "EachAction",
    "ExpressionAction",
    "LocalContext",
    "NestedStep",
    "ScriptAction",
    "ToolAction",
    "build_action",
    "outputs_by_name",
]

LocalContext = dict[str, Any]
"""The variables of an action besides the flow's state and outputs."""

NestedStep = tuple[str, str | None, Callable[[LocalContext], Awaitable[Any]]]
"""A step of an `each` action: its name, condition and action."""


class _Action:
    """Base class of flow actions.

    Args:
        flow: the flow.
        definition: the action as data.
    """

    def __init__(self, flow: Flow[Any], definition: Any) -> None:
        self.flow, self.definition = flow, definition

    def _done(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        declared = getattr(type(self.flow), "_declared", None)
        root = declared.source_dir if declared is not None else None
        local: Local = keywords.get("local_context") or {}
        return build_step(self.definition, f"`{self.definition.call}`", root)(self.flow, local, *args)


class CodeAction(_Action):
    """Call a function."""

    definition: FlowCodeActionDefinition

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result; without `with` it receives the arguments passed here."""
        if self.definition.with_ is not None:
            return self._done(args, kwargs)
        return bind_to_flow(import_function(self.definition, "`code`", None), self.flow)(*args, **kwargs)


class ToolAction(_Action):
    """Runs a tool."""

    definition: FlowToolActionDefinition

    def run(self, *_args: Any, **kwargs: Any) -> Any:
        """Return the tool's result."""
        return self._done((), kwargs)


class ExpressionAction(_Action):
    """Evaluates an expression."""

    definition: FlowExpressionActionDefinition

    def run(self, *_args: Any, **kwargs: Any) -> Any:
        """Return the value of the expression."""
        return self._done((), kwargs)


class ScriptAction(_Action):
    """Runs a script."""

    definition: FlowScriptActionDefinition

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Return the script's result; the first argument is its `input`."""
        return self._done(args, kwargs)


class CrewAction(_Action):
    """Run a crew."""

    definition: FlowCrewActionDefinition

    async def run(self, *_args: Any, **kwargs: Any) -> Any:
        """Return the crew's output."""
        return await acall(partial(self._done, (), kwargs))


class AgentAction(_Action):
    """Run an agent."""

    definition: FlowAgentActionDefinition

    async def run(self, *_args: Any, **kwargs: Any) -> Any:
        """Return the agent's answer."""
        return await acall(partial(self._done, (), kwargs))


class EachAction(_Action):
    """Run steps for each item of a list."""

    definition: FlowEachActionDefinition

    async def run(self, *_args: Any, **_kwargs: Any) -> list[Any]:
        """Return the results of all items."""
        return cast("list[Any]", await acall(partial(self._done, (), {})))


_KINDS: dict[str, type[Any]] = {
    "code": CodeAction,
    "tool": ToolAction,
    "crew": CrewAction,
    "agent": AgentAction,
    "expression": ExpressionAction,
    "script": ScriptAction,
    "each": EachAction,
}


def build_action(flow: Flow[Any], definition: FlowActionDefinition) -> Callable[..., Any]:
    """Return an action as a function; crews, agents and `each` give coroutine functions.

    Args:
        flow: the flow.
        definition: the action as data.
    """
    action = _KINDS[definition.call](flow, definition)
    if definition.call in ("crew", "agent", "each"):

        async def arun(*args: Any, **kwargs: Any) -> Any:
            return await action.run(*args, **kwargs)

        return arun

    def run(*args: Any, **kwargs: Any) -> Any:
        return action.run(*args, **kwargs)

    vars(run)["__signature__"] = Signature(
        [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
    )
    return run


def outputs_by_name(
    method_outputs: list[Any], *, local_outputs: Mapping[str, Any] | None = None, serialize: bool = False
) -> dict[str, Any]:
    """Return the outputs of methods by method name.

    Args:
        method_outputs: dicts with "method" and "output"; of several of a method the last counts.
        local_outputs: further outputs, which take precedence.
        serialize: whether to convert them to plain data.
    """
    outputs = {item["method"]: item["output"] for item in method_outputs} | dict(local_outputs or {})
    return to_jsonable_python(outputs, serialize_unknown=True) if serialize else outputs
