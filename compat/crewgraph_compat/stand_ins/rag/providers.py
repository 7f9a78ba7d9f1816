"""Embedding providers as models: the base class, OpenAI-compatible providers, and local ones."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph_compat.stand_ins.rag.embedding_functions import ChromaFunction, CustomEmbeddingFunction, ProvidedFunction

__all__ = [
    "AzureEmbeddings",
    "AzureProvider",
    "BaseEmbeddingsProvider",
    "CustomProvider",
    "InstructorEmbeddings",
    "InstructorProvider",
    "ONNXEmbeddings",
    "ONNXProvider",
    "OllamaEmbeddings",
    "OllamaProvider",
    "OpenAIEmbeddings",
    "OpenAIProvider",
    "OpenCLIPEmbeddings",
    "OpenCLIPProvider",
    "OpenRouterEmbeddings",
    "OpenRouterProvider",
    "SentenceTransformerEmbeddings",
    "SentenceTransformerProvider",
    "Text2VecEmbeddings",
    "Text2VecProvider",
    "environment_field",
]


T = TypeVar("T")


class BaseEmbeddingsProvider(BaseModel, Generic[T]):
    """A provider and its settings; unknown fields are passed on to `embedding_callable`.

    Missing values are read from the environment under the uppercase aliases of the field.
    """

    model_config = ConfigDict(
        extra="allow",
        arbitrary_types_allowed=True,
        populate_by_name=True,
        validate_default=True,
        protected_namespaces=(),
    )

    embedding_callable: type[T]
    """The embedding class, created with the other fields."""

    def create(self) -> T:
        """Create the embedder from all fields.

        Raises:
            EmbedderError: A setting is invalid.
            MissingExtra: the provider's package is not installed.
        """
        return self.embedding_callable(**self.model_dump(exclude={"embedding_callable"}))

    @property
    def embedder(self) -> NamedEmbedder:
        """Return the embedder, for any `embedder` parameter."""
        return embedder_of(self.create())

    @model_validator(mode="before")
    @classmethod
    def _from_environment(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        words = dict(cast("Mapping[str, Any]", values))
        there = {name.upper(): value for name, value in os.environ.items()}
        for name, field in cls.model_fields.items():
            known = [name, *_alias_names(field)]
            variable = next((item for item in known if item.isupper() and item in there), None)
            if variable is not None and not any(item in words for item in known):
                words[name] = there[variable]
        return words


def environment_field(*names: str, default: Any = ...) -> Any:
    """Declare a field with aliases; the uppercase aliases are read from the environment."""
    return Field(default, validation_alias=AliasChoices(*names))


def _alias_names(field: FieldInfo) -> Iterator[str]:
    result = field.validation_alias
    if isinstance(result, AliasChoices):
        yield from (item for item in result.choices if isinstance(item, str))


class OpenAIEmbeddings(ProvidedFunction):
    """OpenAI's embeddings."""

    provider = "openai"


class AzureEmbeddings(ProvidedFunction):
    """OpenAI's embeddings on Azure."""

    provider = "azure"


class OpenRouterEmbeddings(ProvidedFunction):
    """OpenRouter's embeddings."""

    provider = "openrouter"


class OpenAIProvider(BaseEmbeddingsProvider[Any]):
    """OpenAI, or a compatible server if `api_base` is set."""

    embedding_callable: type[Any] = OpenAIEmbeddings
    api_key: str | None = environment_field("EMBEDDINGS_OPENAI_API_KEY", "OPENAI_API_KEY", default=None)
    model_name: str = environment_field(
        "EMBEDDINGS_OPENAI_MODEL_NAME", "model_name", "model", default="text-embedding-3-large"
    )
    api_base: str | None = environment_field("EMBEDDINGS_OPENAI_API_BASE", "OPENAI_API_BASE", default=None)
    api_type: str | None = environment_field("EMBEDDINGS_OPENAI_API_TYPE", "OPENAI_API_TYPE", default=None)
    api_version: str | None = environment_field("EMBEDDINGS_OPENAI_API_VERSION", "OPENAI_API_VERSION", default=None)
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = environment_field("EMBEDDINGS_OPENAI_DIMENSIONS", "OPENAI_DIMENSIONS", default=None)
    deployment_id: str | None = environment_field(
        "EMBEDDINGS_OPENAI_DEPLOYMENT_ID", "OPENAI_DEPLOYMENT_ID", default=None
    )
    organization_id: str | None = environment_field(
        "EMBEDDINGS_OPENAI_ORGANIZATION_ID", "OPENAI_ORGANIZATION_ID", default=None
    )


class AzureProvider(BaseEmbeddingsProvider[Any]):
    """OpenAI on Azure."""

    embedding_callable: type[Any] = AzureEmbeddings
    api_key: str = environment_field("EMBEDDINGS_OPENAI_API_KEY", "OPENAI_API_KEY")
    api_base: str | None = environment_field("EMBEDDINGS_OPENAI_API_BASE", "OPENAI_API_BASE", default=None)
    api_type: str = environment_field(
        "EMBEDDINGS_OPENAI_API_TYPE", "OPENAI_API_TYPE", "AZURE_OPENAI_API_TYPE", default="azure"
    )
    api_version: str | None = environment_field(
        "EMBEDDINGS_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION", default="2024-02-01"
    )
    model_name: str = environment_field(
        "EMBEDDINGS_OPENAI_MODEL_NAME", "AZURE_OPENAI_MODEL_NAME", default="text-embedding-3-large"
    )
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = environment_field(
        "EMBEDDINGS_OPENAI_DIMENSIONS", "OPENAI_DIMENSIONS", "AZURE_OPENAI_DIMENSIONS", default=None
    )
    deployment_id: str = environment_field(
        "EMBEDDINGS_OPENAI_DEPLOYMENT_ID", "AZURE_OPENAI_DEPLOYMENT", "AZURE_DEPLOYMENT_ID"
    )
    organization_id: str | None = environment_field(
        "EMBEDDINGS_OPENAI_ORGANIZATION_ID",
        "OPENAI_ORGANIZATION_ID",
        "AZURE_OPENAI_ORGANIZATION_ID",
        default=None,
    )


