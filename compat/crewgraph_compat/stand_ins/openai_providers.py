"""Providers of embeddings that speak OpenAI's protocol."""

from typing import Any

from crewgraph_compat.stand_ins.embeddings_provider import BaseEmbeddingsProvider, said
from crewgraph_compat.stand_ins.provided_function import ProvidedFunction

__all__ = [
    "AzureEmbeddings",
    "AzureProvider",
    "OpenAIEmbeddings",
    "OpenAIProvider",
    "OpenRouterEmbeddings",
    "OpenRouterProvider",
]


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
    """OpenAI, or with `api_base` whoever speaks its protocol."""

    embedding_callable: type[Any] = OpenAIEmbeddings
    api_key: str | None = said("EMBEDDINGS_OPENAI_API_KEY", "OPENAI_API_KEY", default=None)
    model_name: str = said("EMBEDDINGS_OPENAI_MODEL_NAME", "model_name", "model", default="text-embedding-3-large")
    api_base: str | None = said("EMBEDDINGS_OPENAI_API_BASE", "OPENAI_API_BASE", default=None)
    api_type: str | None = said("EMBEDDINGS_OPENAI_API_TYPE", "OPENAI_API_TYPE", default=None)
    api_version: str | None = said("EMBEDDINGS_OPENAI_API_VERSION", "OPENAI_API_VERSION", default=None)
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = said("EMBEDDINGS_OPENAI_DIMENSIONS", "OPENAI_DIMENSIONS", default=None)
    deployment_id: str | None = said("EMBEDDINGS_OPENAI_DEPLOYMENT_ID", "OPENAI_DEPLOYMENT_ID", default=None)
    organization_id: str | None = said("EMBEDDINGS_OPENAI_ORGANIZATION_ID", "OPENAI_ORGANIZATION_ID", default=None)


class AzureProvider(BaseEmbeddingsProvider[Any]):
    """OpenAI on Azure."""

    embedding_callable: type[Any] = AzureEmbeddings
    api_key: str = said("EMBEDDINGS_OPENAI_API_KEY", "OPENAI_API_KEY")
    api_base: str | None = said("EMBEDDINGS_OPENAI_API_BASE", "OPENAI_API_BASE", default=None)
    api_type: str = said("EMBEDDINGS_OPENAI_API_TYPE", "OPENAI_API_TYPE", "AZURE_OPENAI_API_TYPE", default="azure")
    api_version: str | None = said(
        "EMBEDDINGS_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION", default="2024-02-01"
    )
    model_name: str = said("EMBEDDINGS_OPENAI_MODEL_NAME", "AZURE_OPENAI_MODEL_NAME", default="text-embedding-3-large")
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = said(
        "EMBEDDINGS_OPENAI_DIMENSIONS", "OPENAI_DIMENSIONS", "AZURE_OPENAI_DIMENSIONS", default=None
    )
    deployment_id: str = said("EMBEDDINGS_OPENAI_DEPLOYMENT_ID", "AZURE_OPENAI_DEPLOYMENT", "AZURE_DEPLOYMENT_ID")
    organization_id: str | None = said(
        "EMBEDDINGS_OPENAI_ORGANIZATION_ID",
        "OPENAI_ORGANIZATION_ID",
        "AZURE_OPENAI_ORGANIZATION_ID",
        default=None,
    )


class OpenRouterProvider(BaseEmbeddingsProvider[Any]):
    """OpenRouter."""

    embedding_callable: type[Any] = OpenRouterEmbeddings
    api_key: str = said("EMBEDDINGS_OPENROUTER_API_KEY", "OPENROUTER_API_KEY")
    model_name: str = said(
        "EMBEDDINGS_OPENROUTER_MODEL_NAME",
        "OPENROUTER_MODEL_NAME",
        "model",
        default="openai/text-embedding-3-small",
    )
    api_base: str = said(
        "EMBEDDINGS_OPENROUTER_API_BASE", "OPENROUTER_API_BASE", default="https://openrouter.ai/api/v1"
    )
    default_headers: dict[str, Any] | None = None
    dimensions: int | None = said("EMBEDDINGS_OPENROUTER_DIMENSIONS", "OPENROUTER_DIMENSIONS", default=None)
