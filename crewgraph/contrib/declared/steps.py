"""Turns the actions of declared flows into functions of a flow."""

import ast
from collections.abc import Callable, Mapping
from inspect import isclass, isfunction
from pathlib import Path
from types import MethodType
from typing import Any

from crewgraph.agent import Agent
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
from crewgraph.contrib.declared.expression import Expression, flow_outputs
from crewgraph.contrib.declared.json_crews import load_agent_from_definition, load_crew, load_crew_from_definition
from crewgraph.contrib.declared.names import import_reference
from crewgraph.core.loops.bridge import call
from crewgraph.crew import Crew
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import DefinitionError, ExpressionError, ScriptRefused, ToolFailed
from crewgraph.overrides import override_of
from crewgraph.project.roles import display_path
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.settings import flag
from crewgraph.tools.base import BaseTool
from crewgraph.tools.failure import ToolFailure

Local = Mapping[str, Any]
"""Names in scope besides `state` and `outputs`: in an `each`, its `item` and the `outputs` of its earlier steps."""

Step = Callable[..., Any]
"""Carries out an action; called with a flow, a `Local` and the arguments of the method."""


def build_step(action: FlowActionDefinition, place: str, root: Path | None) -> Step:
    """Build the function that executes an action.

    Args:
        action: The action.
        place: Its place in the declaration, for error messages.
        root: The folder of the declaration's file.

    Raises:
        DefinitionError: If a reference cannot be resolved, a crew or agent is faulty, or a script is not valid Python.
        FileNotFoundError: If a crew's file is missing.
        ValidationError: If a value of a crew or an agent has the wrong type.
        ScriptRefused: If it is a script and scripts are not allowed.
    """
    return _BUILDERS[type(action)](action, place, root)


def import_function(action: FlowCodeActionDefinition, place: str, root: Path | None) -> Callable[..., Any]:
    """Import the function that an action names.

    Raises:
        DefinitionError: If there is none, or it is not callable.
    """
    function = import_reference(action.ref, f"{place}.ref", root)
    if not callable(function):
        raise DefinitionError(f"{place}.ref: {action.ref!r} is {function!r:.60}, which is not callable")
    return function


def bind_to_flow(function: Callable[..., Any], flow: object) -> Callable[..., Any]:
    """Bind a function to a flow; other callables, such as classes, are returned unbound."""
    return MethodType(function, flow) if isfunction(function) else function


def render_keywords(template: PlainMapping, flow: object, local: Local) -> dict[str, Any]:
    """Render the values under `with` or `inputs`, replacing `${...}` with values."""
    return Expression.from_flow({**template}, flow, local_context={**local}).render_template()


def _code_step(action: FlowCodeActionDefinition, place: str, root: Path | None) -> Step:
    function, keywords = import_function(action, place, root), action.with_ or {}

    def run(flow: object, local: Local, *_: object) -> object:
        return call(bind_to_flow(function, flow), **render_keywords(keywords, flow, local))

    return run


def _tool_step(action: FlowToolActionDefinition, place: str, root: Path | None) -> Step:
    target = import_reference(action.ref, f"{place}.ref", root)
    if not _is_tool(target):
        raise DefinitionError(
            f"{place}.ref: {action.ref!r} is {target!r:.60}; name a subclass of `BaseTool`, or a tool"
        )

    def use(flow: Any, local: Local, *_: object) -> Any:
        tool: Any = target() if isclass(target) else target
        arguments = render_keywords(action.with_ or {}, flow, local)
        result = tool.run(**arguments)
        if isinstance(result, ToolFailure):
            raise ToolFailed(f"{place}: `{tool.name}` failed: {result.as_agent_message()}")
        return result

    return use


def _is_tool(value: object) -> bool:
    return isinstance(value, BaseTool) or isclass(value) and issubclass(value, BaseTool)


def _crew(action: FlowCrewActionDefinition, place: str, root: Path | None) -> Step:
    crew, defaults = _load_crew(action, place, root)

    def kick_off(flow: object, local: Local, *_: object) -> CrewOutput:
        return _kicked_off(crew, inputs={**defaults, **render_keywords(action.inputs or {}, flow, local)})

    return kick_off


def _kicked_off(definition: Crew | Agent, *args: Any, **keywords: object) -> Any:
    copy = definition.copy()  # so that runs share nothing
    return call(override_of(copy, "kickoff_async") or copy.kickoff, *args, **keywords)


