"""Modules of older releases that newer ones have not, and what only older programs take from newer ones."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_TELEMETRY = rows("crewgraph_compat.stand_ins.events", "Telemetry")
_CONFIGURATOR = rows("crewgraph_compat.stand_ins.rag.embedders", "EmbeddingConfigurator")

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag.embeddings.configurator": _CONFIGURATOR,
    "crewai.tasks.guardrail_result": rows("crewgraph.definitions.guardrail", "GuardrailResult"),
    "crewai.telemetry": _TELEMETRY,
    "crewai.telemetry.telemetry": _TELEMETRY,
    "crewai.utilities.embedding_configurator": _CONFIGURATOR,
}
"""The modules of this area."""
