"""Declared flows and their parts under CrewAI's names."""

import asyncio
import inspect
from importlib import import_module
from typing import Any

import pytest
from crewgraph_compat import installed
from crewgraph_compat.stand_ins.flows import actions as flow_actions
from crewgraph_compat.stand_ins.flows.state import FlowMeta, FlowTrackable, ensure_state_type
from crewgraph_compat.stand_ins.flows.structure import build_flow_structure
from crewgraph_compat.stand_ins.flows.types import FlowMethod, ListenMethod, RouterMethod, StartMethod
from pydantic import BaseModel

from crewgraph.contrib.declared.actions import (
    FlowCodeActionDefinition,
    FlowEachActionDefinition,
    FlowExpressionActionDefinition,
    FlowScriptActionDefinition,
    FlowToolActionDefinition,
)
from crewgraph.errors import ScriptRefused
from crewgraph.flow import Expression, Flow, FlowDeclaration, and_, listen, or_, router, start
from crewgraph.tools import BaseTool

ONE = {"call": "expression", "expr": "'A'"}


class Echo(BaseTool):
    name: str = "echo"
    description: str = "Says it again."

    def _run(self, text: str) -> str:
        return f"{text}!"


def called(flow: Any, *given: Any, **keywords: Any) -> Any:
    return (given, keywords)


def done() -> Any:
    flow = Flow.from_declaration(contents={"name": "X", "methods": {"a": {"start": True, "do": ONE}}})
    flow.kickoff()
    return flow


def test_the_names_lead_to_the_parts():
    with installed():
        flow, definitions, runtime, expressions, dsl = (
            import_module(f"crewai.flow{name}") for name in ("", ".flow_definition", ".runtime", ".expressions", ".dsl")
        )
        actions = import_module("crewai.flow.runtime._actions")
        assert (flow.Expression, definitions.FlowDefinition, runtime.Flow) == (Expression, FlowDeclaration, Flow)
        assert runtime.FlowScriptExecutionDisabledError is ScriptRefused
        assert issubclass(expressions.ExpressionError, ValueError)
        assert actions.build_action is flow_actions.build_action and definitions.FlowActionDefinition is not None
        assert dsl.build_flow_definition(type(done())).name == "X"


def test_actions_are_carried_out_one_by_one():
    flow, parts = done(), flow_actions
    expression = FlowExpressionActionDefinition(call="expression", expr="outputs.a")
    assert parts.ExpressionAction(flow, expression).run() == "A"
    code = FlowCodeActionDefinition.model_validate({"ref": f"{__name__}:called", "with": {"x": "${item}"}})
    assert parts.CodeAction(flow, code).run(local_context={"item": 4}) == ((), {"x": 4})
    bare = FlowCodeActionDefinition(ref=f"{__name__}:called")
    assert parts.CodeAction(flow, bare).run(1, z=2) == ((1,), {"z": 2})
    tool = FlowToolActionDefinition.model_validate({"call": "tool", "ref": f"{__name__}:Echo", "with": {"text": "x"}})
    assert parts.ToolAction(flow, tool).run() == "x!"
    steps = [{"name": "x", "action": {"call": "expression", "expr": "item"}}]
    each = FlowEachActionDefinition.model_validate({"call": "each", "in": "[1]", "do": steps})
    assert asyncio.run(parts.EachAction(flow, each).run()) == [1]
    assert parts.build_action(flow, expression)() == "A"
    assert inspect.iscoroutinefunction(parts.build_action(flow, each))
    with pytest.raises(ScriptRefused):
        parts.ScriptAction(flow, FlowScriptActionDefinition(call="script", code="return 1")).run()


def test_outputs_stand_by_the_names_of_methods():
    said = [{"method": "a", "output": 1}, {"method": "a", "output": 2}]
    assert flow_actions.outputs_by_name(said, local_outputs={"b": {1}}) == {"a": 2, "b": {1}}
    assert flow_actions.outputs_by_name(said, local_outputs={"b": {1}}, serialize=True) == {"a": 2, "b": [1]}


class Trip(Flow[dict[str, Any]]):
    @start()
    def a(self) -> str:
        return "x"

    @router(a)
    def b(self) -> str:
        return "y"

    @listen(or_("y", and_("z", "b")))
    def c(self) -> Any:
        return Tracked()


class Tracked(FlowTrackable):
    n: int = 1


def test_decorated_methods_count_as_wrappers():
    assert isinstance(Trip.a, StartMethod) and isinstance(Trip.b, RouterMethod) and isinstance(Trip.c, ListenMethod)
    assert isinstance(Trip.a, FlowMethod) and not isinstance(Trip.a, ListenMethod) and not isinstance(done, FlowMethod)
    trip = Trip()
    method: Any = vars(Trip)["a"]
    wrapped: Any = FlowMethod(method, trip)
    assert (wrapped(), wrapped.__name__, wrapped.unwrap()) == ("x", "a", method)
    unbound: Any = FlowMethod(method)
    assert unbound.__get__(trip)() == "x" and isinstance(wrapped, FlowMethod)
    trip.kickoff()
    assert trip.method_outputs[-1].parent_flow is trip


def test_a_declaration_has_a_structure_without_being_imported():
    methods = {
        "a": {"start": True, "do": {"ref": "no_such_module:a"}},
        "b": {"listen": "a", "router": True, "do": {"call": "expression", "expr": "state.n > 1 ? 'go' : 'stay'"}},
        "c": {"listen": {"and": ["go", "a"]}, "do": ONE},
    }
    structure: Any = build_flow_structure(FlowDeclaration.from_declaration(contents={"name": "X", "methods": methods}))
    assert structure["nodes"]["b"]["router_events"] == ["go", "stay"]
    assert [(edge["source"], edge["target"]) for edge in structure["edges"]] == [("a", "b"), ("b", "c"), ("a", "c")]
    assert build_flow_structure(Trip).get("start_methods") == ["a"]


def test_types_of_states_and_of_flows():
    class State(BaseModel):
        n: int = 1

    assert ensure_state_type({"a": 1}, dict) == {"a": 1} and ensure_state_type(State(), State).n == 1
    with pytest.raises(TypeError, match="a State is expected, not a dict"):
        ensure_state_type({}, State)
    assert isinstance(Trip, FlowMeta)
    assert (or_("a", "b").type, and_("a", "b").methods) == ("OR", ["a", "b"])
