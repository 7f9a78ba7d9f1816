"""What CrewAI's programs look up about models: names, and how much each reads. Our own tables are the source."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from crewgraph.llm.capabilities import WINDOWS
from crewgraph.llm.profile import CONVERSATION_SHARE, RESULT_SHARE
from crewgraph.llm.providers import PROVIDERS

__all__ = [
    "ANTHROPIC_CONTEXT_WINDOWS",
    "ANTHROPIC_MODELS",
    "ANTHROPIC_PREFIXES",
    "AZURE_CONTEXT_WINDOWS",
    "AZURE_MODELS",
    "AZURE_OPENAI_CONTEXT_WINDOWS",
    "BARE_CONTEXT_WINDOWS",
    "BEDROCK_CONTEXT_WINDOWS",
    "BEDROCK_MODELS",
    "CONTEXT_WINDOW_USAGE_RATIO",
    "DEFAULT_CONTEXT_WINDOW_SIZE",
    "DEFAULT_CONTEXT_WINDOW_SIZE_OF_BASE",
    "DEFAULT_SUPPORTS_STOP_WORDS",
    "GEMINI_CONTEXT_WINDOWS",
    "GEMINI_MODELS",
    "HAS_CREWAI_FILES",
    "LITELLM_AVAILABLE",
    "LLM_CONTEXT_WINDOW_SIZES",
    "MAX_CONTEXT",
    "MESSAGE_SPLIT_BUDGET_RATIO",
    "MIN_CONTEXT",
    "OPENAI_CONTEXT_WINDOWS",
    "OPENAI_MODELS",
    "PROVIDER_ALIASES",
    "SUPPORTED_NATIVE_PROVIDERS",
    "TOOL_RESULT_CONTEXT_WINDOW_THRESHOLD",
    "AnthropicModels",
    "AzureModels",
    "BedrockModels",
    "GeminiModels",
    "OpenAIModels",
    "bare_context_windows",
    "bare_model_name",
    "resolve_context_window_size",
    "summarize_messages",
]

CONTEXT_WINDOW_USAGE_RATIO: Final = CONVERSATION_SHARE
TOOL_RESULT_CONTEXT_WINDOW_THRESHOLD: Final = RESULT_SHARE
MESSAGE_SPLIT_BUDGET_RATIO: Final = 0.75
DEFAULT_CONTEXT_WINDOW_SIZE: Final = 8192
DEFAULT_CONTEXT_WINDOW_SIZE_OF_BASE: Final = 4096
DEFAULT_SUPPORTS_STOP_WORDS: Final = True
MIN_CONTEXT: Final = 1024
MAX_CONTEXT: Final = 2_097_152
LITELLM_AVAILABLE: Final = False
HAS_CREWAI_FILES: Final = True
ANTHROPIC_PREFIXES: Final = ("anthropic/", "claude-", "claude/")

SUPPORTED_NATIVE_PROVIDERS: list[str] = sorted(PROVIDERS)
"""All providers: none needs litellm."""

PROVIDER_ALIASES: dict[str, str] = {name: one.name for name, one in PROVIDERS.items() if name != one.name}
"""Other names of providers."""


def _begins(*starts: str) -> dict[str, int]:
    return {name: size for name, size in WINDOWS if name.startswith(starts)}


LLM_CONTEXT_WINDOW_SIZES: dict[str, int] = dict(WINDOWS)
"""How many tokens models read, by what their names begin with."""

OPENAI_CONTEXT_WINDOWS = _begins("gpt-", "o1", "o3", "o4", "chatgpt")
ANTHROPIC_CONTEXT_WINDOWS = _begins("claude")
GEMINI_CONTEXT_WINDOWS = _begins("gemini", "gemma")
AZURE_CONTEXT_WINDOWS = dict(OPENAI_CONTEXT_WINDOWS)
AZURE_OPENAI_CONTEXT_WINDOWS = dict(OPENAI_CONTEXT_WINDOWS)
BEDROCK_CONTEXT_WINDOWS = _begins("claude", "llama", "nova", "mistral", "mixtral", "command", "deepseek")

OPENAI_MODELS: list[str] = list(OPENAI_CONTEXT_WINDOWS)
ANTHROPIC_MODELS: list[str] = list(ANTHROPIC_CONTEXT_WINDOWS)
GEMINI_MODELS: list[str] = list(GEMINI_CONTEXT_WINDOWS)
AZURE_MODELS: list[str] = list(AZURE_CONTEXT_WINDOWS)
BEDROCK_MODELS: list[str] = list(BEDROCK_CONTEXT_WINDOWS)


def _one_of(names: list[str]) -> Any:
    """The type of those names; others are models, too, wherever crewgraph takes one."""
    return Literal.__getitem__(tuple(names))  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]


OpenAIModels = _one_of(OPENAI_MODELS)
AnthropicModels = _one_of(ANTHROPIC_MODELS)
GeminiModels = _one_of(GEMINI_MODELS)
AzureModels = _one_of(AZURE_MODELS)
BedrockModels = _one_of(BEDROCK_MODELS)


def bare_model_name(name: str) -> str:
    """A model's name without its provider."""
    return name.rpartition("/")[2]


def bare_context_windows(sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes by names without providers; of two for one name the smaller."""
    found: dict[str, int] = {}
    for name, size in sizes.items():
        bare = bare_model_name(name)
        found[bare] = min(size, found.get(bare, size))
    return found


BARE_CONTEXT_WINDOWS: dict[str, int] = bare_context_windows(LLM_CONTEXT_WINDOW_SIZES)


def resolve_context_window_size(
    model: str, sizes: Mapping[str, int], *, default: int, extra_names: Sequence[str] = ()
) -> int:
    """How many tokens a model reads: of the names that it begins with, the longest one's.

    Args:
        model: its name, with or without its provider.
        sizes: by names, or what they begin with.
        default: for a model that is not among them.
        extra_names: other names it is looked for under.
    """
    for name in (model, bare_model_name(model), *extra_names):
        known = [start for start in sizes if name == start or name.startswith(start)]
        if known:
            return sizes[max(known, key=len)]
    return default


def summarize_messages(llm: Any, messages: list[Any], callbacks: list[Any], verbose: bool) -> None:
    """Put a summary that the model writes in the place of a conversation; see `LLM.summarize_messages`."""
    llm.summarize_messages(messages, callbacks, verbose)
