"""Embedders as data, one form for each provider."""

from typing import Any, Literal, Required

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from crewgraph_compat.stand_ins.provider_configs import (
    AzureProviderConfig,
    BedrockProviderConfig,
    CohereProviderConfig,
    CustomProviderConfig,
    GenerativeAiProviderConfig,
    HuggingFaceProviderConfig,
    InstructorProviderConfig,
    JinaProviderConfig,
    OllamaProviderConfig,
    ONNXProviderConfig,
    OpenAIProviderConfig,
    OpenCLIPProviderConfig,
    OpenRouterProviderConfig,
    RoboflowProviderConfig,
    SentenceTransformerProviderConfig,
    Text2VecProviderConfig,
    VertexAIProviderConfig,
    VoyageAIProviderConfig,
    WatsonXProviderConfig,
)

__all__ = [
    "AllowedEmbeddingProviders",
    "AzureProviderSpec",
    "BedrockProviderSpec",
    "CohereProviderSpec",
    "CustomProviderSpec",
    "EmbedderConfig",
    "GenerativeAiProviderSpec",
    "HuggingFaceProviderSpec",
    "InstructorProviderSpec",
    "JinaProviderSpec",
    "ONNXProviderSpec",
    "OllamaProviderSpec",
    "OpenAIProviderSpec",
    "OpenCLIPProviderSpec",
    "OpenRouterProviderSpec",
    "OwnProviderSpec",
    "ProviderSpec",
    "RoboflowProviderSpec",
    "SentenceTransformerProviderSpec",
    "Text2VecProviderSpec",
    "VertexAIProviderSpec",
    "VoyageAIProviderSpec",
    "WatsonXProviderSpec",
]


class BedrockProviderSpec(TypedDict, total=False):
    """Amazon Bedrock as an embedder."""

    provider: Required[Literal["amazon-bedrock"]]
    config: BedrockProviderConfig


class CohereProviderSpec(TypedDict, total=False):
    """Cohere as an embedder."""

    provider: Required[Literal["cohere"]]
    config: CohereProviderConfig


class CustomProviderSpec(TypedDict, total=False):
    """A function of one's own as an embedder."""

    provider: Required[Literal["custom"]]
    config: CustomProviderConfig


class GenerativeAiProviderSpec(TypedDict, total=False):
    """Google's Gemini as an embedder."""

    provider: Required[Literal["google-generativeai"]]
    config: GenerativeAiProviderConfig


class VertexAIProviderSpec(TypedDict, total=False):
    """Google's Vertex AI as an embedder."""

    provider: Required[Literal["google-vertex"]]
    config: VertexAIProviderConfig


class HuggingFaceProviderSpec(TypedDict, total=False):
    """Hugging Face as an embedder."""

    provider: Required[Literal["huggingface"]]
    config: HuggingFaceProviderConfig


class WatsonXProviderSpec(TypedDict, total=False):
    """IBM watsonx as an embedder."""

    provider: Required[Literal["watsonx"]]
    config: WatsonXProviderConfig


class InstructorProviderSpec(TypedDict, total=False):
    """Instructor as an embedder."""

    provider: Required[Literal["instructor"]]
    config: InstructorProviderConfig


class JinaProviderSpec(TypedDict, total=False):
    """Jina as an embedder."""

    provider: Required[Literal["jina"]]
    config: JinaProviderConfig


class AzureProviderSpec(TypedDict, total=False):
    """OpenAI on Azure as an embedder."""

    provider: Required[Literal["azure"]]
    config: AzureProviderConfig


_OwnName = Literal[
    "local",
    "mistral",
    "mistralai",
    "aws",
    "bedrock",
    "azure-openai",
    "gemini",
    "google",
    "google-genai",
    "hf",
    "sentence-transformers",
    "vertex",
    "vertexai",
    "voyage",
    "watson",
]


class OwnProviderSpec(TypedDict, total=False):
    """An embedder that crewgraph has and CrewAI has not, or by a name of crewgraph's; see docs/embedders.md."""

    provider: Required[_OwnName]
    config: dict[str, Any]


class OllamaProviderSpec(TypedDict, total=False):
    """Ollama as an embedder."""

    provider: Required[Literal["ollama"]]
    config: OllamaProviderConfig


class ONNXProviderSpec(TypedDict, total=False):
    """A model in ONNX as an embedder."""

    provider: Required[Literal["onnx"]]
    config: ONNXProviderConfig


class OpenAIProviderSpec(TypedDict, total=False):
    """OpenAI as an embedder."""

    provider: Required[Literal["openai"]]
    config: OpenAIProviderConfig


class OpenCLIPProviderSpec(TypedDict, total=False):
    """OpenCLIP as an embedder."""

    provider: Required[Literal["openclip"]]
    config: OpenCLIPProviderConfig


class RoboflowProviderSpec(TypedDict, total=False):
    """Roboflow as an embedder."""

    provider: Required[Literal["roboflow"]]
    config: RoboflowProviderConfig


class SentenceTransformerProviderSpec(TypedDict, total=False):
    """Sentence Transformers as an embedder."""

    provider: Required[Literal["sentence-transformer"]]
    config: SentenceTransformerProviderConfig


class Text2VecProviderSpec(TypedDict, total=False):
    """text2vec as an embedder."""

    provider: Required[Literal["text2vec"]]
    config: Text2VecProviderConfig


class VoyageAIProviderSpec(TypedDict, total=False):
    """Voyage AI as an embedder."""

    provider: Required[Literal["voyageai"]]
    config: VoyageAIProviderConfig


class OpenRouterProviderSpec(TypedDict, total=False):
    """OpenRouter as an embedder."""

    provider: Required[Literal["openrouter"]]
    config: OpenRouterProviderConfig


AllowedEmbeddingProviders = Literal[
    "amazon-bedrock",
    "azure",
    "cohere",
    "custom",
    "google",
    "google-generativeai",
    "google-vertex",
    "huggingface",
    "instructor",
    "jina",
    "ollama",
    "onnx",
    "openai",
    "openclip",
    "openrouter",
    "roboflow",
    "sentence-transformer",
    "text2vec",
    "voyageai",
    "watsonx",
]
"""The providers by their names."""

ProviderSpec = (
    BedrockProviderSpec
    | CohereProviderSpec
    | CustomProviderSpec
    | GenerativeAiProviderSpec
    | VertexAIProviderSpec
    | HuggingFaceProviderSpec
    | WatsonXProviderSpec
    | InstructorProviderSpec
    | JinaProviderSpec
    | AzureProviderSpec
    | OllamaProviderSpec
    | ONNXProviderSpec
    | OpenAIProviderSpec
    | OpenCLIPProviderSpec
    | RoboflowProviderSpec
    | SentenceTransformerProviderSpec
    | Text2VecProviderSpec
    | VoyageAIProviderSpec
    | OpenRouterProviderSpec
    | OwnProviderSpec
)
"""An embedder by its provider's name."""

EmbedderConfig = ProviderSpec
