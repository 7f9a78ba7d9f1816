"""Model classes named after providers, `create_llm`, and lookups of model properties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, cast

from crewgraph.llm.capabilities import CONTEXT_WINDOWS
from crewgraph.llm.llm import LLM
from crewgraph.llm.profile import CONVERSATION_SHARE, RESULT_SHARE
from crewgraph.llm.providers import PROVIDERS
from crewgraph.llm.resolve import as_llm, llm_from_attributes
from crewgraph.llm.responses import ProviderSetting

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
    "CONTEXT_LIMIT_ERRORS",
    "CONTEXT_WINDOW_USAGE_RATIO",
    "DEFAULT_CONTEXT_WINDOW_SIZE",
    "DEFAULT_CONTEXT_WINDOW_SIZE_OF_BASE",
    "DEFAULT_SUPPORTS_STOP_WORDS",
    "GEMINI_CONTEXT_WINDOWS",
    "GEMINI_MODELS",
    "HAS_CREWAI_FILES",
    "LITELLM_AVAILABLE",
    "LITELLM_PARAMS",
    "LLM_CONTEXT_WINDOW_SIZES",
    "MAX_CONTEXT",
    "MESSAGE_SPLIT_BUDGET_RATIO",
    "MIN_CONTEXT",
    "OPENAI_COMPATIBLE_PROVIDERS",
    "OPENAI_CONTEXT_WINDOWS",
    "OPENAI_MODELS",
    "PROVIDER_ALIASES",
    "SUPPORTED_NATIVE_PROVIDERS",
    "TOOL_RESULT_CONTEXT_WINDOW_THRESHOLD",
    "UNACCEPTED_ATTRIBUTES",
    "AnthropicCompletion",
    "AnthropicModels",
    "AzureCompletion",
    "AzureModels",
    "BedrockCompletion",
    "BedrockModels",
    "GeminiCompletion",
    "GeminiModels",
    "OpenAICompatibleCompletion",
    "OpenAICompletion",
    "OpenAIModels",
    "ProviderConfig",
    "bare_context_windows",
    "bare_model_name",
    "create_llm",
    "resolve_context_window_size",
    "summarize_messages",
]


class _Completion(LLM):
    """Base class of models of a single provider."""

    served_by: ClassVar[str] = ""

    def __init__(self, model: str, **kwargs: Any) -> None:
        """Create the model; the keywords are those of `LLM`."""
        kwargs.setdefault("provider", type(self).served_by)
        super().__init__(model, **kwargs)


class OpenAICompletion(_Completion):
    """A model by OpenAI."""

    served_by = "openai"

    def __init__(self, model: str = "gpt-4o", **kwargs: Any) -> None:
        """Create the model; the keywords are those of `LLM`."""
        super().__init__(model, **kwargs)

    organization = ProviderSetting[str | None](None, "Whose account is asked.")
    project = ProviderSetting[str | None](None, "Which project of the account.")
    max_retries = ProviderSetting[int | None](None, "How often a request is repeated.")
    default_headers = ProviderSetting[dict[str, str] | None](None, "Headers of all requests.")
    client_params = ProviderSetting[dict[str, Any] | None](
        None, "What else the client of the `openai` package is made with."
    )
    default_query = ProviderSetting[dict[str, Any] | None](None, "Parameters of all addresses.")

    custom_openai: bool = False
    """An alias of `provider="openai"`."""

    @property
    def is_o1_model(self) -> bool:
        """Whether the model is an o1 model."""
        return self.model.startswith("o1")

    @property
    def is_gpt4_model(self) -> bool:
        """Whether the model is a gpt-4 model."""
        return self.model.startswith("gpt-4")


class OpenAICompatibleCompletion(OpenAICompletion):
    """A model of an OpenAI-compatible provider, selected by `provider`."""


class AnthropicCompletion(_Completion):
    """A model by Anthropic."""

    served_by = "anthropic"


class AzureCompletion(_Completion):
    """A model hosted on Azure."""

    served_by = "azure"


class GeminiCompletion(_Completion):
    """A model by Google."""

    served_by = "gemini"


class BedrockCompletion(_Completion):
    """A model hosted on AWS Bedrock."""

    served_by = "bedrock"


@dataclass(frozen=True)
class ProviderConfig:
    """The endpoint and credentials of an OpenAI-compatible provider."""

    base_url: str
    api_key_env: str
    base_url_env: str | None = None
    default_headers: dict[str, str] = field(default_factory=dict[str, str])
    api_key_required: bool = True
    default_api_key: str | None = None


OPENAI_COMPATIBLE_PROVIDERS: dict[str, ProviderConfig] = {
    name: ProviderConfig(
        base_url=one.base_url,
        api_key_env=one.key_variables[0],
        base_url_env=next(iter(one.base_variables), None),
        api_key_required=one.key_needed,
    )
    for name, one in PROVIDERS.items()
    if one.base_url and one.key_variables and one.module == "langchain_openai"
}
"""The OpenAI-compatible providers by name."""


UNACCEPTED_ATTRIBUTES: Final = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"]
"""Environment variables that clients read themselves."""

LITELLM_PARAMS: Final = ["api_key", "api_base", "api_version"]
"""The environment variables that CrewAI passes on to LiteLLM."""

_NAMES = ("model", "model_name", "deployment_name")


def create_llm(llm_value: Any = None) -> Any:
    """Create a model with a `call(messages)` method; agents accept all of these values as `llm` directly.

    Args:
        llm_value: a name, a dict of `LLM`'s keywords, a model, a LangChain chat model, an object with `model`, `model_name`
            or `deployment_name`; None is the model that the environment names.

    Raises:
        ModelError: The value is none of these.
        NoModelError: It is None, and no model is configured in the environment (also ValueError).
        ValueError: It is a dict without a model name.
    """
    if isinstance(llm_value, Mapping):
        words = dict(cast("Mapping[str, Any]", llm_value))
        named = [words.pop(name) for name in _NAMES if name in words]
        if not any(named):
            raise ValueError(f"a model as a dict needs its name as `model`; it has {sorted(words)}")
        return LLM(next(name for name in named if name), **words)
    is_described = not any(callable(getattr(llm_value, method_name, None)) for method_name in ("call", "invoke"))
    if llm_value is None or isinstance(llm_value, (str, list, tuple)) or not is_described:
        return as_llm(llm_value)
    return llm_from_attributes(llm_value)


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
"""All providers; none of them requires litellm."""

PROVIDER_ALIASES: dict[str, str] = {name: one.name for name, one in PROVIDERS.items() if name != one.name}
"""Aliases of providers."""


def _begins(*starts: str) -> dict[str, int]:
    return {name: size for name, size in CONTEXT_WINDOWS if name.startswith(starts)}


LLM_CONTEXT_WINDOW_SIZES: dict[str, int] = dict(CONTEXT_WINDOWS)
"""Context window sizes in tokens by prefix of the model name."""

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
    """Return the literal type of the names; crewgraph accepts other models too."""
    return Literal.__getitem__(tuple(names))  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]


OpenAIModels = _one_of(OPENAI_MODELS)
AnthropicModels = _one_of(ANTHROPIC_MODELS)
GeminiModels = _one_of(GEMINI_MODELS)
AzureModels = _one_of(AZURE_MODELS)
BedrockModels = _one_of(BEDROCK_MODELS)


def bare_model_name(name: str) -> str:
    """Return the model name without its provider."""
    return name.rpartition("/")[2]


def bare_context_windows(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes by model name without provider; the smaller one of duplicates."""
    result: dict[str, int] = {}
    for name, size in sizes.items():
        bare = bare_model_name(name)
        result[bare] = min(size, result.get(bare, size))
    return result


BARE_CONTEXT_WINDOWS: dict[str, int] = bare_context_windows(LLM_CONTEXT_WINDOW_SIZES)


def resolve_context_window_size(
    model: str, sizes: Mapping[str, int], *, default: int, extra_names: Sequence[str] = ()
) -> int:
    """Return a model's context window size in tokens, taken from the longest matching prefix.

    Args:
        model: the model's name, with or without its provider.
        sizes: sizes by name or name prefix.
        default: the size for an unknown model.
        extra_names: further names to look up.
    """
    for name in (model, bare_model_name(model), *extra_names):
        known = [start for start in sizes if name == start or name.startswith(start)]
        if known:
            return sizes[max(known, key=len)]
    return default


def summarize_messages(llm: Any, messages: list[Any], callbacks: list[Any], verbose: bool) -> None:
    """Replace a conversation with a summary written by the model; see `LLM.summarize_messages`."""
    llm.summarize_messages(messages, callbacks, verbose)


CONTEXT_LIMIT_ERRORS: Final = [
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "context window exceeded",
    "maximum prompt length",
    "prompt is too long",
    "input is too long",
    "too many tokens:",
]
"""Provider error messages for exceeded context windows; `crewgraph.llm.errors` knows more."""
