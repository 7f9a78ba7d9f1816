"""Embedder specifications as data, one type per provider."""

from typing import Annotated, Any, Literal, Required

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

__all__ = [
    "AllowedEmbeddingProviders",
    "AzureProviderConfig",
    "AzureProviderSpec",
    "BedrockProviderConfig",
    "BedrockProviderSpec",
    "CohereProviderConfig",
    "CohereProviderSpec",
    "CustomProviderConfig",
    "CustomProviderSpec",
    "EmbedderConfig",
    "GenerativeAiProviderConfig",
    "GenerativeAiProviderSpec",
    "HuggingFaceProviderConfig",
    "HuggingFaceProviderSpec",
    "InstructorProviderConfig",
    "InstructorProviderSpec",
    "JinaProviderConfig",
    "JinaProviderSpec",
    "ONNXProviderConfig",
    "ONNXProviderSpec",
    "OllamaProviderConfig",
    "OllamaProviderSpec",
    "OpenAIProviderConfig",
    "OpenAIProviderSpec",
    "OpenCLIPProviderConfig",
    "OpenCLIPProviderSpec",
    "OpenRouterProviderConfig",
    "OpenRouterProviderSpec",
    "OwnProviderSpec",
    "ProviderSpec",
    "RoboflowProviderConfig",
    "RoboflowProviderSpec",
    "SentenceTransformerProviderConfig",
    "SentenceTransformerProviderSpec",
    "Text2VecProviderConfig",
    "Text2VecProviderSpec",
    "VertexAIProviderConfig",
    "VertexAIProviderSpec",
    "VoyageAIProviderConfig",
    "VoyageAIProviderSpec",
    "WatsonXProviderConfig",
    "WatsonXProviderSpec",
]


class BedrockProviderConfig(TypedDict, total=False):
    """Configuration of Amazon Bedrock."""

    model_name: Annotated[str, "amazon.titan-embed-text-v1"]
    session: Any


class CohereProviderConfig(TypedDict, total=False):
    """Configuration of Cohere."""

    api_key: str
    model_name: Annotated[str, "large"]


class CustomProviderConfig(TypedDict, total=False):
    """Configuration of a custom function."""

    embedding_callable: Any


class GenerativeAiProviderConfig(TypedDict, total=False):
    """Configuration of Google's Gemini."""

    api_key: str
    model_name: Annotated[str, "gemini-embedding-001"]
    task_type: Annotated[str, "RETRIEVAL_DOCUMENT"]


class VertexAIProviderConfig(TypedDict, total=False):
    """Configuration of Google's Vertex AI."""

    api_key: str
    model_name: Annotated[str, "textembedding-gecko"]
    project_id: str
    location: Annotated[str, "us-central1"]
    region: Annotated[str, "us-central1"]
    task_type: Annotated[str, "RETRIEVAL_DOCUMENT"]
    output_dimensionality: int


class HuggingFaceProviderConfig(TypedDict, total=False):
    """Configuration of Hugging Face."""

    url: str
    api_key: str
    model: Annotated[str, "sentence-transformers/all-MiniLM-L6-v2"]
    model_name: Annotated[str, "sentence-transformers/all-MiniLM-L6-v2"]


class WatsonXProviderConfig(TypedDict, total=False):
    """Configuration of IBM watsonx."""

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
    """Configuration of Instructor."""

    model_name: Annotated[str, "hkunlp/instructor-base"]
    device: Annotated[str, "cpu"]
    instruction: str


class JinaProviderConfig(TypedDict, total=False):
    """Configuration of Jina."""

    api_key: str
    model_name: Annotated[str, "jina-embeddings-v2-base-en"]


class AzureProviderConfig(TypedDict, total=False):
    """Configuration of OpenAI on Azure."""

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
    """Configuration of Ollama."""

    url: Annotated[str, "http://localhost:11434/api/embeddings"]
    model_name: str


class ONNXProviderConfig(TypedDict, total=False):
    """Configuration of a model in ONNX."""

    preferred_providers: list[str]


class OpenAIProviderConfig(TypedDict, total=False):
    """Configuration of OpenAI."""

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
    """Configuration of OpenCLIP."""

    model_name: Annotated[str, "ViT-B-32"]
    checkpoint: Annotated[str, "laion2b_s34b_b79k"]
    device: Annotated[str, "cpu"]


class RoboflowProviderConfig(TypedDict, total=False):
    """Configuration of Roboflow."""

    api_key: Annotated[str, ""]
    api_url: Annotated[str, "https://infer.roboflow.com"]


class SentenceTransformerProviderConfig(TypedDict, total=False):
    """Configuration of Sentence Transformers."""

    model_name: Annotated[str, "all-MiniLM-L6-v2"]
    device: Annotated[str, "cpu"]
    normalize_embeddings: Annotated[bool, False]


class Text2VecProviderConfig(TypedDict, total=False):
    """Configuration of text2vec."""

    model_name: Annotated[str, "shibing624/text2vec-base-chinese"]


class VoyageAIProviderConfig(TypedDict, total=False):
    """Configuration of Voyage AI."""

    api_key: str
    model: Annotated[str, "voyage-2"]
    input_type: str
    truncation: Annotated[bool, True]
    output_dtype: str
    output_dimension: int
    max_retries: Annotated[int, 0]
    timeout: float


class OpenRouterProviderConfig(TypedDict, total=False):
    """Configuration of OpenRouter."""

    api_key: str
    model_name: Annotated[str, "openai/text-embedding-3-small"]
    api_base: Annotated[str, "https://openrouter.ai/api/v1"]
    default_headers: dict[str, Any]
    dimensions: int


class BedrockProviderSpec(TypedDict, total=False):
    """Amazon Bedrock as an embedder."""

    provider: Required[Literal["amazon-bedrock"]]
    config: BedrockProviderConfig


class CohereProviderSpec(TypedDict, total=False):
    """Cohere as an embedder."""

    provider: Required[Literal["cohere"]]
    config: CohereProviderConfig


class CustomProviderSpec(TypedDict, total=False):
    """A custom function as an embedder."""

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
    """An embedder that only crewgraph has, or one under crewgraph's name for it; see docs/embedders.md."""

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
"""The providers by name."""

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
"""The specification of an embedder, discriminated by provider name."""

EmbedderConfig = ProviderSpec
