"""Flows of declarations, as `Flow.from_declaration` makes them, and what their methods have returned."""

from collections.abc import Mapping
from typing import Any

from crewgraph.compiler.flow.run import RUNNING
from crewgraph.definitions.declared.flow import FlowDeclaration
from crewgraph.definitions.flow.flow import Flow
from crewgraph.project.declared_flow import class_of, settings_of
from crewgraph.runtime.sqlite_persistence import SQLiteFlowPersistence

__all__ = ["made", "outputs_of"]

_BACKENDS = {"SQLiteFlowPersistence": SQLiteFlowPersistence}


def made(declared: FlowDeclaration, base: type[Flow[Any]], given: Mapping[str, Any]) -> Flow[Any]:
    """A flow of a declaration; see `Flow.from_declaration`."""
    kind = class_of(declared, base, _BACKENDS)
    return kind(**{**settings_of(declared), **given})


def outputs_of(flow: Flow[Any]) -> dict[str, Any]:
    """What the methods of a flow's run returned last, by their names: of the run around the running code, else of the last."""
    running = RUNNING.get()
    run: Any = running.run if running is not None and running.run.flow is flow else flow.shown_run()
    return dict(run.said) if run is not None else {}