def _load_crew(action: FlowCrewActionDefinition, place: str, root: Path | None) -> tuple[Crew, dict[str, object]]:
    if action.with_ is not None:
        return load_crew_from_definition(action.with_, source=f"{place}.with", project_root=root)
    folder = (root or Path.cwd()).resolve()
    path = folder / str(action.from_declaration)
    if root is not None and not path.resolve().is_relative_to(folder):
        raise DefinitionError(
            f"{place}.from_declaration: {action.from_declaration!r} leads out of {display_path(folder)}, the folder of the "
            "definition; move the crew's file into it"
        )
    if path.is_dir():
        candidates = (path / "crew.jsonc", path / "crew.json")
        path = next(filter(Path.is_file, candidates), candidates[-1])
    return load_crew(path)


def _agent(action: FlowAgentActionDefinition, place: str, root: Path | None) -> Step:
    agent, response_format = load_agent_from_definition(action.with_, source=f"{place}.with", project_root=root)

    def ask(flow: object, local: Local, *_: object) -> LiteAgentOutput:
        prompt = Expression.from_flow(action.with_.input, flow, local_context={**local}).render_template()  # pyright: ignore[reportArgumentType]
        if type(prompt) not in (str, list):
            raise ExpressionError(
                f"{place}.with.input: {prompt!r:.80} is not text; write text around it: 'Number ${{state.n}}'"
            )
        return _kicked_off(agent, prompt, response_format=response_format)

    return ask


def _expression(action: FlowExpressionActionDefinition, place: str, root: Path | None) -> Step:
    def evaluate(flow: object, local: Local, *_: object) -> Any:
        return Expression.from_flow(action.expr, flow, local_context={**local}).evaluate()

    return evaluate


def _script(action: FlowScriptActionDefinition, place: str, root: Path | None) -> Step:
    function = compile_script(action.code, place)

    def run(flow: Any, local: Local, *args: Any) -> object:
        outputs = {**flow_outputs(flow), **local.get("outputs", {})}
        return function(flow.state, outputs, args[0] if args else None, local.get("item"))

    return run


def _each(action: FlowEachActionDefinition, place: str, root: Path | None) -> Step:
    steps = [(step, build_step(step.action, f"{place}.do[{n}].action", root)) for n, step in enumerate(action.do)]

    def run(flow: Any, local: Local, *_: object) -> list[object]:
        items = Expression.from_flow(action.in_, flow).evaluate()
        if not isinstance(items, list):
            raise ExpressionError(f"{place}.in: `{action.in_}` is {items!r:.60}, not a list")
        return [run_item(flow, item) for item in items]  # pyright: ignore[reportUnknownVariableType]

    def run_item(flow: object, item: Any) -> Any:
        outputs: dict[str, object] = {}
        last: object = None
        for step, function in steps:
            local = {"item": item, "outputs": outputs}
            if step.if_ is not None:
                condition = Expression.from_flow(step.if_, flow, local_context=local).evaluate()
                if not isinstance(condition, bool):
                    raise ExpressionError(
                        f"{place}: `if` of step `{step.name}` is {condition!r:.60}, neither true nor false"
                    )
                if not condition:
                    continue
            last = outputs[step.name] = function(flow, local)
        return last

    return run


_BUILDERS: dict[type, Callable[..., Step]] = {
    FlowCodeActionDefinition: _code_step,
    FlowToolActionDefinition: _tool_step,
    FlowCrewActionDefinition: _crew,
    FlowAgentActionDefinition: _agent,
    FlowExpressionActionDefinition: _expression,
    FlowScriptActionDefinition: _script,
    FlowEachActionDefinition: _each,
}


_SCRIPT_FLAGS = ("CREWGRAPH_ALLOW_FLOW_SCRIPTS", "CREWAI_ALLOW_FLOW_SCRIPT_EXECUTION")
_PARAMETERS = "state, outputs, input, item"


def compile_script(code: str, place: str) -> Callable[..., Any]:
    """Compile a function of `state`, `outputs`, `input` and `item`.

    Args:
        code: The function's body.
        place: Its place in the declaration, for error messages.

    Raises:
        ScriptRefused: If scripts are not allowed.
        DefinitionError: If it is not valid Python.
    """
    if not any(map(flag, _SCRIPT_FLAGS)):
        raise ScriptRefused(
            f"{place} is a script, which can do anything that Python can. If you trust the declaration, set "
            f"{_SCRIPT_FLAGS[0]}=1; otherwise use an expression, or a function with `call: code`."
        )
    try:
        module = ast.parse(f"def script({_PARAMETERS}): pass")
        function, body = module.body[0], ast.parse(code).body
        if isinstance(function, ast.FunctionDef) and body:
            function.body = body
        names: PlainDict = {"__name__": "crewgraph_flow_script"}
        exec(compile(module, f"<{place}.code>", "exec"), names)
    except SyntaxError as error:
        raise DefinitionError(f"{place}.code is not valid Python: {error}") from error
    return names["script"]
