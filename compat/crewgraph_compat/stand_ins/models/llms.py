"""Models whose class names the provider, `create_llm`, and what programs look up about models."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast

from crewgraph.llm.called import as_llm
from crewgraph.llm.capabilities import WINDOWS
from crewgraph.llm.llm import LLM
from crewgraph.llm.profile import CONVERSATION_SHARE
from crewgraph.llm.resolve import llm_like
from crewgraph.llm.word import Word

__all__ = [
    "CONTEXT_WINDOW_USAGE_RATIO",
    "DEFAULT_CONTEXT_WINDOW_SIZE",
    "LITELLM_AVAILABLE",
    "LLM_CONTEXT_WINDOW_SIZES",
    "AnthropicCompletion",
    "AzureCompletion",
    "BedrockCompletion",
    "GeminiCompletion",
    "OpenAICompatibleCompletion",
    "OpenAICompletion",
    "create_llm",
]


class _Completion(LLM):
    """A model of one provider."""

    served_by: ClassVar[str] = ""

    def __init__(self, model: str, **kwargs: Any) -> None:
        """Name a model; the keywords are those of `LLM`."""
        kwargs.setdefault("provider", type(self).served_by)
        super().__init__(model, **kwargs)


class OpenAICompletion(_Completion):
    """A model of OpenAI's."""

    served_by = "openai"

    def __init__(self, model: str = "gpt-4o", **kwargs: Any) -> None:
        """Name a model; the keywords are those of `LLM`."""
        super().__init__(model, **kwargs)

    organization = Word[str | None](None, "Whose account is asked.")
    project = Word[str | None](None, "Which project of the account.")
    max_retries = Word[int | None](None, "How often a request is repeated.")
    default_headers = Word[dict[str, str] | None](None, "Headers of all requests.")
    client_params = Word[dict[str, Any] | None](None, "What else the client of the `openai` package is made with.")
    default_query = Word[dict[str, Any] | None](None, "Parameters of all addresses.")

    custom_openai: bool = False
    """Another word for `provider="openai"`."""

    @property
    def is_o1_model(self) -> bool:
        """Whether it is one of the models named o1."""
        return self.model.startswith("o1")

    @property
    def is_gpt4_model(self) -> bool:
        """Whether it is one of the models named gpt-4."""
        return self.model.startswith("gpt-4")


class OpenAICompatibleCompletion(OpenAICompletion):
    """A model of a provider that speaks OpenAI's protocol; `provider` says which."""


class AnthropicCompletion(_Completion):
    """A model of Anthropic's."""

    served_by = "anthropic"


class AzureCompletion(_Completion):
    """A model that Azure serves."""

    served_by = "azure"


class GeminiCompletion(_Completion):
    """A model of Google's."""

    served_by = "gemini"


class BedrockCompletion(_Completion):
    """A model that AWS serves."""

    served_by = "bedrock"


_NAMES = ("model", "model_name", "deployment_name")


def create_llm(llm_value: Any = None) -> Any:
    """A model with `call(messages)`; agents take all of these as `llm` themselves.

    Args:
        llm_value: a name, a dict of `LLM`'s keywords, a model, a LangChain chat model, an object with `model`, `model_name`
            or `deployment_name`; None is the model that the environment names.

    Raises:
        ModelError: it is none of these.
        NoModelError: it is None, and the environment names no model (also ValueError).
        ValueError: it is a dict without the name of a model.
    """
    if isinstance(llm_value, Mapping):
        words = dict(cast("Mapping[str, Any]", llm_value))
        named = [words.pop(name) for name in _NAMES if name in words]
        if not any(named):
            raise ValueError(f"a model as a dict needs its name as `model`; it has {sorted(words)}")
        return LLM(next(name for name in named if name), **words)
    is_described = not any(callable(getattr(llm_value, verb, None)) for verb in ("call", "invoke"))
    if llm_value is None or isinstance(llm_value, (str, list, tuple)) or not is_described:
        return as_llm(llm_value)
    return llm_like(llm_value)


CONTEXT_WINDOW_USAGE_RATIO: Final = CONVERSATION_SHARE
DEFAULT_CONTEXT_WINDOW_SIZE: Final = 8192
LITELLM_AVAILABLE: Final = False


LLM_CONTEXT_WINDOW_SIZES: dict[str, int] = dict(WINDOWS)
"""How many tokens models read, by what their names begin with."""
