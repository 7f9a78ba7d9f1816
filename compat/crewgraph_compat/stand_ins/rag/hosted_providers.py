"""Hosted embedding providers."""

from typing import Any

from pydantic import Field

from crewgraph.extras import require
from crewgraph_compat.stand_ins.rag.embedding_functions import (
    ChromaFunction,
    GoogleGenAIVertexEmbeddingFunction,
    ProvidedFunction,
    VoyageAIEmbeddingFunction,
    WatsonXEmbeddingFunction,
)
from crewgraph_compat.stand_ins.rag.providers import BaseEmbeddingsProvider, environment_field

__all__ = [
    "BedrockEmbeddings",
    "BedrockProvider",
    "CohereEmbeddings",
    "CohereProvider",
    "GeminiEmbeddings",
    "GenerativeAiProvider",
    "HuggingFaceEmbeddings",
    "HuggingFaceProvider",
    "JinaEmbeddings",
    "JinaProvider",
    "RoboflowEmbeddings",
    "RoboflowProvider",
    "VertexAIProvider",
    "VoyageAIProvider",
    "WatsonXProvider",
    "create_aws_session",
]


class BedrockEmbeddings(ProvidedFunction):
    """Amazon Bedrock's embeddings."""

    provider = "amazon-bedrock"


class CohereEmbeddings(ProvidedFunction):
    """Cohere's embeddings."""

    provider = "cohere"


class GeminiEmbeddings(ProvidedFunction):
    """Google's embeddings."""

    provider = "google"


class HuggingFaceEmbeddings(ProvidedFunction):
    """Hugging Face's embeddings, also from a compatible server."""

    provider = "huggingface"


class JinaEmbeddings(ProvidedFunction):
    """Jina's embeddings."""

    provider = "jina"


class RoboflowEmbeddings(ChromaFunction):
    """Roboflow's embeddings."""

    provider, chroma = "roboflow", "RoboflowEmbeddingFunction"


def create_aws_session() -> Any:
    """Create an AWS session from the environment.

    Raises:
        MissingExtra: boto3 is not installed.
    """
    return require("boto3", extra="aws", purpose="The embedder `amazon-bedrock`").Session()


class BedrockProvider(BaseEmbeddingsProvider[Any]):
    """Amazon Bedrock."""

    embedding_callable: type[Any] = BedrockEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_BEDROCK_MODEL_NAME",
        "BEDROCK_MODEL_NAME",
        "AWS_BEDROCK_MODEL_NAME",
        "model",
        default="amazon.titan-embed-text-v1",
    )
    session: Any = Field(default_factory=create_aws_session)


class CohereProvider(BaseEmbeddingsProvider[Any]):
    """Cohere."""

    embedding_callable: type[Any] = CohereEmbeddings
    api_key: str = environment_field("EMBEDDINGS_COHERE_API_KEY", "COHERE_API_KEY")
    model_name: str = environment_field("EMBEDDINGS_COHERE_MODEL_NAME", "model", default="large")


