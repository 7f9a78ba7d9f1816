"""What flows are made of: types, topology, and what asks about it."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_DECORATORS = "crewgraph.definitions.flow.dsl"

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow.dsl._conditions": {
        **rows(_DECORATORS, "and_", "or_"),
    },
    "crewai.flow.dsl._human_feedback": rows("crewgraph.definitions.flow.feedback", "human_feedback"),
    "crewai.flow.dsl._listen": {
        **rows(_DECORATORS, "listen"),
    },
    "crewai.flow.dsl._router": {
        **rows(_DECORATORS, "router"),
    },
    "crewai.flow.dsl._start": {
        **rows(_DECORATORS, "start"),
    },
    "crewai.flow.dsl._utils": {
        **rows("crewgraph.definitions.declared.written", build_flow_definition="declaration_of"),
    },
    "crewai.flow.flow_visualizer": {
        **rows("crewgraph.definitions.flow.flow_plot", "FlowPlot"),
    },
}
"""A module of crewai to its names."""