class OpenRouterProvider(BaseEmbeddingsProvider[Any]):
    """OpenRouter."""

    embedding_callable: type[Any] = OpenRouterEmbeddings
    api_key: str = environment_field("EMBEDDINGS_OPENROUTER_API_KEY", "OPENROUTER_API_KEY")
    model_name: str = environment_field(
        "EMBEDDINGS_OPENROUTER_MODEL_NAME",
        "OPENROUTER_MODEL_NAME",
        "model",
        default="openai/text-embedding-3-small",
    )
    api_base: str = environment_field(
        "EMBEDDINGS_OPENROUTER_API_BASE", "OPENROUTER_API_BASE", default="https://openrouter.ai/api/v1"
    )
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = environment_field(
        "EMBEDDINGS_OPENROUTER_DIMENSIONS", "OPENROUTER_DIMENSIONS", default=None
    )


class OllamaEmbeddings(ProvidedFunction):
    """Ollama's embeddings."""

    provider = "ollama"


class SentenceTransformerEmbeddings(ProvidedFunction):
    """Models of Sentence Transformers."""

    provider = "sentence-transformer"


class ONNXEmbeddings(ChromaFunction):
    """A small ONNX model."""

    provider, chroma = "onnx", "ONNXMiniLM_L6_V2"


class OpenCLIPEmbeddings(ChromaFunction):
    """OpenCLIP's embeddings."""

    provider, chroma = "openclip", "OpenCLIPEmbeddingFunction"


class InstructorEmbeddings(ChromaFunction):
    """Instructor's embeddings."""

    provider, chroma = "instructor", "InstructorEmbeddingFunction"


class Text2VecEmbeddings(ChromaFunction):
    """text2vec's embeddings."""

    provider, chroma = "text2vec", "Text2VecEmbeddingFunction"


class CustomProvider(BaseEmbeddingsProvider[CustomEmbeddingFunction]):
    """A custom class, created with the remaining fields."""

    embedding_callable: type[CustomEmbeddingFunction]


class OllamaProvider(BaseEmbeddingsProvider[Any]):
    """Ollama; the model name is required."""

    embedding_callable: type[Any] = OllamaEmbeddings
    url: str = environment_field("EMBEDDINGS_OLLAMA_URL", "OLLAMA_URL", default="http://localhost:11434/api/embeddings")
    model_name: str = environment_field("EMBEDDINGS_OLLAMA_MODEL_NAME", "OLLAMA_MODEL_NAME", "OLLAMA_MODEL", "model")


class SentenceTransformerProvider(BaseEmbeddingsProvider[Any]):
    """Models of Sentence Transformers."""

    embedding_callable: type[Any] = SentenceTransformerEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_SENTENCE_TRANSFORMER_MODEL_NAME",
        "SENTENCE_TRANSFORMER_MODEL_NAME",
        "model",
        default="all-MiniLM-L6-v2",
    )
    device: str = environment_field(
        "EMBEDDINGS_SENTENCE_TRANSFORMER_DEVICE", "SENTENCE_TRANSFORMER_DEVICE", default="cpu"
    )
    normalize_embeddings: bool = environment_field(
        "EMBEDDINGS_SENTENCE_TRANSFORMER_NORMALIZE_EMBEDDINGS",
        "SENTENCE_TRANSFORMER_NORMALIZE_EMBEDDINGS",
        default=False,
    )


class ONNXProvider(BaseEmbeddingsProvider[Any]):
    """A small ONNX model."""

    embedding_callable: type[Any] = ONNXEmbeddings
    preferred_providers: list[str] | None = environment_field(
        "EMBEDDINGS_ONNX_PREFERRED_PROVIDERS", "ONNX_PREFERRED_PROVIDERS", default=None
    )


class OpenCLIPProvider(BaseEmbeddingsProvider[Any]):
    """OpenCLIP, for texts and images."""

    embedding_callable: type[Any] = OpenCLIPEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_OPENCLIP_MODEL_NAME", "OPENCLIP_MODEL_NAME", "model", default="ViT-B-32"
    )
    checkpoint: str = environment_field(
        "EMBEDDINGS_OPENCLIP_CHECKPOINT", "OPENCLIP_CHECKPOINT", default="laion2b_s34b_b79k"
    )
    device: str | None = environment_field("EMBEDDINGS_OPENCLIP_DEVICE", "OPENCLIP_DEVICE", default="cpu")


class InstructorProvider(BaseEmbeddingsProvider[Any]):
    """Instructor, whose embeddings depend on an instruction."""

    embedding_callable: type[Any] = InstructorEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_INSTRUCTOR_MODEL_NAME", "INSTRUCTOR_MODEL_NAME", "model", default="hkunlp/instructor-base"
    )
    device: str = environment_field("EMBEDDINGS_INSTRUCTOR_DEVICE", "INSTRUCTOR_DEVICE", default="cpu")
    instruction: str | None = environment_field(
        "EMBEDDINGS_INSTRUCTOR_INSTRUCTION", "INSTRUCTOR_INSTRUCTION", default=None
    )


class Text2VecProvider(BaseEmbeddingsProvider[Any]):
    """Text2vec, for Chinese."""

    embedding_callable: type[Any] = Text2VecEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_TEXT2VEC_MODEL_NAME", "TEXT2VEC_MODEL_NAME", "model", default="shibing624/text2vec-base-chinese"
    )
