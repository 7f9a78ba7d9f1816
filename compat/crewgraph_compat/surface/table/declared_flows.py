"""Flows that files declare."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_ACTION_KINDS = rows(
    "crewgraph.contrib.declared.actions",
    "FlowActionDefinition",
    "FlowAgentActionDefinition",
    "FlowAtomicActionDefinition",
    "FlowCodeActionDefinition",
    "FlowCrewActionDefinition",
    "FlowEachActionDefinition",
    "FlowEachStepDefinition",
    "FlowExpressionActionDefinition",
    "FlowScriptActionDefinition",
    "FlowToolActionDefinition",
)
_STATES = rows(
    "crewgraph.contrib.declared.state",
    "FlowDictStateDefinition",
    "FlowJsonSchemaStateDefinition",
    "FlowPydanticStateDefinition",
    "FlowStateDefinition",
    "FlowUnknownStateDefinition",
)
_METHODS = rows(
    "crewgraph.contrib.declared.method",
    "FlowDefinitionCondition",
    "FlowHumanFeedbackDefinition",
    "FlowMethodDefinition",
    "FlowPersistenceDefinition",
)
_FLOW = {
    **rows("crewgraph.contrib.declared.flow", "FlowConfigDefinition", "log_flow_definition_issues"),
    **rows("crewgraph.contrib.declared.flow", FlowTopology="FlowDeclaration"),
}
_TALKS = rows("crewgraph.contrib.declared.config", "FlowConversationalDefinition", "FlowConversationalRouterDefinition")
_BUILT = rows("crewgraph.contrib.declared.written", build_flow_definition="declaration_of")
_REFUSED = rows("crewgraph.errors", FlowScriptExecutionDisabledError="ScriptRefused")
_ACTIONS = "crewgraph_compat.stand_ins.flows.actions"

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow.conversational_definition": _TALKS,
    "crewai.flow.expressions": {
        **rows("crewgraph.contrib.declared.expression", "Expression", "ExpressionData"),
        **rows("crewgraph.errors", "ExpressionError"),
    },
    "crewai.flow.flow_definition": {
        **_ACTION_KINDS,
        **_STATES,
        **_METHODS,
        **_FLOW,
        **rows("crewgraph.contrib.declared.expression", "ExpressionData"),
    },
    "crewai.flow.runtime": {
        **rows("crewgraph.flow.flow", "Flow"),
        **rows("crewgraph.definitions.flow.state", "FlowState"),
        **rows("crewgraph_compat.stand_ins.flows.state", "FlowMeta"),
        **rows(_ACTIONS, "build_action"),
        **_BUILT,
        **_REFUSED,
    },
    "crewai.flow.runtime._actions": {
        **rows(
            _ACTIONS,
            "AgentAction",
            "CodeAction",
            "CrewAction",
            "EachAction",
            "ExpressionAction",
            "LocalContext",
            "NestedStep",
            "ScriptAction",
            "ToolAction",
            "build_action",
        ),
        **rows("crewgraph.contrib.declared.expression", "ExpressionData"),
        **_REFUSED,
    },
    "crewai.flow.runtime._outputs": rows(_ACTIONS, "outputs_by_name"),
}
"""A module of crewai to its names."""
