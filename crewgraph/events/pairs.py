"""Which events open a scope, and which close it."""

__all__ = ["ENDINGS", "ENDS", "OUTER", "STARTS"]

_OUTCOMES: dict[str, tuple[str, ...]] = {
    "a2a_conversation": ("completed",),
    "a2a_delegation": ("completed",),
    "a2a_parallel_delegation": ("completed",),
    "a2a_server_task": ("completed", "canceled", "failed"),
    "agent_evaluation": ("completed", "failed"),
    "agent_execution": ("completed", "error"),
    "agent_reasoning": ("completed", "failed"),
    "crew_kickoff": ("completed", "failed", "paused"),
    "crew_test": ("completed", "failed"),
    "crew_train": ("completed", "failed"),
    "flow": ("finished", "failed", "paused"),
    "knowledge_query": ("completed", "failed"),
    "knowledge_search_query": ("completed", "failed"),
    "lite_agent_execution": ("completed", "error"),
    "llm_call": ("completed", "failed"),
    "llm_guardrail": ("completed", "failed"),
    "mcp_connection": ("completed", "failed"),
    "mcp_tool_execution": ("completed", "failed"),
    "memory_query": ("completed", "failed"),
    "memory_retrieval": ("completed", "failed"),
    "memory_save": ("completed", "failed"),
    "method_execution": ("finished", "failed", "paused"),
    "task": ("completed", "failed"),
    "tool_usage": ("finished", "error"),
}

ENDINGS: dict[str, str] = {f"{one}_{how}": f"{one}_started" for one, ends in _OUTCOMES.items() for how in ends}
"""The type of an event that closes a scope to that of the one that opened it."""

STARTS: frozenset[str] = frozenset(ENDINGS.values())
"""The types of events that open one."""

ENDS: frozenset[str] = frozenset(ENDINGS)
"""The types of events that close one."""

OUTER: frozenset[str] = frozenset(
    kind
    for pair in ENDINGS.items()
    for kind in pair
    if pair[1]
    in {f"{one}_started" for one in ("crew_kickoff", "crew_test", "crew_train", "flow", "method_execution", "task")}
)
"""The types of both that stand around the work of agents, never inside of it but for runs that a tool kicks off."""
