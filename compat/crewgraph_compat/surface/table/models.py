"""Language models and their usage."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_LLM = rows("crewgraph.llm.llm", "LLM")
_BASE_LLM = rows("crewgraph.llm.base", "BaseLLM")
_USAGE = rows("crewgraph.llm.usage", "UsageMetrics")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")

_TABLES = "crewgraph_compat.stand_ins.models.llms"
_CALLS = "crewgraph_compat.stand_ins.models.calls"
_COMPLETIONS = "crewgraph_compat.stand_ins.models.llms"
_COMPATIBLE = rows(_COMPLETIONS, "OPENAI_COMPATIBLE_PROVIDERS", "OpenAICompatibleCompletion", "ProviderConfig")

MODULES: dict[str, dict[str, str]] = {
    "crewai.llm": {
        **_BASE_LLM,
        **_BUS,
        **_LLM,
        **rows(
            _TABLES,
            *("ANTHROPIC_PREFIXES", "CONTEXT_WINDOW_USAGE_RATIO", "DEFAULT_CONTEXT_WINDOW_SIZE", "HAS_CREWAI_FILES"),
            *("LITELLM_AVAILABLE", "LLM_CONTEXT_WINDOW_SIZES", "MAX_CONTEXT", "MIN_CONTEXT", "PROVIDER_ALIASES"),
            "SUPPORTED_NATIVE_PROVIDERS",
        ),
    },
    "crewai.llms": {},
    "crewai.llms._finish_reason_utils": rows(_CALLS, "extract_choices_finish_reason_and_id"),
    "crewai.llms.cache": rows(_CALLS, "CACHE_BREAKPOINT_KEY", "mark_cache_breakpoint", "strip_cache_breakpoint"),
    "crewai.llms.constants": rows(
        _TABLES,
        *("ANTHROPIC_MODELS", "AZURE_MODELS", "BEDROCK_MODELS", "GEMINI_MODELS", "OPENAI_MODELS"),
        *("AnthropicModels", "AzureModels", "BedrockModels", "GeminiModels", "OpenAIModels"),
    ),
    "crewai.llms.context_window": rows(
        _TABLES,
        *("ANTHROPIC_CONTEXT_WINDOWS", "AZURE_CONTEXT_WINDOWS", "AZURE_OPENAI_CONTEXT_WINDOWS"),
        *("BARE_CONTEXT_WINDOWS", "BEDROCK_CONTEXT_WINDOWS", "CONTEXT_WINDOW_USAGE_RATIO"),
        *("DEFAULT_CONTEXT_WINDOW_SIZE", "GEMINI_CONTEXT_WINDOWS", "LLM_CONTEXT_WINDOW_SIZES"),
        *("MESSAGE_SPLIT_BUDGET_RATIO", "OPENAI_CONTEXT_WINDOWS", "bare_context_windows", "bare_model_name"),
        *("resolve_context_window_size", "summarize_messages"),
    ),
    "crewai.llms.retry": rows(
        "crewgraph_compat.stand_ins.models.calls",
        *("arun_with_rate_limit_retry", "get_retry_delay_seconds", "run_with_rate_limit_retry"),
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
            "crewgraph.llm.responses",
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
            *("JsonResponseFormat", "call_stop_override", "call_stream_override", "get_current_call_id"),
            "llm_call_context",
        ),
        **rows(_TABLES, "DEFAULT_SUPPORTS_STOP_WORDS", "HAS_CREWAI_FILES", "TOOL_RESULT_CONTEXT_WINDOW_THRESHOLD"),
        **rows(_TABLES, DEFAULT_CONTEXT_WINDOW_SIZE="DEFAULT_CONTEXT_WINDOW_SIZE_OF_BASE"),
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
        **rows("crewgraph_compat.stand_ins.models.llms", "CONTEXT_LIMIT_ERRORS"),
    },
}
"""The modules of this area."""
