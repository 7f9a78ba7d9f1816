"""Modules that only older releases have, and names that only older programs import from newer modules."""

from crewgraph_compat.surface.table import loops, projects
from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_TELEMETRY = rows("crewgraph_compat.stand_ins.events", "Telemetry")
_CONFIGURATOR = rows("crewgraph_compat.stand_ins.rag.embedders", "EmbeddingConfigurator")
_LISTENERS = rows("crewgraph_compat.stand_ins.console.listener", "EventListener", "event_listener")

_DEFAULT_MODEL = rows("crewgraph.llm.resolve", DEFAULT_LLM_MODEL="DEFAULT_MODEL")

MODULES: dict[str, dict[str, str]] = {
    "crewai.cli": {},
    "crewai.cli.constants": _DEFAULT_MODEL,
    "crewai.cli.crew_chat": projects.MODULES["crewai.utilities.crew_chat"],
    "crewai.constants": _DEFAULT_MODEL,
    "crewai.experimental.agent_executor": loops.MODULES["crewai.agents.agent_executor"],
    "crewai.memory.storage.base_rag_storage": rows("crewgraph_compat.stand_ins.rag.client", "BaseRAGStorage"),
    "crewai.rag.embeddings.configurator": _CONFIGURATOR,
    "crewai.tasks.guardrail_result": rows("crewgraph.definitions.task.guardrail", "GuardrailResult"),
    "crewai.telemetry": _TELEMETRY,
    "crewai.telemetry.telemetry": _TELEMETRY,
    "crewai.utilities.chromadb": rows(
        "crewgraph_compat.stand_ins.rag.chroma_records", sanitize_collection_name="collection_name"
    ),
    "crewai.utilities.embedding_configurator": _CONFIGURATOR,
    "crewai.utilities.events.event_listener": _LISTENERS,
    "crewai.utilities.events.utils": {},
    "crewai.utilities.events.utils.console_formatter": rows(
        "crewgraph_compat.stand_ins.console.formatter", "ConsoleFormatter"
    ),
}
"""The modules of this area."""
