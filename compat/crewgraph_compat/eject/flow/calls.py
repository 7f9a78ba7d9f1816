"""Flows that functions kick off: each becomes a graph in the same program, with a function that runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import snake_case

_RANK = 10


@dataclass
class Called:
    """A crew or flow that functions kick off, with the name of the function that runs it."""

    writer: Any
    function: str
    is_async: bool = False
    is_sync: bool = False

    def use(self, *, is_async: bool) -> str:
        """Note a call, and return the name of the function for it."""
        self.is_async, self.is_sync = self.is_async or is_async, self.is_sync or not is_async
        return f"a{self.function}" if is_async else self.function


class FlowCalls:
    """Write the flows that functions kick off.

    Args:
        parts: the program and the writers of its parts.
        writer_of: returns the writer of a flow, given the flow and the prefix of its graph names.
    """

    def __init__(self, parts: ProgramWriters, writer_of: "Callable[[FlowDefinition[Any], str], Any]") -> None:
        self._parts, self._writer_of = parts, writer_of
        self._called: dict[tuple[type, str], Called] = {}

    def function(self, flow: "FlowDefinition[Any]", *, is_async: bool) -> str:
        """Return the name of the function that runs a flow."""
        key = (type(flow), repr({name: item for name, item in dict(flow.state).items() if name != "id"}))
        if key not in self._called:
            name = self._parts.sheet.names.new(snake_case(type(flow).__name__), "_flow")
            self._called[key] = Called(self._writer_of(flow, name), f"kickoff_{name}")
            self._called[key].writer.read()
        return self._called[key].use(is_async=is_async)

    def write(self) -> None:
        """Write the flows."""
        for item in self._called.values():
            with self._parts.sheet.together(_RANK):
                self._write(item, item.writer.write())

    def _write(self, called: Called, graph: str) -> None:
        sheet, writer = self._parts.sheet, called.writer
        sheet.use("collections.abc", "Mapping")
        sheet.use("typing", "Any")
        initial = writer.state.initial_values()
        values = f"{{**{initial}, **(inputs or {{}})}}" if initial else "{**(inputs or {})}"
        value = f"{writer.state.graph_class}(**{values})"
        if writer.state.is_dict:
            sheet.use("typing", "cast")
            value = f"cast({writer.state.graph_class}, {values})"
        message = f'"""Run the flow `{called.function.removeprefix("kickoff_")}`."""'
        functions = [("def ", f"{graph}.invoke({value})")] if called.is_sync else []
        if called.is_sync and writer.is_async:
            sheet.module("asyncio")
            functions = [("def ", f"asyncio.run({graph}.ainvoke({value}))")]
        functions += [("async def a", f"await {graph}.ainvoke({value})")] if called.is_async else []
        for kind, run in functions:
            lines = [f"state = {run}", 'return state.get("result")'] if writer.returns_value else [run]
            body = "\n".join(f"    {line}" for line in lines)
            returned = "Any" if writer.returns_value else "None"
            sheet.add(
                f"{kind}{called.function}(inputs: Mapping[str, Any] | None = None) -> {returned}:\n    {message}\n{body}",
                _RANK,
            )
