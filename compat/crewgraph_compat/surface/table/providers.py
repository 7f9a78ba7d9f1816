"""Guardrails and converters."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

MODULES: dict[str, dict[str, str]] = {
    "crewai.core": {},
    "crewai.core.providers": {},
    "crewai.core.providers.content_processor": rows(
        "crewgraph.definitions.task.prompt",
        "ContentProcessorProvider",
        "NoOpContentProcessor",
        "get_processor",
        "process_content",
        "set_processor",
    ),
    "crewai.core.providers.human_input": rows(
        "crewgraph.compiler.agent.human_review",
        "AsyncExecutorContext",
        "ExecutorContext",
        "HumanInputProvider",
        "SyncHumanInputProvider",
        "get_provider",
        "reset_provider",
        "set_provider",
    ),
}
"""The modules of this area."""
