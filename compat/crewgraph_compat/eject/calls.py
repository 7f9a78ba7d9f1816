"""Crews, agents and flows that functions kick off: each is written once and called by the functions that use it."""

import ast
import builtins
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CrewgraphError
from crewgraph.llm.base import BaseLLM
from crewgraph.text import placeholders, slug
from crewgraph.tools.base import BaseTool
from crewgraph_compat.eject.crew.agents import AgentCalls
from crewgraph_compat.eject.crew.graph import CrewOutputDataclass, CrewProgram, CrewWriter
from crewgraph_compat.eject.flow.calls import Called, FlowCalls
from crewgraph_compat.eject.user_code.expressions import SourceEdits, evaluate_definition, global_value
from crewgraph_compat.eject.user_code.module import UserModule
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import snake_case

_METHOD_NAMES = ("kickoff", "kickoff_async", "akickoff", "kickoff_for_each")
_DEFINITIONS = (BaseAgentDefinition, TaskDefinition, CrewDefinition, BaseLLM, BaseTool, FlowDefinition)
_TEXTS = frozenset({"description", "expected_output", "role", "goal", "backstory", "output_file"})
_GRAPH = 10
_UNKNOWN = (LookupError, TypeError, ValueError, AttributeError, CrewgraphError)
"""Errors raised for an expression whose value is known only during a run."""


class CrewCalls:
    """Finds the crews that functions kick off and replaces the calls.

    Args:
        parts: the program and the writers of its parts.
        flows: the writer of the flows that are kicked off.
    """

    def __init__(self, parts: ProgramWriters, flows: FlowCalls) -> None:
        self._parts = parts
        self._called: dict[int, Called] = {}
        self.agents, self.flows = AgentCalls(parts), flows
        parts.lifter.rewrite = self.rewritten

    def rewrite(self, function: Any, edits: SourceEdits, values: Mapping[str, Any], own: Any = None) -> None:
        """Replace the crews that a function kicks off with calls of the generated functions, and remove their construction.

        Args:
            function: the function's syntax.
            edits: collects the changes.
            values: the global names of its module.
            own: its first parameter, if it is a method.
        """
        if any(
            isinstance(node, ast.Attribute) and node.attr in (*_METHOD_NAMES, "call") for node in ast.walk(function)
        ):
            _Scope(self, self._parts, function, edits, values, own).rewrite()

    def rewritten(self, module: UserModule, text: str) -> str:
        """Return a piece of source with its functions rewritten."""
        tree = ast.parse(text)
        edits = SourceEdits(text, tree)
        for statement in tree.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.rewrite(statement, edits, module.values)
        return edits.done()

    def crew(self, crew: CrewDefinition, wanted: str, *, is_async: bool) -> str:
        """Return the name of the function that runs a crew."""
        if id(crew) not in self._called:
            names = self._parts.sheet.names
            called = snake_case(crew.name) if crew.name and crew.name != "crew" else wanted
            writer = CrewWriter(crew, self._parts, called)
            self._called[id(crew)] = Called(writer, names.new(f"kickoff_{called}"))
            writer.read()
        return self._called[id(crew)].use(is_async=is_async)

    def write(self) -> None:
        """Write the crews, agents and flows, and the functions that run them."""
        sheet = self._parts.sheet
        self.agents.write()
        for item in self._called.values():
            sheet.use("collections.abc", "Mapping")
            sheet.use("typing", "Any")
            self._write(item, item.writer.write())
        self.flows.write()

    def _write(self, called: Called, program: CrewProgram) -> None:
        sheet = self._parts.sheet
        value = ", ".join(f'{_plain(name)}=inputs["{name}"]' for name in program.inputs if name not in program.optional)
        if program.optional:
            known = ", ".join(f'"{_plain(name)}"' for name in program.optional)
            value = f"{value}, **{{name: inputs[name] for name in ({known},) if name in inputs}}".strip(", ")
        output = CrewOutputDataclass(self._parts).construction(program)
        message = f'"""Run the crew `{called.writer.crew.name}`."""'
        takes = "inputs: Mapping[str, Any]" if value else "_: Mapping[str, Any] | None = None"
        for wanted, begin, invoke in (
            (called.is_sync, f"def {called.function}", f"{program.graph}.invoke"),
            (called.is_async, f"async def a{called.function}", f"await {program.graph}.ainvoke"),
        ):
            if wanted:
                sheet.add(
                    f"{begin}({takes}) -> CrewOutput:\n    {message}\n    state = {invoke}({program.inputs_class}({value}))\n"
                    f"    return {output}",
                    _GRAPH,
                )


