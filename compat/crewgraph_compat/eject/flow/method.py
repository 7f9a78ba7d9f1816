"""A method of a flow as a function of the state: the user's code, with its return value as a state update."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.base import BaseLLM
from crewgraph_compat.eject.calls import CrewCalls
from crewgraph_compat.eject.flow.state_access import SHOWING, StateAccess, changed_attributes, state_access
from crewgraph_compat.eject.user_code.expressions import SourceEdits
from crewgraph_compat.eject.user_code.module import UserModule
from crewgraph_compat.eject.writing.parts import ProgramWriters

_SHOWING = frozenset(
    {
        *(
            "all",
            "any",
            "bool",
            "deepcopy",
            "dict",
            "dumps",
            "enumerate",
            "len",
            "list",
            "max",
            "min",
            "pprint",
            "print",
        ),
        *("repr", "set", "sorted", "str", "sum", "tuple", "type", "vars"),
        *("critical", "debug", "error", "exception", "info", "log", "warning"),
    }
)
"""Functions, and functions of modules and loggers, that only read their arguments."""


@dataclass
class MethodWriter:
    """Write one method.

    Args:
        name: the name of the method.
        function: the function.
        flow: the flow that owns the method.
        parts: the program and the writers of its parts.
    """

    name: str
    function: Any
    flow: "FlowDefinition[Any]"
    parts: ProgramWriters
    calls: CrewCalls
    helpers: "dict[str, MethodWriter]"
    """The methods that other methods call."""

    called: str
    """The name of the generated function."""

    method: FlowMethod | None = None
    """The method's definition from its decorators; None for a helper called by other methods."""

    module: UserModule = field(init=False)
    text: str = field(init=False)
    tree: Any = field(init=False)
    touched: StateAccess = field(init=False)
    _refused: set[str] = field(init=False, default_factory=set[str])
    """Attributes of the flow object that were refused."""

    def __post_init__(self) -> None:
        source = textwrap.dedent(inspect.getsource(self.function))
        function: Any = ast.parse(source).body[0]
        source = "\n".join(source.splitlines()[function.lineno - 1 :]) + "\n"
        function = ast.parse(source).body[0]
        if function.body[0].lineno == function.lineno:
            source = ast.unparse(function) + "\n"
            function = ast.parse(source).body[0]
        self.text, self.tree = source, function
        module = UserModule.of(self.function)
        assert module is not None  # its source was available
        self.module = module
        self.own = function.args.args[0].arg if function.args.args else "self"
        self.touched = state_access(function, self.own)

    @property
    def where(self) -> str:
        """The name of the method in messages."""
        return f"method `{self.name}` of flow `{type(self.flow).__name__}`"

    @cached_property
    def edits(self) -> SourceEdits:
        """The edits to the source that replace uses of the flow object."""
        return self._edits()

    @cached_property
    def _above(self) -> dict[int, ast.AST]:
        """The parents of the nodes."""
        return {id(child): item for item in ast.walk(self.tree) for child in ast.iter_child_nodes(item)}

    def is_shown(self, node: ast.AST) -> bool:
        """Return whether a whole-state use only reads it: it is printed, formatted, compared, dumped or returned."""
        around = self._above.get(id(node))
        if isinstance(around, ast.Call):
            called = around.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            return name in _SHOWING and called is not node
        if isinstance(around, ast.Attribute):
            return around.attr in SHOWING
        if isinstance(around, (ast.keyword, ast.Dict)):
            return not isinstance(around, ast.keyword) or around.arg is None
        if isinstance(around, (ast.For, ast.comprehension)):
            return around.iter is node
        return isinstance(around, (ast.FormattedValue, ast.Compare, ast.Return))

    def is_accessed(self, node: ast.AST) -> bool:
        """Return whether a whole-state use is a part of an access to fields: `self.state[name]`, `self.state.update(...)`."""
        around = self._above.get(id(node))
        if isinstance(around, ast.Attribute):
            return around.attr not in SHOWING
        return isinstance(around, ast.Subscript) and around.value is node and isinstance(around.ctx, ast.Load)

    def writes_unknown(self, node: ast.AST) -> bool:
        """Return whether a whole-state use writes a key that is only known during a run: `self.state[name] = 1`."""
        around = self._above.get(id(node))
        return isinstance(around, ast.Subscript) and around.value is node and not isinstance(around.ctx, ast.Load)

    @property
    def changes_all(self) -> bool:
        """Whether other code may change any field of the state, as it is passed on as a whole."""
        return any(not self.is_shown(node) and not self.is_accessed(node) for node in self.touched.whole)

    @property
    def needs_whole(self) -> bool:
        """Whether the state is shown or passed on as a whole."""
        return any(not self.is_accessed(node) for node in self.touched.whole)

    @property
    def is_async(self) -> bool:
        """Whether the method is a coroutine function."""
        return isinstance(self.tree, ast.AsyncFunctionDef)

    @property
    def parameters(self) -> list[ast.arg]:
        """The parameters besides `self` that have no default."""
        every = [*self.tree.args.posonlyargs, *self.tree.args.args][1:]
        return every[: len(every) - len(self.tree.args.defaults)] if self.tree.args.defaults else every

    @property
    def all_parameters(self) -> list[ast.arg]:
        """The parameters besides `self`."""
        return [*self.tree.args.posonlyargs, *self.tree.args.args][1:]

    @property
    def returns(self) -> list[ast.Return]:
        """The return statements in the method's own body."""
        return list(_returns(self.tree.body))

    @property
    def returns_value(self) -> bool:
        """Whether the method returns a value."""
        return any(item.value is not None and not _is_none(item.value) for item in self.returns)

    @property
    def annotation(self) -> str:
        """The return type if it is a plain one, else `Any`."""
        note = self.tree.returns
        plain = isinstance(note, ast.Name) and note.id in ("str", "int", "float", "bool", "list", "dict")
        return ast.unparse(note) if plain else "Any"

    def node(
        self,
        state: str,
        parameter_lines: Sequence[str],
        update: Sequence[tuple[str, str]],
        result_keys: Sequence[str],
        ways: Mapping[str, Sequence[str]] | None = None,
    ) -> str:
        """Return the function of the method's node.

        Args:
            state: the annotation of the state.
            parameter_lines: lines before the method's own.
            update: the state keys it writes, with expressions for their values.
            result_keys: the keys that receive its return value.
            ways: next nodes by label, if it selects them itself.
        """
        edits = self.edits
        for item in self.returns:
            if ways is None:
                edits.replace_statement(item, self._return_statement(item, edits, update, result_keys))
            else:
                edits.replace_statement(item, self._command(item, edits, update, result_keys, ways))
        body = self._body(edits)
        if not always_returns(self.tree.body):
            body += f"    return {_update(update, result_keys, 'None')}\n"
        returned = "dict[str, Any]"
        if ways is not None:
            targets = dict.fromkeys(
                target for label in router_labels(self.tree) or () for target in ways.get(label) or ["__end__"]
            )
            self.parts.sheet.use("typing", "Literal")
            returned = f"Command[Literal[{', '.join(map(_quoted, targets))}]]"
        else:
            self.parts.sheet.use("typing", "Any")
        return self._function(self.called, f"state: {state}", returned, parameter_lines, body)

    def edge(self, state: str, parameter_lines: Sequence[str], returned: str) -> str:
        """Return the function of a conditional edge, whose return value selects the next node."""
        note = self.tree.returns
        text = ast.unparse(note) if note is not None and "Literal" in ast.unparse(note) else returned
        if text != returned:
            self.parts.lifter.needs(self.module, text, self.where)
        return self._function(self.called, f"state: {state}", text, parameter_lines, self._body(self.edits))

    def helper(self, state: str) -> str:
        """Return the function of a helper method."""
        arguments = self.tree.args
        arguments.args[0] = ast.arg("state", ast.Name(state))
        returned = "" if self.tree.returns is None else ast.unparse(self.tree.returns)
        return self._function(self.called, ast.unparse(arguments), returned, (), self._body(self.edits))

    def _function(self, name: str, takes: str, returned: str, parameter_lines: Sequence[str], body: str) -> str:
        kind = "async def" if self.is_async else "def"
        doc = ""
        if ast.get_docstring(self.tree) is not None:
            lines = body.splitlines(keepends=True)
            statement = self.tree.body[0]
            count = statement.end_lineno - statement.lineno + 1
            doc, body = "".join(lines[:count]), "".join(lines[count:])
        elif self.method is not None:
            role = "Start method" if self.method.is_start else "Router" if self.method.is_router else "Listener"
            doc = f'    """{role}: `{self.name}`."""\n'
        lines = "".join(f"    {line}\n" for line in parameter_lines)
        arrow = f" -> {returned}" if returned else ""
        return f"{kind} {name}({takes}){arrow}:\n{doc}{lines}{body}"

    def _edits(self) -> SourceEdits:
        """Return the edits that replace uses of the flow object."""
        edits = SourceEdits(self.text, self.tree)
        called = self._call_helpers(edits) | self._ask_people(edits)
        of_flow = {id(node) for node in _read_names(self.tree.body, self.own)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and id(node.value) in of_flow:
                text = self._own(node, called)
                if text is not None:
                    edits.replace(node, text)
        self.calls.rewrite(self.tree, edits, self.module.values, self.flow)
        self._refuse_object(edits)
        return edits

    def _refuse_object(self, edits: SourceEdits) -> None:
        """Refuse uses of the flow object that are left after all replacements."""
        function: Any = ast.parse(edits.done()).body[0]
        above = {id(child): node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        for node in _read_names(function.body, self.own):
            around = above.get(id(node))
            if isinstance(around, ast.Attribute) and around.attr in self._refused:
                continue
            used = ast.unparse(around if isinstance(around, ast.Attribute) else node)
            why = f"it uses `{used}` as an object, which has no equivalent in a graph; put it at the top of the module"
            self.parts.refusals.add(self.where, why)

    def _own(self, node: ast.Attribute, called: set[int]) -> str | None:
        """Return the replacement of `self.x`, or None within an expression that is replaced as a whole."""
        if node.attr == "state":
            return f"{self.parts.own_state(self.flow)}(state)" if self._is_whole(node) else "state"
        if id(node) in called:
            return None
        value = getattr(self.flow, node.attr, None)
        if isinstance(node.ctx, ast.Load) and self._is_constant(node.attr, value):
            return ast.unparse(ast.parse(repr(value), mode="eval"))
        if not isinstance(
            value, (BaseAgentDefinition, BaseLLM, CrewDefinition, FlowDefinition, TaskDefinition)
        ) and not callable(getattr(value, "crew", None)):
            why = f"it uses `{self.own}.{node.attr}` in its line {node.lineno}, which has no equivalent in a graph"
            self.parts.refusals.add(self.where, f"{why}; put it into the state, or at the top of the module")
            self._refused.add(node.attr)
        return None

    def _is_constant(self, name: str, value: object) -> bool:
        """Return whether an attribute of the flow holds plain data that no method changes."""
        if isinstance(value, (str, int, float, bool)):
            return True
        is_set = name in vars(self.flow) or name in vars(type(self.flow))
        return is_set and _is_data(value) and name not in changed_attributes(type(self.flow))

    def _is_whole(self, node: ast.AST) -> bool:
        return any(item is node for item in self.touched.whole) and self.is_shown(node)

    def _ask_people(self, edits: SourceEdits) -> set[int]:
        """Replace `self.ask(question)` with an interrupt, and return the replaced nodes."""
        if self.flow.input_provider is not None:
            return set()
        calls = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) == f"{self.own}.ask"
            and len(node.args) == 1
            and all(word.arg == "metadata" for word in node.keywords)
        ]
        for node in calls:
            self.parts.sheet.use("langgraph.types", "interrupt")
            self.parts.asks_people = self.parts.keeps_runs = True
            question = edits.current(node.args[0]).replace(f"{self.own}.state", "state")
            edits.replace(node, f"str(interrupt({question}))")
            why = "its code before the question runs again after the answer, as in all nodes with an `interrupt`"
            self.parts.refusals.note(self.where, why)
        return {id(node.func) for node in calls}

    def _call_helpers(self, edits: SourceEdits) -> set[int]:
        """Replace calls of other methods with calls of their generated functions, and return the replaced nodes."""
        calls = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == self.own
            and node.func.attr in self.helpers
        ]
        for node in sorted(calls, key=lambda item: len(ast.unparse(item))):
            assert isinstance(node.func, ast.Attribute)
            called = self.helpers[node.func.attr].called
            values = [*node.args, *(word.value for word in node.keywords)]
            words = [edits.part_within(node, values[0], values[-1])] if values else []
            edits.replace(node, f"{called}({', '.join(['state', *words])})".replace(f"{self.own}.state", "state"))
        return {id(node.func) for node in calls}

    def _body(self, edits: SourceEdits) -> str:
        text = edits.done_from(self.tree.body[0])
        indent = self.tree.body[0].col_offset
        return textwrap.indent(textwrap.dedent(" " * indent + text.lstrip(" ")), "    ").rstrip() + "\n"

    def _return_statement(
        self, item: ast.Return, edits: SourceEdits, update: Sequence[tuple[str, str]], result_keys: Sequence[str]
    ) -> str:
        if item.value is None or _is_none(item.value):
            return f"return {_update(update, result_keys, 'None')}"
        value = edits.inner(item.value)
        if not result_keys:
            done: ast.AST = item.value
            while isinstance(done, (ast.Attribute, ast.Subscript)):
                done = done.value
            acts = any(isinstance(inner, (ast.Call, ast.Await)) for inner in ast.walk(done))
            remaining = f"{edits.inner(done)}\n{' ' * item.col_offset}" if acts else ""
            return f"{remaining}return {_update(update, result_keys, 'None')}"
        if len(result_keys) > 1:
            return f"result = {value}\n{' ' * item.col_offset}return {_update(update, result_keys, 'result')}"
        return f"return {_update(update, result_keys, value)}"

    def _command(
        self,
        item: ast.Return,
        edits: SourceEdits,
        update: Sequence[tuple[str, str]],
        result_keys: Sequence[str],
        ways: Mapping[str, Sequence[str]],
    ) -> str:
        """Return the replacement of a `return` that selects the next node."""
        self.parts.sheet.use("langgraph.types", "Command")
        returned = item.value.value if isinstance(item.value, ast.Constant) else None
        excluded = {f"{node}_input" for nodes in ways.values() for node in nodes}
        excluded -= {f"{node}_input" for node in ways.get(str(returned), ())}
        passed_keys = [key for key in result_keys if key not in excluded]
        for label in _labels(item.value):
            targets = ways.get(label.value, ())
            edits.replace(label, _listed(targets) if len(targets) > 1 else _quoted(targets[0]) if targets else "END")
        assert item.value is not None  # it is one of the labels
        words = [f"update={_update(update, passed_keys, repr(returned))}"] if update or passed_keys else []
        return f"return Command({', '.join([*words, f'goto={edits.inner(item.value)}'])})"