class GenerativeAiProvider(BaseEmbeddingsProvider[Any]):
    """Google's Gemini."""

    embedding_callable: type[Any] = GeminiEmbeddings
    model_name: str = environment_field(
        "EMBEDDINGS_GOOGLE_GENERATIVE_AI_MODEL_NAME", "model", default="gemini-embedding-001"
    )
    api_key: str = environment_field("EMBEDDINGS_GOOGLE_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
    task_type: str = environment_field(
        "EMBEDDINGS_GOOGLE_GENERATIVE_AI_TASK_TYPE",
        "GOOGLE_GENERATIVE_AI_TASK_TYPE",
        "GEMINI_TASK_TYPE",
        default="RETRIEVAL_DOCUMENT",
    )


class VertexAIProvider(BaseEmbeddingsProvider[Any]):
    """Google's Vertex AI."""

    embedding_callable: type[Any] = GoogleGenAIVertexEmbeddingFunction
    model_name: str = environment_field(
        "EMBEDDINGS_GOOGLE_VERTEX_MODEL_NAME", "GOOGLE_VERTEX_MODEL_NAME", "model", default="textembedding-gecko"
    )
    api_key: str | None = environment_field(
        "EMBEDDINGS_GOOGLE_CLOUD_API_KEY", "GOOGLE_CLOUD_API_KEY", "GOOGLE_API_KEY", default=None
    )
    project_id: str | None = environment_field("EMBEDDINGS_GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT", default=None)
    location: str = environment_field(
        "EMBEDDINGS_GOOGLE_CLOUD_LOCATION",
        "EMBEDDINGS_GOOGLE_CLOUD_REGION",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_REGION",
        default="us-central1",
    )
    region: str | None = environment_field("EMBEDDINGS_GOOGLE_VERTEX_REGION", "GOOGLE_VERTEX_REGION", default=None)
    """The former name of the location."""

    task_type: str = environment_field(
        "EMBEDDINGS_GOOGLE_VERTEX_TASK_TYPE", "GOOGLE_VERTEX_TASK_TYPE", default="RETRIEVAL_DOCUMENT"
    )
    output_dimensionality: int | None = environment_field(
        "EMBEDDINGS_GOOGLE_VERTEX_OUTPUT_DIMENSIONALITY", "GOOGLE_VERTEX_OUTPUT_DIMENSIONALITY", default=None
    )


class HuggingFaceProvider(BaseEmbeddingsProvider[Any]):
    """Hugging Face, or a compatible server if `url` is set."""

    embedding_callable: type[Any] = HuggingFaceEmbeddings
    url: str | None = environment_field("EMBEDDINGS_HUGGINGFACE_URL", default=None)
    api_key: str | None = environment_field(
        "EMBEDDINGS_HUGGINGFACE_API_KEY", "HUGGINGFACE_API_KEY", "HF_TOKEN", default=None
    )
    model_name: str = environment_field(
        "EMBEDDINGS_HUGGINGFACE_MODEL_NAME",
        "HUGGINGFACE_MODEL_NAME",
        "model",
        default="sentence-transformers/all-MiniLM-L6-v2",
    )


class JinaProvider(BaseEmbeddingsProvider[Any]):
    """Jina."""

    embedding_callable: type[Any] = JinaEmbeddings
    api_key: str = environment_field("EMBEDDINGS_JINA_API_KEY", "JINA_API_KEY")
    model_name: str = environment_field(
        "EMBEDDINGS_JINA_MODEL_NAME", "JINA_MODEL_NAME", "model", default="jina-embeddings-v2-base-en"
    )


class RoboflowProvider(BaseEmbeddingsProvider[Any]):
    """Roboflow, for texts and images."""

    embedding_callable: type[Any] = RoboflowEmbeddings
    api_key: str = environment_field("EMBEDDINGS_ROBOFLOW_API_KEY", "ROBOFLOW_API_KEY", default="")
    api_url: str = environment_field(
        "EMBEDDINGS_ROBOFLOW_API_URL", "ROBOFLOW_API_URL", default="https://infer.roboflow.com"
    )


class VoyageAIProvider(BaseEmbeddingsProvider[Any]):
    """Voyage AI."""

    embedding_callable: type[Any] = VoyageAIEmbeddingFunction
    model: str = environment_field("EMBEDDINGS_VOYAGEAI_MODEL", "VOYAGEAI_MODEL", default="voyage-2")
    api_key: str = environment_field("EMBEDDINGS_VOYAGEAI_API_KEY", "VOYAGEAI_API_KEY")
    input_type: str | None = environment_field("EMBEDDINGS_VOYAGEAI_INPUT_TYPE", "VOYAGEAI_INPUT_TYPE", default=None)
    truncation: bool = environment_field("EMBEDDINGS_VOYAGEAI_TRUNCATION", "VOYAGEAI_TRUNCATION", default=True)
    output_dtype: str | None = environment_field(
        "EMBEDDINGS_VOYAGEAI_OUTPUT_DTYPE", "VOYAGEAI_OUTPUT_DTYPE", default=None
    )
    output_dimension: int | None = environment_field(
        "EMBEDDINGS_VOYAGEAI_OUTPUT_DIMENSION", "VOYAGEAI_OUTPUT_DIMENSION", default=None
    )
    max_retries: int = environment_field("EMBEDDINGS_VOYAGEAI_MAX_RETRIES", "VOYAGEAI_MAX_RETRIES", default=0)
    timeout: float | None = environment_field("EMBEDDINGS_VOYAGEAI_TIMEOUT", "VOYAGEAI_TIMEOUT", default=None)


def _watsonx_field(name: str, default: Any = ...) -> Any:
    return environment_field(f"EMBEDDINGS_WATSONX_{name}", f"WATSONX_{name}", default=default)


class WatsonXProvider(BaseEmbeddingsProvider[Any]):
    """IBM watsonx; requires `model_id`, `url` and `api_key`."""

    embedding_callable: type[Any] = WatsonXEmbeddingFunction
    model_id: str = _watsonx_field("MODEL_ID")
    params: dict[str, str | dict[str, str]] | None = None
    credentials: Any | None = None
    project_id: str | None = _watsonx_field("PROJECT_ID", None)
    space_id: str | None = _watsonx_field("SPACE_ID", None)
    api_client: Any | None = None
    verify: bool | str | None = _watsonx_field("VERIFY", None)
    persistent_connection: bool = _watsonx_field("PERSISTENT_CONNECTION", True)
    batch_size: int = _watsonx_field("BATCH_SIZE", 100)
    concurrency_limit: int = _watsonx_field("CONCURRENCY_LIMIT", 10)
    max_retries: int | None = _watsonx_field("MAX_RETRIES", None)
    delay_time: float | None = _watsonx_field("DELAY_TIME", None)
    retry_status_codes: list[int] | None = None
    url: str = _watsonx_field("URL")
    api_key: str = _watsonx_field("API_KEY")
    name: str | None = _watsonx_field("NAME", None)
    iam_serviceid_crn: str | None = _watsonx_field("IAM_SERVICEID_CRN", None)
    trusted_profile_id: str | None = _watsonx_field("TRUSTED_PROFILE_ID", None)
    token: str | None = _watsonx_field("TOKEN", None)
    projects_token: str | None = _watsonx_field("PROJECTS_TOKEN", None)
    username: str | None = _watsonx_field("USERNAME", None)
    password: str | None = _watsonx_field("PASSWORD", None)
    instance_id: str | None = _watsonx_field("INSTANCE_ID", None)
    version: str | None = _watsonx_field("VERSION", None)
    bedrock_url: str | None = _watsonx_field("BEDROCK_URL", None)
    platform_url: str | None = _watsonx_field("PLATFORM_URL", None)
    proxies: dict[str, Any] | None = None