@dataclass
class _Scope:
    """A function being rewritten, with the values of its local names."""

    calls: CrewCalls
    parts: ProgramWriters
    function: Any
    edits: SourceEdits
    values: Mapping[str, Any]
    own: Any
    local_values: dict[str, Any] = field(default_factory=dict[str, Any])
    """Local names of agents, tasks and crews."""

    slots: dict[str, str] = field(default_factory=dict[str, str])
    """Input names by the expression they replace."""

    removed: list[ast.stmt] = field(default_factory=list[ast.stmt])

    def __post_init__(self) -> None:
        arguments = self.function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self._first = every[0].arg if every and self.own is not None else None
        self._local = {item.arg for item in every} | {
            node.id
            for node in ast.walk(self.function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._replaced: set[int] = set()

    def rewrite(self) -> None:
        """Rewrite the function."""
        for statement in ast.walk(self.function):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._evaluate_assignment(statement)
        for node in reversed(list(ast.walk(self.function))):  # inner nodes are rewritten before outer ones
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                self._call(node, node.func)
        self._remove()

    def _evaluate_assignment(self, statement: ast.Assign) -> None:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and (
            self._is_construction(statement.value) or self._is_definition_list(statement.value)
        ):
            try:
                self.local_values[target.id] = self._value(statement.value)
            except _UNKNOWN as error:
                self.parts.refusals.add(
                    self._where(statement), f"the object that it creates is only known during a run: {error}"
                )
            self.removed.append(statement)

    def _is_construction(self, value: ast.AST) -> bool:
        """Return whether an expression creates an agent, a task, a crew, a model or a tool."""
        if not isinstance(value, ast.Call):
            return False
        kind = self._known(value.func)
        if isinstance(kind, type):
            return issubclass(kind, _DEFINITIONS) or "crew" in dir(cast("Any", kind))
        return (
            isinstance(value.func, ast.Attribute)
            and value.func.attr == "crew"
            and self._is_definition(value.func.value)
        )

    def _is_definition(self, value: ast.AST) -> bool:
        return (
            self._is_construction(value)
            or self._is_project_attribute(value)
            or (isinstance(value, ast.Name) and value.id in self.local_values)
        )

    def _is_project_attribute(self, value: ast.AST) -> bool:
        """Return whether an expression is an attribute of the object whose method the function is, with a `crew`."""
        if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name):
            return False
        return value.value.id == self._first and callable(getattr(getattr(self.own, value.attr, None), "crew", None))

    def _is_definition_list(self, value: ast.AST) -> bool:
        return (
            isinstance(value, (ast.List, ast.Tuple)) and bool(value.elts) and all(map(self._is_definition, value.elts))
        )

    def _known(self, node: ast.AST) -> Any:
        """Return the value of a name, or None if it is unknown."""
        if isinstance(node, ast.Name):
            return None if node.id in self._local else self.values.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return getattr(self._known(node.value), node.attr, None)
        return None

    def _value(self, node: ast.expr) -> Any:
        return evaluate_definition(_Slotted(self).visit(copy.deepcopy(node)), self._named)

    def _named(self, name: str) -> Any:
        if name in self.local_values:
            return self.local_values[name]
        if name == self._first:
            return self.own
        if name in self._local:
            raise LookupError(f"`{name}` is only known during a run")
        return global_value(name, self.values)

    def is_known(self, node: ast.AST) -> bool:
        """Return whether the value of an expression is known before a run."""
        names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        known = {*self.values, *dir(builtins)} - self._local
        return all(name in self.local_values or name in known for name in names)

    def slot(self, node: ast.expr) -> str:
        """Return the input name for an expression whose value is known only during a run."""
        written = ast.unparse(node)
        last = next((item for item in reversed(slug(written).split("_")) if item and not item[0].isdigit()), "value")
        if isinstance(node, ast.Attribute):
            last = node.attr
        name, number = last, 1
        while self.slots.get(name, written) != written:
            number += 1
            name = f"{last}_{number}"
        self.slots[name] = written
        return name

    def _call(self, node: ast.Call, attribute: ast.Attribute) -> None:
        if attribute.attr not in (*_METHOD_NAMES, "call"):
            return
        receiver = attribute.value
        try:
            result: Any = self._receiver(receiver)
        except _UNKNOWN as error:
            if attribute.attr != "call":
                self.parts.refusals.add(
                    self._where(node),
                    f"the object that `{attribute.attr}` is called on is only known during a run: {error}",
                )
            return
        kind = str(type(result).__name__)
        if isinstance(result, BaseLLM) and attribute.attr == "call" and len(node.args) == 1 and not node.keywords:
            model = self.parts.models.name(result, self._where(node))
            self._replace(node, f"str({model}.invoke({self.edits.current(node.args[0])}).text)")
        elif isinstance(result, CrewDefinition):
            self._kickoff(node, attribute.attr, result)
        elif isinstance(result, AgentDefinition) and attribute.attr in _METHOD_NAMES[:3]:
            self._ask(node, attribute.attr, result)
        elif isinstance(result, FlowDefinition) and attribute.attr in _METHOD_NAMES[:3]:
            self._run(node, attribute.attr, cast("FlowDefinition[Any]", result))
        elif attribute.attr != "call" or isinstance(result, BaseLLM):
            self.parts.refusals.add(self._where(node), f"`{attribute.attr}` of a `{kind}` is crewgraph's")

    def _receiver(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in self._local and node.id not in self.local_values:
            raise LookupError(f"`{node.id}` is not known")
        return self._value(node)

    def _kickoff(self, node: ast.Call, method_name: str, crew: CrewDefinition) -> None:
        is_async = method_name in ("kickoff_async", "akickoff")
        try:
            called = self.calls.crew(crew, self.function.name, is_async=is_async)
        except CrewgraphError as error:
            self.parts.refusals.add(self._where(node), str(error))
            return
        value = next(
            (keyword.value for keyword in node.keywords if keyword.arg == "inputs"), node.args[0] if node.args else None
        )
        own = {name: text for name, text in self.slots.items() if name in crew.fetch_inputs() | _of_files(crew)}
        if method_name == "kickoff_for_each":
            if value is None or own:
                self.parts.refusals.add(
                    self._where(node), "`kickoff_for_each` of a crew that depends on values of the run"
                )
                return
            self._replace(node, f"[{called}(inputs) for inputs in {self.edits.current(value)}]")
            return
        built = ", ".join(f'"{name}": {text}' for name, text in own.items())
        inputs = "" if value is None else self.edits.current(value)
        if built:
            inputs = f"{{**{inputs}, {built}}}" if inputs else f"{{{built}}}"
        self._replace(node, f"{called}({inputs})")

    def _ask(self, node: ast.Call, method_name: str, agent: AgentDefinition) -> None:
        words = {keyword.arg: keyword.value for keyword in node.keywords}
        question = words.get("messages", node.args[0] if node.args else None)
        form = words.get("response_format", node.args[1] if len(node.args) > 1 else None)
        if (
            question is None
            or isinstance(question, (ast.List, ast.ListComp))
            or set(words)
            - {
                "messages",
                "response_format",
            }
        ):
            self.parts.refusals.add(
                self._where(node),
                f"an agent's `{method_name}` can only be called with a string and `response_format` here",
            )
            return
        function, slots = self.calls.agents.function(agent, None if form is None else self._value(form))
        values = [self.edits.current(question), *(f"{name}={self.slots[name]}" for name in slots if name in self.slots)]
        if method_name == "kickoff":
            self._replace(node, f"{function}({', '.join(values)})")
        else:
            self.parts.sheet.module("asyncio")
            self._replace(node, f"asyncio.to_thread({', '.join([function, *values])})")

    def _run(self, node: ast.Call, method_name: str, flow: "FlowDefinition[Any]") -> None:
        value = next(
            (keyword.value for keyword in node.keywords if keyword.arg == "inputs"), node.args[0] if node.args else None
        )
        called = self.calls.flows.function(flow, is_async=method_name != "kickoff")
        self._replace(node, f"{called}({'' if value is None else self.edits.current(value)})")

    def _replace(self, node: ast.Call, text: str) -> None:
        first = f"{self._first}.state"
        self.edits.replace(node, text.replace(first, "state") if self._first else text)
        self._replaced |= {id(item) for item in ast.walk(node)}

    def _remove(self) -> None:
        """Remove the construction of the crews, unless parts of it are used elsewhere."""
        gone = {id(inner) for entry in self.removed for inner in ast.walk(entry)}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and node.id in self.local_values and id(node) not in gone | self._replaced:
                self.parts.refusals.add(self._where(node), f"`{node.id}` is used for more than kicking off a crew")
        for item in self.removed:
            self.edits.remove_lines(item)

    def _where(self, node: Any) -> str:
        return f"`{self.function.name}`, its line {node.lineno - self.function.lineno + 1}"


class _Slotted(ast.NodeTransformer):
    """Replaces values in texts that are known only during a run with placeholders."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        if self._scope.is_known(node):
            return node
        parts: list[str] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                parts.append(f"{{{self._scope.slot(value.value)}}}")
            elif isinstance(value, ast.Constant):
                parts.append(str(value.value))
        return ast.Constant("".join(parts))

    def visit_keyword(self, node: ast.keyword) -> Any:
        if node.arg in _TEXTS and not isinstance(node.value, ast.JoinedStr) and not self._scope.is_known(node.value):
            return ast.keyword(node.arg, ast.Constant(f"{{{self._scope.slot(node.value)}}}"))
        return self.generic_visit(node)


def _of_files(crew: CrewDefinition) -> set[str]:
    return {name for task in crew.tasks for name in placeholders(task.template("output_file") or "")}


def _plain(name: str) -> str:
    return name.replace("-", "_")