def router_labels(function: Any) -> list[str] | None:
    """Return a router's labels if each `return` names its own and nothing else can end it; None otherwise."""
    values = [item.value for item in _returns(function.body)]
    labels = [_labels(item) for item in values]
    if not values or not all(labels) or not always_returns(function.body):
        return None
    return list(dict.fromkeys(item.value for ones in labels for item in ones))


def _labels(value: ast.AST | None) -> list[Any]:
    """Return the texts that an expression may evaluate to, or nothing if it may be anything else."""
    if isinstance(value, ast.IfExp):
        results = [_labels(value.body), _labels(value.orelse)]
        return [item for ones in results for item in ones] if all(results) else []
    return [value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


def _read_names(body: Sequence[ast.AST], name: str) -> Iterator[ast.Name]:
    """Yield the uses of a name, except in functions with a parameter of that name."""
    for node in body:
        arguments = getattr(node, "args", None)
        if isinstance(arguments, ast.arguments) and name in [item.arg for item in arguments.args]:
            continue
        if isinstance(node, ast.Name) and node.id == name:
            yield node
        yield from _read_names(list(ast.iter_child_nodes(node)), name)


def _is_data(value: object) -> bool:
    """Return whether a value is plain data that its `repr` recreates: None, or a list, tuple or dict of plain data."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_data, cast("Sequence[object]", value)))
    if isinstance(value, dict):
        return all(_is_data(item) for pair in cast("dict[object, object]", value).items() for item in pair)
    return value is None or isinstance(value, (str, int, float, bool))


def _quoted(name: str) -> str:
    return f'"{name}"'


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _update(update: Sequence[tuple[str, str]], result_keys: Sequence[str], value: str) -> str:
    entries = [f'"{key}": {value}' for key in result_keys] + [f'"{key}": {read}' for key, read in update]
    return f"{{{', '.join(entries)}}}"


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _returns(body: Sequence[ast.stmt]) -> Sequence[ast.Return]:
    results: list[ast.Return] = []
    for statement in body:
        if isinstance(statement, ast.Return):
            results.append(statement)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ("body", "orelse", "finalbody"):
                results += _returns(getattr(statement, name, []))
            for handler in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
                results += _returns(handler.body)
    return results


def always_returns(body: Sequence[ast.stmt]) -> bool:
    """Return whether each path through a body returns or raises."""
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and always_returns(last.body) and always_returns(last.orelse)
    if isinstance(last, ast.Try):
        return always_returns(last.orelse or last.body) and all(
            always_returns(handler.body) for handler in last.handlers
        )
    return isinstance(last, (ast.With, ast.AsyncWith)) and always_returns(last.body)
