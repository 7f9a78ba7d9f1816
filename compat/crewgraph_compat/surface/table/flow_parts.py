"""Types and topology of flows, and queries about them."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_DECORATORS = "crewgraph.definitions.flow.dsl"
_TYPES = "crewgraph_compat.stand_ins.flows.types"
_CONDITIONS = rows(_TYPES, "AND_CONDITION", "OR_CONDITION")
_KINDS = rows(_TYPES, "FlowConditionType", "FlowConditions", "SimpleFlowCondition")
_GRAPH = "crewgraph_compat.stand_ins.flows.structure"
_STRUCTURE = "crewgraph_compat.stand_ins.flows.structure"
_STRUCTURE_TYPES = rows(_STRUCTURE, "FlowStructure", "NodeMetadata", "StructureEdge")
_BUILT = rows(_STRUCTURE, "build_flow_structure", "calculate_execution_paths")

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow.constants": _CONDITIONS,
    "crewai.flow.dsl._conditions": {
        **rows(_DECORATORS, "and_", "or_"),
        **_CONDITIONS,
        **rows(_TYPES, "FlowConditionType", "FlowTrigger"),
    },
    "crewai.flow.dsl._human_feedback": rows("crewgraph.definitions.flow.feedback", "human_feedback"),
    "crewai.flow.dsl._listen": {**rows(_DECORATORS, "listen"), **rows(_TYPES, "P")},
    "crewai.flow.dsl._router": {**rows(_DECORATORS, "router"), **rows(_TYPES, "P")},
    "crewai.flow.dsl._start": {**rows(_DECORATORS, "start"), **rows(_TYPES, "P")},
    "crewai.flow.dsl._types": rows(_TYPES, "FlowMethodDecorator", "FlowTrigger"),
    "crewai.flow.dsl._utils": {
        **rows(_GRAPH, "is_flow_method"),
        **rows(_TYPES, "P"),
        **rows("crewgraph.contrib.declared.written", build_flow_definition="declaration_of"),
    },
    "crewai.flow.flow_visualizer": {
        **rows("crewgraph.flow.flow", "FlowPlot"),
        **rows(_STRUCTURE, "plot_flow"),
    },
    "crewai.flow.path_utils": rows(
        "crewgraph_compat.stand_ins.projects.files", "list_files", "safe_path_join", "validate_path_exists"
    ),
    "crewai.flow.types": rows(
        _TYPES,
        "CompletedMethodData",
        "ExecutionMethodData",
        "FlowData",
        "FlowExecutionData",
        "FlowMethodCallable",
        "FlowMethodData",
        "FlowMethodName",
        "InputHistoryEntry",
        "P",
        "PendingListenerKey",
        "R",
    ),
    "crewai.flow.utils": {
        **_KINDS,
        **rows(
            _GRAPH,
            "build_ancestor_dict",
            "build_parent_children_dict",
            "calculate_node_levels",
            "count_outgoing_edges",
            "dfs_ancestors",
            "get_child_index",
            "get_possible_return_constants",
            "is_ancestor",
            "is_flow_condition_dict",
            "is_flow_condition_list",
            "is_flow_method",
            "is_flow_method_callable",
            "is_flow_method_name",
            "is_simple_flow_condition",
            "process_router_paths",
        ),
    },
    "crewai.flow.visualization": {
        **_STRUCTURE_TYPES,
        **_BUILT,
    },
    "crewai.flow.visualization.builder": _BUILT,
    "crewai.flow.visualization.types": _STRUCTURE_TYPES,
    "crewai.flow.visualization_utils": rows(_GRAPH, "method_calls_crew"),
}
"""A module of crewai to its names."""
