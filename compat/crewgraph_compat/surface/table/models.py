"""Language models and what they used."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_LLM = rows("crewgraph.llm.llm", "LLM")
_BASE_LLM = rows("crewgraph.llm.base", "BaseLLM")
_USAGE = rows("crewgraph.llm.usage", "UsageMetrics")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")

_TABLES = "crewgraph_compat.stand_ins.models.llms"
_CALLS = "crewgraph_compat.stand_ins.models.calls"
_COMPLETIONS = "crewgraph_compat.stand_ins.models.llms"
_COMPATIBLE = rows(
    _COMPLETIONS,
    "OpenAICompatibleCompletion",
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.llm": {
        **_BASE_LLM,
        **_BUS,
        **_LLM,
        **rows(
            _TABLES,
            *(
                "CONTEXT_WINDOW_USAGE_RATIO",
                "DEFAULT_CONTEXT_WINDOW_SIZE",
            ),
            *(
                "LITELLM_AVAILABLE",
                "LLM_CONTEXT_WINDOW_SIZES",
            ),
        ),
    },
    "crewai.llms": {},
    "crewai.llms._finish_reason_utils": rows(_CALLS, "extract_choices_finish_reason_and_id"),
    "crewai.llms.cache": rows(_CALLS, "CACHE_BREAKPOINT_KEY", "mark_cache_breakpoint", "strip_cache_breakpoint"),
    "crewai.llms.context_window": rows(
        _TABLES,
        "CONTEXT_WINDOW_USAGE_RATIO",
        *("DEFAULT_CONTEXT_WINDOW_SIZE", "LLM_CONTEXT_WINDOW_SIZES"),
    ),
    "crewai.llms.providers": {},
    "crewai.llms.providers.anthropic": {},
    "crewai.llms.providers.anthropic.completion": rows(_COMPLETIONS, "AnthropicCompletion"),
    "crewai.llms.providers.azure": {},
    "crewai.llms.providers.azure.completion": rows(_COMPLETIONS, "AzureCompletion"),
    "crewai.llms.providers.bedrock": {},
    "crewai.llms.providers.bedrock.completion": rows(_COMPLETIONS, "BedrockCompletion"),
    "crewai.llms.providers.gemini": {},
    "crewai.llms.providers.gemini.completion": rows(_COMPLETIONS, "GeminiCompletion"),
    "crewai.llms.providers.openai": {},
    "crewai.llms.providers.openai.completion": {
        **rows(_COMPLETIONS, "OpenAICompletion"),
        **rows(
            "crewgraph.llm.responses_result",
            *("CodeInterpreterFileResult", "CodeInterpreterLogResult", "CodeInterpreterResult", "ComputerUseResult"),
            *("FileSearchResult", "FileSearchResultItem", "ReasoningSummary", "ResponsesAPIResult", "WebSearchResult"),
        ),
    },
    "crewai.llms.providers.openai_compatible": _COMPATIBLE,
    "crewai.llms.providers.openai_compatible.completion": _COMPATIBLE,
    "crewai.llms.base_llm": {
        **_BASE_LLM,
        **_BUS,
        **_USAGE,
        **rows("crewgraph.errors", LLMCallBlockedError="ModelCallBlocked"),
        **rows(
            _CALLS,
            "get_current_call_id",
            "llm_call_context",
        ),
    },
    "crewai.types": {},
    "crewai.types.usage_metrics": _USAGE,
    "crewai.utilities.exceptions": {},
    "crewai.utilities.exceptions.context_window_exceeding_exception": {
        **rows(
            "crewgraph.llm.errors",
            LLMContextLengthExceededError="ContextLengthExceeded",
            LLMContextLengthExceededException="ContextLengthExceeded",
        ),
    },
}
"""The modules of this area."""
