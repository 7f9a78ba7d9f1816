"""A flow as a graph: its methods as nodes over an explicit state, their triggers as edges."""

import inspect
from functools import cached_property
from typing import Any

from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.definitions.flow.state import state_source
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence
from crewgraph_compat.eject.calls import CrewCalls
from crewgraph_compat.eject.flow.calls import FlowCalls
from crewgraph_compat.eject.flow.edges import FlowEdges
from crewgraph_compat.eject.flow.method import MethodWriter
from crewgraph_compat.eject.flow.state import FlowStateWriter
from crewgraph_compat.eject.flow.triggers import (
    TriggerGraph,
    has_parallel_branches,
    may_run_concurrently,
    refuse_races,
    without_later_events,
)
from crewgraph_compat.eject.refusals import refuse_flow
from crewgraph_compat.eject.writing.parts import ProgramWriters

_RANK = 12


class FlowWriter:
    """Write one flow.

    Args:
        flow: the flow.
        parts: the program and the writers of its parts.
        prefix: the prefix of its graph names if a method of another flow kicks it off.
        calls: the writer of the flows its methods kick off; shared with the other flow.
    """

    def __init__(
        self, flow: "FlowDefinition[Any]", parts: ProgramWriters, prefix: str = "", calls: "CrewCalls | None" = None
    ) -> None:
        self.flow, self.parts, self.prefix = flow, parts, prefix
        self.definition = without_later_events(flow.topology())
        self.events = TriggerGraph(self.definition, parts.refusals)
        self.calls = calls or CrewCalls(parts, FlowCalls(parts, self._within))
        self.methods: dict[str, MethodWriter] = {}
        self.helpers: dict[str, MethodWriter] = {}

    def _within(self, flow: "FlowDefinition[Any]", prefix: str) -> "FlowWriter":
        return FlowWriter(flow, self.parts, prefix, self.calls)

    @property
    def name(self) -> str:
        """The name of the flow."""
        return type(self.flow).__name__

    def read(self) -> None:
        """Inspect the flow and add the user's code."""
        self._refuse()
        names = self.parts.sheet.names
        for name, method in self.definition.methods.items():
            try:
                writer = MethodWriter(name, method.func, self.flow, self.parts, self.calls, self.helpers, name, method)
            except OSError as error:
                self.parts.refusals.add(f"method `{name}`", f"its source is not available: {error}")
                continue
            self.methods[name] = writer
        todo = [*self.methods.values()]
        while todo:
            todo += self._helpers_of(todo.pop())
        source = self.flow.initial_state if self.flow.initial_state is not None else state_source(type(self.flow))
        self.state = FlowStateWriter(source, self.flow, self.parts, [*self.methods.values(), *self.helpers.values()])
        self.state.read()
        for writer in [*self.methods.values(), *self.helpers.values()]:
            self._add_code(writer)
        for writer in [*self.helpers.values(), *self.methods.values()]:
            writer.called = names.new(writer.name, f"_of_{self.prefix}" if self.prefix else "_method")

    def _add_code(self, writer: MethodWriter) -> None:
        """Add the code that a method uses, after the crewgraph parts in it were replaced."""
        edits = writer.edits
        text = edits.done()
        self.parts.lifter.needs(writer.module, text, writer.where)
        self.parts.lifter.sources.append(text)
        for node in writer.touched.whole:
            if self.state.is_dict and writer.writes_unknown(node):
                line = getattr(node, "lineno", 0)
                why = (
                    f"it writes a key of the state in its line {line} that is only known during a run; declare a model"
                )
                self.parts.refusals.add(writer.where, why)

    def _helpers_of(self, writer: MethodWriter) -> list[MethodWriter]:
        """Return the untriggered methods that a method calls."""
        results: list[MethodWriter] = []
        for name in writer.touched.helpers:
            function = inspect.getattr_static(type(self.flow), name, None)
            is_own = inspect.isfunction(function) and function.__module__ not in ("crewgraph.flow.flow",)
            if is_own and name not in self.helpers and name not in self.methods and not hasattr(FlowDefinition, name):
                results.append(MethodWriter(name, function, self.flow, self.parts, self.calls, self.helpers, name))
                self.helpers[name] = results[-1]
        return results

    def _refuse(self) -> None:
        definition, refuse, where = self.definition, self.parts.refusals.add, f"flow `{self.name}`"
        refuse_flow(self.flow, where, self.parts.refusals)
        for fault in definition.faults:
            refuse(where, fault)
        if definition.is_declared:
            refuse(where, "it is declared in a file, whose actions are run by crewgraph; rewrite it as a class first")
        remaining = [
            definition.persistence,
            *(item.persistence for item in definition.methods.values()),
            self.flow.persistence,
        ]
        if any(_is_own(item) for item in remaining):
            refuse(f"the backend of `@persist` of {where}", "give `compile` a LangGraph checkpointer")
        self.parts.keeps_runs |= any(item is not None for item in remaining)
        for name, method in definition.methods.items():
            if method.feedback is not None:
                refuse(f"`human_feedback` of method `{name}`", "use LangGraph's `interrupt`")
            if method.predicate is not None:
                refuse(f"the condition of `@start` of method `{name}`", "it depends on the inputs of a run")

    @cached_property
    def lines(self) -> FlowEdges:
        """The connections between methods, and the values passed along them."""
        return FlowEdges(self.definition, self.events, self.methods, self.parts.refusals)

    def write(self) -> str:
        """Write the flow and return the expression for the result of a run."""
        sheet, lines, state = self.parts.sheet, self.lines, self.state
        self._check_at_once()
        state.write(lines.keys(), appended=self._appended())
        for writer in self.helpers.values():
            sheet.add(writer.helper(state.own_class), _RANK)
        for name, writer in self.methods.items():
            reads = lines.parameter_lines(name, state)
            kind = state.graph_class if reads or state.is_dict or state.needs_id else state.own_class
            if lines.is_edge(name):
                labels = ", ".join(f'"{label}"' for label in sorted(self.definition.methods[name].labels))
                sheet.use("typing", "Literal")
                sheet.add(writer.edge(kind, reads, f"Literal[{labels}]"), _RANK)
                continue
            writes = self._writes(writer)
            first = [*reads, *state.before(writes)]
            ways = lines.ways(name) if name in self.events.routes else None
            sheet.add(writer.node(kind, first, state.update(writes), lines.result_keys(name), ways), _RANK)
        return lines.write(
            self.parts, state, self.prefix, {name: writer.called for name, writer in self.methods.items()}
        )

    def _writes(self, writer: MethodWriter) -> list[str]:
        """Return the fields that a method changes, directly or through its helpers."""
        result = self._own_writes(writer)
        seen, todo = set[str](), list(writer.touched.helpers)
        while todo:
            name = todo.pop()
            if name in self.helpers and name not in seen:
                seen.add(name)
                result |= self._own_writes(self.helpers[name])
                todo += self.helpers[name].touched.helpers
        return list(result)

    def _own_writes(self, writer: MethodWriter) -> dict[str, None]:
        return dict.fromkeys(self.state.fields) if writer.changes_all else dict(writer.touched.writes)

    def _shared(self) -> dict[str, tuple[str, str]]:
        """Map each field that may be changed concurrently to two methods that change it."""
        results: dict[str, tuple[str, str]] = {}
        names = list(self.methods)
        for n, first in enumerate(names):
            for other in names[n + 1 :]:
                both = set(self._writes(self.methods[first])) & set(self._writes(self.methods[other]))
                if both and may_run_concurrently(self.events, first, other):
                    results |= dict.fromkeys(both, (first, other))
        return results

    def _appended(self) -> set[str]:
        """Return the lists that several methods append to concurrently."""
        writers = [*self.methods.values(), *self.helpers.values()]
        return {
            name
            for name in self._shared()
            if all(name in writer.touched.appends for writer in writers if name in writer.touched.writes)
        }

    def _check_at_once(self) -> None:
        appended = self._appended()
        for name, (first, other) in self._shared().items():
            if name not in appended:
                self.parts.refusals.add(
                    f"methods `{first}` and `{other}`",
                    f"they may run in parallel, and both change `{name}` of the state",
                )
        refuse_races(self.events, self.parts.refusals)

    @property
    def is_forked(self) -> bool:
        """Whether any methods run concurrently."""
        return has_parallel_branches(self.events)

    @property
    def returns_value(self) -> bool:
        """Whether a run has a result."""
        return self.lines.result

    @property
    def is_async(self) -> bool:
        """Whether the flow has coroutine functions."""
        return any(method.is_async for method in self.methods.values())


def _is_own(backend: Any) -> bool:
    """Return whether states are saved to a backend of the user's."""
    return isinstance(backend, FlowPersistence) and not isinstance(backend, SQLiteFlowPersistence)
