"""Models with the provider in the name of their class: each is an `LLM` that this provider serves."""

from typing import Any, ClassVar

from crewgraph import LLM
from crewgraph.llm.word import Word

__all__ = [
    "AnthropicCompletion",
    "AzureCompletion",
    "BedrockCompletion",
    "GeminiCompletion",
    "OpenAICompatibleCompletion",
    "OpenAICompletion",
]


class _Completion(LLM):
    """A model of one provider."""

    served_by: ClassVar[str] = ""

    def __init__(self, model: str, **given: Any) -> None:
        """Name a model; the keywords are those of `LLM`."""
        given.setdefault("provider", type(self).served_by)
        super().__init__(model, **given)


class OpenAICompletion(_Completion):
    """A model of OpenAI's."""

    served_by = "openai"

    def __init__(self, model: str = "gpt-4o", **given: Any) -> None:
        """Name a model; the keywords are those of `LLM`."""
        super().__init__(model, **given)

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
