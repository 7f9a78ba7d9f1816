"""Runs an ejected program's graph: a job of `fork_server.py`."""

import asyncio
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Any, cast

from langgraph.types import Command


def plain(value: Any) -> Any:
    """Return a value as JSON data."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(one) for one in cast("list[Any]", value)]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else json.loads(json.dumps(value, default=str))


class Running:
    """A running graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        nodes: Any = [one.runnable for one in graph.builder.nodes.values()]
        self._is_async = any(one.func is None and inspect.iscoroutinefunction(one.afunc) for one in nodes)
        self._config: Any = {"configurable": {"thread_id": "1"}}
        self._modes: Any = ["updates", "values"]
        self.steps: list[str] = []
        self.state: Any = None

    @property
    def waiting(self) -> Any:
        """The questions it waits for."""
        return self._graph.get_state(self._config).interrupts if self._graph.checkpointer else ()

    def go(self, given: Any) -> None:
        """Run it until it ends or waits."""
        if self._is_async:
            asyncio.run(self._ago(given))
            return
        for mode, chunk in self._graph.stream(given, self._config, stream_mode=self._modes):
            self._note(mode, chunk)

    async def _ago(self, given: Any) -> None:
        async for mode, chunk in self._graph.astream(given, self._config, stream_mode=self._modes):
            self._note(mode, chunk)

    def _note(self, mode: str, chunk: Any) -> None:
        if mode == "updates":
            self.steps.extend(chunk)
        else:
            self.state = chunk


def main(program: Path, known_inputs: Path, target: Path) -> None:
    """Run a program's graph with inputs, and record the result."""
    spec = importlib.util.spec_from_file_location("ejected", program)
    assert spec is not None and spec.loader is not None
    module = sys.modules["ejected"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = json.loads(known_inputs.read_text("utf-8"))
    graph, first = cast("Any", module).graph, getattr(module, "FIRST", None)
    given: Any = {**cast("dict[str, Any]", first if isinstance(first, dict) else {}), **known["inputs"]}
    drawn = graph.get_graph()
    reported: dict[str, Any] = {
        "nodes": sorted(drawn.nodes),
        "edges": sorted([edge.source, edge.target, edge.conditional] for edge in drawn.edges),
        "framework": sorted(name for name in sys.modules if name.partition(".")[0] in ("crewai", "crewgraph")),
    }
    if hasattr(graph.builder.state_schema, "model_validate"):
        given = graph.builder.state_schema(**given)
    running = Running(graph)
    try:
        running.go(given)
        for said in known["typed"]:
            if waiting := running.waiting:
                running.go(Command(resume={waiting[0].id: said}))
        reported["state"] = plain(running.state)
        reported["waits"] = bool(running.waiting)
    except Exception as error:  # noqa: BLE001 - what the graph raises is part of what came of it
        reported["failed"] = f"{type(error).__name__}: {error}"
    target.write_text(json.dumps({**reported, "steps": running.steps}), "utf-8")
