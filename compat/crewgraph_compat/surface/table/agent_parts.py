"""Steps of agents, one by one, and the names of types."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_TYPES = "crewgraph_compat.stand_ins.events"
_STEPS = rows(
    "crewgraph_compat.stand_ins.agents.steps",
    "apply_training_data",
    "build_task_prompt_with_schema",
    "format_task_with_context",
    "get_knowledge_config",
    "handle_reasoning",
    "prepare_tools",
    "process_tool_results",
    "save_last_messages",
    "validate_max_execution_time",
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.agent.internal": {},
    "crewai.agent.internal.meta": rows(_TYPES, "AgentMeta"),
    "crewai.agent.utils": _STEPS,
}
"""The modules of this area."""
