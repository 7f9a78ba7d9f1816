"""Language models and what they used."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_LLM = rows("crewgraph.llm.llm", "LLM")
_BASE_LLM = rows("crewgraph.llm.base", "BaseLLM")
_USAGE = rows("crewgraph.llm.usage", "UsageMetrics")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")

MODULES: dict[str, dict[str, str]] = {
    "crewai.llm": {**_BASE_LLM, **_BUS, **_LLM},
    "crewai.llms": {},
    "crewai.llms.base_llm": {**_BASE_LLM, **_BUS, **_USAGE},
    "crewai.types": {},
    "crewai.types.usage_metrics": _USAGE,
    "crewai.utilities.exceptions": {},
    "crewai.utilities.exceptions.context_window_exceeding_exception": rows(
        "crewgraph.llm.errors",
        LLMContextLengthExceededError="ContextLengthExceeded",
        LLMContextLengthExceededException="ContextLengthExceeded",
    ),
}
"""The modules of this area."""
