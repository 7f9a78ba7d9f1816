"""The edges of a flow: what methods pass on, which connections are edges, and the lines that add them."""

import ast
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

from crewgraph.annotations import return_type
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import AndCondition, OrCondition, events_of, returned_labels
from crewgraph.text import slug
from crewgraph_compat.eject.flow.method import MethodWriter, always_returns, router_labels
from crewgraph_compat.eject.flow.state import FlowStateWriter
from crewgraph_compat.eject.flow.triggers import TriggerGraph, always_in_same_step, may_run_concurrently
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.writing.parts import ProgramWriters

_GRAPH, _NODE = 14, 13

_NEXT_NODES = '''
def {name}(label: Any, ways: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes that listen to what a router returned: a label, an Enum member, several labels, or None."""
    labels: list[Any] = list(label) if isinstance(label, (list, tuple)) else [label]  # pyright: ignore[reportUnknownArgumentType]
    nodes = [node for entry in labels for node in ways.get(str(getattr(entry, "value", entry)), ())]
    return nodes or [END]
'''


class FlowEdges:
    """The connections between the methods of a flow.

    Args:
        definition: the flow.
        events: the trigger graph.
        methods: the writers of the methods.
        refusals: collects the parts that have no translation.
    """

    def __init__(
        self, definition: FlowTopology, events: TriggerGraph, methods: Mapping[str, MethodWriter], refusals: Refusals
    ) -> None:
        self._definition, self._events, self._methods, self._refusals = definition, events, methods, refusals
        self._result_keys: dict[str, list[str]] = {name: [] for name in methods}
        self._parameter_sources: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._has_result = False
        self._unused: set[str] = set()
        for name in methods:
            self._find_source(name)
        self._drop_unused()
        last = [name for name in methods if self._may_be_last(name)]
        if any(methods[name].returns_value for name in last):
            self._has_result = True
            self._keys["result"] = "Any"
            for name in last:
                self._result_keys[name].append("result")
        self._last = last
        for name in events.routes:
            if not self.is_edge(name) and not self.is_command(name):
                self._keys[f"{name}_label"] = "str" if self._says_texts(name) else "Any"
                self._result_keys[name].append(f"{name}_label")

    def keys(self) -> dict[str, str]:
        """Return the state keys of passed values, with their types."""
        return {
            name: "Annotated[Any, keep_latest]" if name in self._several else kind for name, kind in self._keys.items()
        }

    @cached_property
    def _several(self) -> set[str]:
        """Return the keys that several methods may write concurrently."""
        results: set[str] = set()
        for key in self._keys:
            writers = [name for name in self._methods if key in self._result_keys[name]]
            if any(
                may_run_concurrently(self._events, first, other)
                for first in writers
                for other in writers
                if first != other
            ):
                results.add(key)
        return results

    def result_keys(self, name: str) -> list[str]:
        """Return the keys to which a method's return value is written."""
        return list(dict.fromkeys(self._result_keys[name]))

    def parameter_lines(self, name: str, state: FlowStateWriter) -> list[str]:
        """Return the lines that assign a method's parameters."""
        writer = self._methods[name]
        lines: list[str] = []
        for n, item in enumerate(writer.all_parameters):
            if n == 0 and name in self._unused:
                continue
            if n == 0 and name in self._parameter_sources:
                read = self._parameter_sources[name]
                lines.append(f"{item.arg} = {read if read.startswith(chr(34)) else state.get(read)}")
            elif item.arg in state.fields:
                lines.append(f"{item.arg} = {state.get(item.arg)}")
            elif item not in writer.parameters:
                default = writer.tree.args.defaults[n - len(writer.parameters)]
                lines.append(f"{item.arg} = {_unparsed(default)}")
            else:
                self._refusals.add(writer.where, f"no value is known for its parameter `{item.arg}`")
        return [*lines, *self._rest(writer, state)]

    def _refuse_rest(self, writer: MethodWriter, used: set[str]) -> None:
        """Refuse `*` parameters that receive passed values, and `**` parameters that receive run inputs."""
        arguments, method = writer.tree.args, writer.method
        begins = method is not None and method.is_start and method.trigger is None and method.condition is None
        if arguments.vararg is not None and arguments.vararg.arg in used and not writer.all_parameters and not begins:
            why = f"its `*{arguments.vararg.arg}` receives the previous result; add a named parameter for it"
            self._refusals.add(writer.where, why)
        if arguments.kwarg is not None and arguments.kwarg.arg in used and method is not None and method.is_start:
            why = f"its `**{arguments.kwarg.arg}` receives the inputs of a run; name the ones that it uses"
            self._refusals.add(writer.where, why)

    def _rest(self, writer: MethodWriter, state: FlowStateWriter) -> list[str]:
        """Return the lines for a method's remaining parameters: defaults, and empty values for `*` and `**`."""
        arguments, lines = writer.tree.args, list[str]()
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if item.arg in state.fields:
                lines.append(f"{item.arg} = {state.get(item.arg)}")
            elif default is not None:
                lines.append(f"{item.arg} = {_unparsed(default)}")
            else:
                self._refusals.add(writer.where, f"no value is known for its parameter `{item.arg}`")
        used = {node.id for node in ast.walk(writer.tree) if isinstance(node, ast.Name)}
        self._refuse_rest(writer, used)
        for item, empty in ((arguments.vararg, "tuple[Any, ...] = ()"), (arguments.kwarg, "dict[str, Any] = {}")):
            if item is not None and item.arg in used:
                writer.parts.sheet.use("typing", "Any")
                lines.append(f"{item.arg}: {empty}")
        return lines

    def is_edge(self, name: str) -> bool:
        """Return whether a method only selects the next node, so that it becomes a conditional edge instead of a node."""
        if name not in self._methods:
            return False
        method, writer, events = self._definition.methods[name], self._methods[name], self._events
        routes = events.routes.get(name, {})
        labels = returned_labels(method.func)
        return bool(
            method.is_router
            and not method.is_start
            and isinstance(method.trigger, str)
            and method.trigger in self._definition.methods
            and not writer.touched.writes
            and not writer.touched.helpers
            and name not in events.edges
            and not any(name in sources for sources, _ in events.joins)
            and labels
            and not events.unheard(name)
            and not _is_enum(method.func)
            and all(len(targets) == 1 and targets[0] in self._definition.methods for targets in routes.values())
            and not any(f"{target}_input" in self._result_keys[name] for ones in routes.values() for target in ones)
        )

    def is_command(self, name: str) -> bool:
        """Return whether a method is a node that continues with a `Command`, with the labels in its code."""
        if not self._events.routes.get(name) or router_labels(self._methods[name].tree) is None:
            return False
        return not self._result_keys[name] or all(
            isinstance(item.value, ast.Constant) for item in self._methods[name].returns
        )

    def ways(self, name: str) -> Mapping[str, Sequence[str]] | None:
        """Map each label of a `Command` method to the nodes it continues with."""
        return self._events.routes[name] if not self.is_edge(name) and self.is_command(name) else None

    def _may_be_last(self, name: str) -> bool:
        events = self._events
        if events.is_sure(name) or self.is_edge(name):
            return False
        return name not in events.routes or events.unheard(name)

    def _find_source(self, name: str) -> None:
        """Determine the source of a method's first parameter."""
        method, writer = self._definition.methods[name], self._methods[name]
        if not writer.all_parameters or (method.is_start and method.trigger is None):
            if method.condition is not None and writer.all_parameters:
                self._refusals.add(writer.where, "it has a parameter, and may be started again")
            return
        trigger = method.trigger
        events = events_of(trigger)
        if isinstance(trigger, AndCondition):
            self._pass(name, events[-1], f"{events[-1]}_result")
        elif isinstance(trigger, OrCondition) and len(events) > 1:
            for event in self._events_of_first_step(events):
                self._pass(name, event, f"{name}_input")
        elif events:
            self._pass(name, events[0], f"{events[0]}_result")

    def _drop_unused(self) -> None:
        """Drop passed values that the remaining code of a method does not use."""
        while unused := [name for name in self._parameter_sources if not self._reads(name)]:
            self._unused.update(unused)
            for name in unused:
                del self._parameter_sources[name]
            for key in [key for key in self._keys if key not in self._parameter_sources.values()]:
                del self._keys[key]
                for value in self._result_keys.values():
                    value[:] = [item for item in value if item != key]

    def _reads(self, name: str) -> bool:
        """Return whether the remaining code of a method uses its first parameter."""
        writer = self._methods[name]
        called = writer.all_parameters[0].arg
        unused = set[int]()
        if not self._result_keys[name] and name not in self._events.routes and not self._may_be_last(name):
            unused = {id(node) for each in writer.returns if not _acts(each) for node in ast.walk(each)}
        return any(
            isinstance(node, ast.Name) and node.id == called and id(node) not in unused
            for node in ast.walk(writer.tree)
        )

    def _events_of_first_step(self, events: Sequence[str]) -> list[str]:
        """Drop events that occur in the same step as one whose method was defined earlier."""
        names = [method for method in self._definition.methods if method in events]
        late = {
            other
            for n, first in enumerate(names)
            for other in names[n + 1 :]
            if always_in_same_step(self._definition, first, other)
        }
        return [event for event in events if event not in late]

    def _pass(self, name: str, event: str, key: str) -> None:
        if event in self._definition.methods:
            self._result_keys[event].append(key)
            self._keys[key] = self._methods[event].annotation if key == f"{event}_result" else "Any"
            self._parameter_sources[name] = key
            return
        if self._definition.methods[name].is_router and self._is_routed(event):
            self._pass_through(name, event)
            return
        if key.endswith("_input"):
            for emitter in self._events.emitters(event):
                self._result_keys[emitter].append(key)
            self._keys[key] = "Any"
            self._parameter_sources[name] = key
            return
        self._parameter_sources[name] = f'"{event}"'

    def _is_routed(self, label: str) -> bool:
        return any(self._definition.methods[emitter].is_router for emitter in self._events.emitters(label))

    def _pass_through(self, name: str, label: str) -> None:
        """Pass a router that a label triggers what the first of the routers before it receives."""
        method = self._definition.methods[name]
        passed: set[str] = set()
        while isinstance(method.trigger, str) and method.trigger not in passed:
            if method.trigger in self._definition.methods:
                self._pass(name, method.trigger, f"{method.trigger}_result")
                return
            passed.add(method.trigger)
            emitters = self._events.emitters(method.trigger)
            if len(emitters) != 1:
                break
            method = self._definition.methods[emitters[0]]
        if self._reads(name):
            why = f"it receives what the router that returns `{label}` received; read that from the state"
            self._refusals.add(self._methods[name].where, why)

    def write(self, parts: ProgramWriters, state: FlowStateWriter, prefix: str, called: Mapping[str, str]) -> str:
        """Write the graph and return its name."""
        sheet, events = parts.sheet, self._events
        sheet.use("langgraph.graph", "END", "START", "StateGraph")
        before = f"{prefix}_" if prefix else ""
        builder, graph = sheet.names.new(f"{before}builder"), sheet.names.new(f"{before}graph")
        lines = [f"{builder} = StateGraph({state.graph_class})"]
        nodes = [name for name in self._methods if not self.is_edge(name)]
        lines += [f'{builder}.add_node("{name}", {called[name]})' for name in nodes]
        if events.waits:
            self._write_wait(parts, state)
            lines += [f'{builder}.add_node("{node}", mark_event)' for node in events.waits.values()]
        begin = "START"
        if state.needs_id:
            identify = sheet.names.new("identify")
            begin = f'"{identify}"'
            sheet.add(state.id_node(identify), _NODE)
            lines += [f"{builder}.add_node({begin}, {identify})", f"{builder}.add_edge(START, {begin})"]
        lines += [f'{builder}.add_edge({begin}, "{name}")' for name in events.starts]
        for name in nodes:
            for target in events.edges.get(name, ()):
                lines.append(
                    f'{builder}.add_edge("{name}", "{target}")'
                    if not self.is_edge(target)
                    else self._edge(builder, name, target, called)
                )
            if name in events.routes and self.ways(name) is None:
                lines.append(self._conditional_edge(parts, builder, name, state))
            elif name not in events.routes and not events.is_sure(name):
                lines.append(f'{builder}.add_edge("{name}", END)')
        for sources, target in events.joins:
            listed = ", ".join(f'"{source}"' for source in sources)
            lines.append(f'{builder}.add_edge([{listed}], "{target}")')
        if self._several and not sheet.names.is_taken("keep_latest"):
            sheet.names.take("keep_latest")
            message = '"""Reducer that keeps the latest result of parallel methods."""'
            sheet.add(f"def keep_latest(_: Any, latest: Any) -> Any:\n    {message}\n    return latest", 10)
        if self._several:
            sheet.use("typing", "Annotated")
        compiled = f"{builder}.compile()" if prefix else parts.compiled(builder)
        lines.append(f"{graph} = {compiled}")
        sheet.add("\n".join(lines), _GRAPH)
        return graph

    @property
    def result(self) -> bool:
        """Return whether a run has a result."""
        return self._has_result

    def _edge(self, builder: str, name: str, target: str, called: Mapping[str, str]) -> str:
        ways = ", ".join(f'"{label}": "{ones[0]}"' for label, ones in self._events.routes[target].items())
        return f'{builder}.add_conditional_edges("{name}", {called[target]}, {{{ways}}})'

    def _conditional_edge(self, parts: ProgramWriters, builder: str, name: str, state: FlowStateWriter) -> str:
        sheet, routes = parts.sheet, self._events.routes[name]
        function = sheet.names.new(f"route_after_{slug(name)}")
        ways = ", ".join(f'"{label}": {_listed(ones)}' for label, ones in routes.items())
        message = f'"""Return the nodes that listen to the label that `{name}` returned."""'
        read = f"{state.get(f'{name}_label')}"
        texts = self._says_texts(name)
        chosen = f"{{{ways}}}.get({read}, [END])" if texts else f"{self._helper(parts)}({read}, {{{ways}}})"
        sheet.add(
            f"def {function}(state: {state.graph_class}) -> list[str]:\n    {message}\n    return {chosen}", _NODE
        )
        targets = _listed([*dict.fromkeys(item for ones in routes.values() for item in ones)])
        return f'{builder}.add_conditional_edges("{name}", {function}, [{targets[1:-1]}, END])'

    def _says_texts(self, name: str) -> bool:
        """Return whether a method always returns a single text, never a list, an Enum or None."""
        writer = self._methods[name]
        note = "" if writer.tree.returns is None else ast.unparse(writer.tree.returns)
        values = [item.value for item in writer.returns]
        return "Literal" in note or note == "str" or (all(map(_is_text, values)) and always_returns(writer.tree.body))

    def _helper(self, parts: ProgramWriters) -> str:
        """Return the function that normalizes all values a router may return."""
        helper = parts.sheet.helper("next_nodes")
        if helper is None:
            parts.sheet.use("collections.abc", "Mapping", "Sequence")
            parts.sheet.use("typing", "Any")
            helper = parts.sheet.names.new("next_nodes")
            parts.sheet.name_helper("next_nodes", helper)
            parts.sheet.add(_NEXT_NODES.format(name=helper), _NODE)
        return helper

    def _write_wait(self, parts: ProgramWriters, state: FlowStateWriter) -> None:
        parts.sheet.names.take("mark_event")
        parts.sheet.use("typing", "Any")
        message = '"""Mark that an event of a joint condition has occurred."""'
        parts.sheet.add(
            f"def mark_event(state: {state.graph_class}) -> dict[str, Any]:\n    {message}\n    return {{}}", _NODE
        )


def _listed(names: list[str]) -> str:
    return f"[{', '.join(chr(34) + name + chr(34) for name in names)}]"


def _is_enum(function: Any) -> bool:
    returned = return_type(function)
    return isinstance(returned, type) and issubclass(returned, Enum)


def _acts(returned: ast.Return) -> bool:
    return any(isinstance(node, (ast.Call, ast.Await)) for node in ast.walk(returned))


def _unparsed(node: Any) -> str:
    return ast.unparse(node)


def _is_text(node: ast.AST | None) -> bool:
    """Return whether an expression is always a text."""
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) and _is_text(node.orelse)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
