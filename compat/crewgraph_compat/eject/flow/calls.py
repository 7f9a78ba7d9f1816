"""Flows that functions kick off: each becomes a graph in the same program, with a function that runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import snake_case

__all__ = ["FlowCalls"]

_RANK = 10


class _State(Protocol):
    """The writer of a flow's state."""

    graph_class: str

    @property
    def is_dict(self) -> bool: ...
    def initial_values(self) -> str: ...


class _Writer(Protocol):
    """The writer of a flow."""

    @property
    def state(self) -> _State: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def returns_value(self) -> bool: ...
    def read(self) -> None: ...
    def write(self) -> str: ...


@dataclass
class _Called:
    """A flow that is kicked off."""

    writer: _Writer
    name: str
    is_async: bool = False
    is_sync: bool = False


class FlowCalls:
    """Write the flows that functions kick off.

    Args:
        parts: the program and the writers of its parts.
        writer_of: returns the writer of a flow, given the flow and the prefix of its graph names.
    """

    def __init__(self, parts: ProgramWriters, writer_of: "Callable[[FlowDefinition[Any], str], _Writer]") -> None:
        self._parts, self._writer_of = parts, writer_of
        self._called: dict[tuple[type, str], _Called] = {}

    def function(self, flow: "FlowDefinition[Any]", *, is_async: bool) -> str:
        """Return the name of the function that runs a flow."""
        key = (type(flow), repr({name: item for name, item in dict(flow.state).items() if name != "id"}))
        if key not in self._called:
            name = self._parts.sheet.names.new(snake_case(type(flow).__name__), "_flow")
            self._called[key] = _Called(self._writer_of(flow, name), name)
            self._called[key].writer.read()
        result = self._called[key]
        result.is_async, result.is_sync = result.is_async or is_async, result.is_sync or not is_async
        return f"{'akickoff' if is_async else 'kickoff'}_{result.name}"

    def write(self) -> None:
        """Write the flows."""
        for item in self._called.values():
            with self._parts.sheet.together(_RANK):
                self._write(item, item.writer.write())

    def _write(self, called: _Called, graph: str) -> None:
        sheet, writer = self._parts.sheet, called.writer
        sheet.use("collections.abc", "Mapping")
        sheet.use("typing", "Any")
        initial = writer.state.initial_values()
        values = f"{{**{initial}, **(inputs or {{}})}}" if initial else "{**(inputs or {})}"
        value = f"{writer.state.graph_class}(**{values})"
        if writer.state.is_dict:
            sheet.use("typing", "cast")
            value = f"cast({writer.state.graph_class}, {values})"
        message = f'"""Run the flow `{called.name}`."""'
        functions = [("def", "kickoff", f"{graph}.invoke({value})")] if called.is_sync else []
        if called.is_sync and writer.is_async:
            sheet.module("asyncio")
            functions = [("def", "kickoff", f"asyncio.run({graph}.ainvoke({value}))")]
        functions += [("async def", "akickoff", f"await {graph}.ainvoke({value})")] if called.is_async else []
        for kind, prefix, run in functions:
            lines = [f"state = {run}", 'return state.get("result")'] if writer.returns_value else [run]
            body = "\n".join(f"    {line}" for line in lines)
            returned = "Any" if writer.returns_value else "None"
            sheet.add(
                f"{kind} {prefix}_{called.name}(inputs: Mapping[str, Any] | None = None) -> {returned}:\n    {message}\n{body}",
                _RANK,
            )
