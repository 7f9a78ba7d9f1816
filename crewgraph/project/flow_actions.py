"""What the actions of declared flows do, as functions of a flow."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import isclass, isfunction
from pathlib import Path
from types import MethodType
from typing import Any

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.declared.actions import (
    FlowActionDefinition,
    FlowAgentActionDefinition,
    FlowCodeActionDefinition,
    FlowCrewActionDefinition,
    FlowEachActionDefinition,
    FlowExpressionActionDefinition,
    FlowScriptActionDefinition,
    FlowToolActionDefinition,
)
from crewgraph.definitions.declared.expression import Expression
from crewgraph.definitions.declared.names import named_python
from crewgraph.definitions.door import declarations
from crewgraph.definitions.lite_agent_output import LiteAgentOutput
from crewgraph.definitions.output import CrewOutput
from crewgraph.errors import DefinitionError, ExpressionError
from crewgraph.project.flow_script import script_of
from crewgraph.project.json_project import load_agent_from_definition, load_crew, load_crew_from_definition
from crewgraph.schema import call_arguments, validated
from crewgraph.tools.base import BaseTool

__all__ = ["Local", "Step", "bound", "code_of", "keywords_of", "step_of"]

Local = Mapping[str, Any]
"""What there is beside `state` and `outputs`: inside of an `each` its `item`, and the `outputs` of steps before."""

Step = Callable[..., Any]
"""What an action does: given a flow, a `Local`, and what the method is called with."""


def step_of(action: FlowActionDefinition, place: str, root: Path | None) -> Step:
    """What an action does.

    Args:
        action: the action.
        place: where it stands, for messages.
        root: the folder of the declaration's file.

    Raises:
        DefinitionError: a name leads nowhere, a crew or an agent cannot be made, or a script is no Python.
        FileNotFoundError: a crew's file is missing.
        ValidationError: a value of a crew or an agent has a wrong type.
        ScriptRefused: it is a script, and scripts are not allowed.
    """
    return _MADE[type(action)](action, place, root)


def code_of(action: FlowCodeActionDefinition, place: str, root: Path | None) -> Callable[..., Any]:
    """The function that an action names.

    Raises:
        DefinitionError: there is none.
    """
    found = named_python(action.ref, f"{place}.ref", root)
    if not callable(found):
        raise DefinitionError(f"{place}.ref: {action.ref!r} is {found!r:.60}, which cannot be called")
    return found


def bound(function: Callable[..., Any], flow: Any) -> Callable[..., Any]:
    """A function as a method of a flow; what is none, as a class, is called without the flow."""
    return MethodType(function, flow) if isfunction(function) else function


def keywords_of(named: Mapping[str, Any], flow: Any, local: Local) -> dict[str, Any]:
    """What stands under `with` or `inputs`, with values in the place of `${...}`."""
    return Expression.from_flow({**named}, flow, local_context={**local}).render_template()


def _code(action: FlowCodeActionDefinition, place: str, root: Path | None) -> Step:
    function, named = code_of(action, place, root), action.with_ or {}

    def run(flow: Any, local: Local, *_: Any) -> Any:
        return call(partial(bound(function, flow), **keywords_of(named, flow, local)))

    return run


def _tool(action: FlowToolActionDefinition, place: str, root: Path | None) -> Step:
    found = named_python(action.ref, f"{place}.ref", root)
    if not _is_tool(found):
        raise DefinitionError(f"{place}.ref: {action.ref!r} is {found!r:.60}; name a subclass of `BaseTool`, or a tool")

    def use(flow: Any, local: Local, *_: Any) -> Any:
        tool: Any = found() if isclass(found) else found
        given = keywords_of(action.with_ or {}, flow, local)
        return tool.run(**call_arguments(validated(tool.args_schema, given)))

    return use


def _is_tool(found: object) -> bool:
    return isinstance(found, BaseTool) or isclass(found) and issubclass(found, BaseTool)


def _crew(action: FlowCrewActionDefinition, place: str, root: Path | None) -> Step:
    loaded, inputs = _loaded(action, place, root)

    def kick_off(flow: Any, local: Local, *_: Any) -> CrewOutput:
        given = keywords_of(action.inputs or {}, flow, local)
        return loaded.copy().kickoff(inputs={**inputs, **given})  # runs share nothing

    return kick_off


def _loaded(action: FlowCrewActionDefinition, place: str, root: Path | None) -> tuple[Crew, dict[str, Any]]:
    if action.with_ is not None:
        return load_crew_from_definition(action.with_, source=f"{place}.with", project_root=root)
    path = (root or Path.cwd()) / str(action.from_declaration)
    if path.is_dir():
        path = next((one for end in ("jsonc", "json") if (one := path / f"crew.{end}").is_file()), path / "crew.json")
    return load_crew(path)


def _agent(action: FlowAgentActionDefinition, place: str, root: Path | None) -> Step:
    loaded, form = load_agent_from_definition(action.with_, source=f"{place}.with", project_root=root)

    def ask(flow: Any, local: Local, *_: Any) -> LiteAgentOutput:
        asked: Any = Expression.from_flow(action.with_.input, flow, local_context={**local}).render_template()  # pyright: ignore[reportArgumentType]
        if type(asked) not in (str, list):
            raise ExpressionError(
                f"{place}.with.input: {asked!r:.80} is no text; write text around it: 'Number ${{state.n}}'"
            )
        return loaded.copy().kickoff(asked, response_format=form)

    return ask


def _expression(action: FlowExpressionActionDefinition, place: str, root: Path | None) -> Step:
    def evaluate(flow: Any, local: Local, *_: Any) -> Any:
        return Expression.from_flow(action.expr, flow, local_context={**local}).evaluate()

    return evaluate


def _script(action: FlowScriptActionDefinition, place: str, root: Path | None) -> Step:
    function = script_of(action.code, place)

    def run(flow: Any, local: Local, *given: Any) -> Any:
        outputs = {**declarations().outputs_of(flow), **local.get("outputs", {})}
        return function(flow.state, outputs, given[0] if given else None, local.get("item"))

    return run


def _each(action: FlowEachActionDefinition, place: str, root: Path | None) -> Step:
    steps = [(one, step_of(one.action, f"{place}.do[{n}].action", root)) for n, one in enumerate(action.do)]

    def walk(flow: Any, local: Local, *_: Any) -> list[Any]:
        items = Expression.from_flow(action.in_, flow).evaluate()
        if not isinstance(items, list):
            raise ExpressionError(f"{place}.in: `{action.in_}` is {items!r:.60}, no list")
        return [_item(flow, item) for item in items]  # pyright: ignore[reportUnknownVariableType]

    def _item(flow: Any, item: Any) -> Any:
        outputs: dict[str, Any] = {}
        last: Any = None
        for step, work in steps:
            local = {"item": item, "outputs": outputs}
            if step.if_ is not None:
                is_wanted = Expression.from_flow(step.if_, flow, local_context=local).evaluate()
                if not isinstance(is_wanted, bool):
                    raise ExpressionError(
                        f"{place}: `if` of step `{step.name}` is {is_wanted!r:.60}, neither true nor false"
                    )
                if not is_wanted:
                    continue
            last = outputs[step.name] = work(flow, local)
        return last

    return walk


_MADE: dict[type, Callable[..., Step]] = {
    FlowCodeActionDefinition: _code,
    FlowToolActionDefinition: _tool,
    FlowCrewActionDefinition: _crew,
    FlowAgentActionDefinition: _agent,
    FlowExpressionActionDefinition: _expression,
    FlowScriptActionDefinition: _script,
    FlowEachActionDefinition: _each,
}
