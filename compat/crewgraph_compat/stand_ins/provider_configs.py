"""What providers of embeddings are told, as data; what a key is by default stands beside its type."""

from typing import Annotated, Any, Required

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

__all__ = [
    "AzureProviderConfig",
    "BedrockProviderConfig",
    "CohereProviderConfig",
    "CustomProviderConfig",
    "GenerativeAiProviderConfig",
    "HuggingFaceProviderConfig",
    "InstructorProviderConfig",
    "JinaProviderConfig",
    "ONNXProviderConfig",
    "OllamaProviderConfig",
    "OpenAIProviderConfig",
    "OpenCLIPProviderConfig",
    "OpenRouterProviderConfig",
    "RoboflowProviderConfig",
    "SentenceTransformerProviderConfig",
    "Text2VecProviderConfig",
    "VertexAIProviderConfig",
    "VoyageAIProviderConfig",
    "WatsonXProviderConfig",
]


class BedrockProviderConfig(TypedDict, total=False):
    """What Amazon Bedrock is told."""

    model_name: Annotated[str, "amazon.titan-embed-text-v1"]
    session: Any


class CohereProviderConfig(TypedDict, total=False):
    """What Cohere is told."""

    api_key: str
    model_name: Annotated[str, "large"]


class CustomProviderConfig(TypedDict, total=False):
    """What a function of one's own is told."""

    embedding_callable: Any


class GenerativeAiProviderConfig(TypedDict, total=False):
    """What Google's Gemini is told."""

    api_key: str
    model_name: Annotated[str, "gemini-embedding-001"]
    task_type: Annotated[str, "RETRIEVAL_DOCUMENT"]


class VertexAIProviderConfig(TypedDict, total=False):
    """What Google's Vertex AI is told."""

    api_key: str
    model_name: Annotated[str, "textembedding-gecko"]
    project_id: str
    location: Annotated[str, "us-central1"]
    region: Annotated[str, "us-central1"]
    task_type: Annotated[str, "RETRIEVAL_DOCUMENT"]
    output_dimensionality: int


class HuggingFaceProviderConfig(TypedDict, total=False):
    """What Hugging Face is told."""

    url: str
    api_key: str
    model: Annotated[str, "sentence-transformers/all-MiniLM-L6-v2"]
    model_name: Annotated[str, "sentence-transformers/all-MiniLM-L6-v2"]


class WatsonXProviderConfig(TypedDict, total=False):
    """What IBM watsonx is told."""

    model_id: str
    url: str
    params: dict[str, str | dict[str, str]]
    credentials: Any
    project_id: str
    space_id: str
    api_client: Any
    verify: bool | str
    persistent_connection: Annotated[bool, True]
    batch_size: Annotated[int, 100]
    concurrency_limit: Annotated[int, 10]
    max_retries: int
    delay_time: float
    retry_status_codes: list[int]
    api_key: str
    name: str
    iam_serviceid_crn: str
    trusted_profile_id: str
    token: str
    projects_token: str
    username: str
    password: str
    instance_id: str
    version: str
    bedrock_url: str
    platform_url: str
    proxies: dict[str, Any]


class InstructorProviderConfig(TypedDict, total=False):
    """What Instructor is told."""

    model_name: Annotated[str, "hkunlp/instructor-base"]
    device: Annotated[str, "cpu"]
    instruction: str


class JinaProviderConfig(TypedDict, total=False):
    """What Jina is told."""

    api_key: str
    model_name: Annotated[str, "jina-embeddings-v2-base-en"]


class AzureProviderConfig(TypedDict, total=False):
    """What OpenAI on Azure is told."""

    api_key: str
    api_base: str
    api_type: Annotated[str, "azure"]
    api_version: str
    model_name: Annotated[str, "text-embedding-3-large"]
    default_headers: dict[str, Any]
    dimensions: int
    deployment_id: Required[str]
    organization_id: str


class OllamaProviderConfig(TypedDict, total=False):
    """What Ollama is told."""

    url: Annotated[str, "http://localhost:11434/api/embeddings"]
    model_name: str


class ONNXProviderConfig(TypedDict, total=False):
    """What a model in ONNX is told."""

    preferred_providers: list[str]


class OpenAIProviderConfig(TypedDict, total=False):
    """What OpenAI is told."""

    api_key: str
    model_name: Annotated[str, "text-embedding-3-large"]
    api_base: str
    api_type: str
    api_version: str
    default_headers: dict[str, Any]
    dimensions: int
    deployment_id: str
    organization_id: str


class OpenCLIPProviderConfig(TypedDict, total=False):
    """What OpenCLIP is told."""

    model_name: Annotated[str, "ViT-B-32"]
    checkpoint: Annotated[str, "laion2b_s34b_b79k"]
    device: Annotated[str, "cpu"]


class RoboflowProviderConfig(TypedDict, total=False):
    """What Roboflow is told."""

    api_key: Annotated[str, ""]
    api_url: Annotated[str, "https://infer.roboflow.com"]


class SentenceTransformerProviderConfig(TypedDict, total=False):
    """What Sentence Transformers is told."""

    model_name: Annotated[str, "all-MiniLM-L6-v2"]
    device: Annotated[str, "cpu"]
    normalize_embeddings: Annotated[bool, False]


class Text2VecProviderConfig(TypedDict, total=False):
    """What text2vec is told."""

    model_name: Annotated[str, "shibing624/text2vec-base-chinese"]


class VoyageAIProviderConfig(TypedDict, total=False):
    """What Voyage AI is told."""

    api_key: str
    model: Annotated[str, "voyage-2"]
    input_type: str
    truncation: Annotated[bool, True]
    output_dtype: str
    output_dimension: int
    max_retries: Annotated[int, 0]
    timeout: float


class OpenRouterProviderConfig(TypedDict, total=False):
    """What OpenRouter is told."""

    api_key: str
    model_name: Annotated[str, "openai/text-embedding-3-small"]
    api_base: Annotated[str, "https://openrouter.ai/api/v1"]
    default_headers: dict[str, Any]
    dimensions: int
