"""The providers of embeddings by CrewAI's names, and the configuration that each accepts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from crewgraph.errors import EmbedderError
from crewgraph.schema import PlainMapping

CUSTOM_EMBEDDERS = ("custom", "callable")
"""The names of a provider that is a function."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingProvider:
    """A service or library, and the LangChain class that embeds with it."""

    name: str
    module: str = "langchain_openai"
    class_name: str = "OpenAIEmbeddings"
    extra: str = ""
    """The extra to install: `pip install "crewgraph[extra]"`; "" if none is needed."""

    requires: tuple[str, ...] = ()
    """Further packages of the extra, by import name."""

    model: str | None = None
    """The default model; None if one must be configured."""

    arguments: Mapping[str, str]
    """The class's argument for each key of the configuration."""

    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Environment variables that supply missing arguments, by argument."""

    key: str | None = None
    """The argument for the API key, if requests need one."""

    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    """Arguments that are always passed, unless configured."""

    identity_arguments: tuple[str, ...] = ()
    """The arguments that affect vectors, apart from the model."""


def _keywords(same: str, **renamed: str) -> dict[str, str]:
    """The keys of a configuration: those that the class has, too, separated by spaces, and those that it names otherwise."""
    return {word: word for word in same.split()} | renamed


def _variables(**names: str) -> dict[str, tuple[str, ...]]:
    return {argument: tuple(variables.split()) for argument, variables in names.items()}


_OPENAI = _keywords(
    "model api_key timeout max_retries base_url default_headers dimensions organization",
    model_name="model",
    api_base="base_url",
    url="base_url",
    organization_id="organization",
)


def _openai_like(name: str, address: str, model: str, keys: str) -> EmbeddingProvider:
    return EmbeddingProvider(
        name=name,
        model=model,
        arguments=_OPENAI,
        variables=_variables(api_key=keys),
        key="api_key",
        defaults={"base_url": address},
        identity_arguments=("dimensions",),
    )


_PROVIDERS = (
    EmbeddingProvider(
        name="openai",
        model="text-embedding-3-large",
        arguments=_keywords(
            "model api_key timeout max_retries base_url default_headers dimensions organization api_type api_version",
            model_name="model",
            api_base="base_url",
            url="base_url",
            organization_id="organization",
            deployment="azure_deployment",
            deployment_id="azure_deployment",
        ),
        variables=_variables(
            model="EMBEDDINGS_OPENAI_MODEL_NAME",
            api_key="EMBEDDINGS_OPENAI_API_KEY OPENAI_API_KEY",
            base_url="EMBEDDINGS_OPENAI_API_BASE OPENAI_BASE_URL OPENAI_API_BASE",
            api_type="EMBEDDINGS_OPENAI_API_TYPE OPENAI_API_TYPE",
            organization="EMBEDDINGS_OPENAI_ORGANIZATION_ID OPENAI_ORGANIZATION_ID",
            dimensions="EMBEDDINGS_OPENAI_DIMENSIONS OPENAI_DIMENSIONS",
        ),
        key="api_key",
        identity_arguments=("dimensions",),
    ),
    EmbeddingProvider(
        name="azure",
        class_name="AzureOpenAIEmbeddings",
        arguments=_keywords(
            "model api_key timeout max_retries default_headers dimensions organization azure_endpoint api_type api_version "
            "azure_deployment azure_ad_token",
            model_name="model",
            organization_id="organization",
            api_base="azure_endpoint",
            base_url="azure_endpoint",
            url="azure_endpoint",
            deployment="azure_deployment",
            deployment_id="azure_deployment",
            deployment_name="azure_deployment",
        ),
        variables=_variables(
            model="EMBEDDINGS_OPENAI_MODEL_NAME AZURE_OPENAI_MODEL_NAME",
            api_key="EMBEDDINGS_OPENAI_API_KEY AZURE_API_KEY AZURE_OPENAI_API_KEY OPENAI_API_KEY",
            azure_endpoint="EMBEDDINGS_OPENAI_API_BASE AZURE_API_BASE AZURE_ENDPOINT AZURE_OPENAI_ENDPOINT OPENAI_API_BASE",
            api_version="EMBEDDINGS_OPENAI_API_VERSION AZURE_API_VERSION AZURE_OPENAI_API_VERSION OPENAI_API_VERSION",
            azure_deployment="EMBEDDINGS_OPENAI_DEPLOYMENT_ID AZURE_OPENAI_DEPLOYMENT AZURE_DEPLOYMENT_ID",
            azure_ad_token="AZURE_OPENAI_AD_TOKEN",
            dimensions="EMBEDDINGS_OPENAI_DIMENSIONS AZURE_OPENAI_DIMENSIONS",
        ),
        identity_arguments=("dimensions",),
    ),
    EmbeddingProvider(
        name="ollama",
        module="langchain_ollama",
        class_name="OllamaEmbeddings",
        arguments=_keywords(
            "model api_key base_url dimensions timeout", model_name="model", url="base_url", api_base="base_url"
        ),
        variables=_variables(
            model="EMBEDDINGS_OLLAMA_MODEL_NAME OLLAMA_MODEL_NAME OLLAMA_MODEL",
            base_url="EMBEDDINGS_OLLAMA_URL OLLAMA_URL OLLAMA_API_BASE OLLAMA_HOST",
            api_key="OLLAMA_API_KEY",
        ),
        identity_arguments=("dimensions",),
    ),
    _openai_like(
        "jina", "https://api.jina.ai/v1", "jina-embeddings-v2-base-en", "EMBEDDINGS_JINA_API_KEY JINA_API_KEY"
    ),
    _openai_like(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "openai/text-embedding-3-small",
        "EMBEDDINGS_OPENROUTER_API_KEY OPENROUTER_API_KEY",
    ),
    _openai_like("mistral", "https://api.mistral.ai/v1", "mistral-embed", "MISTRAL_API_KEY"),
    EmbeddingProvider(
        name="google",
        module="langchain_google_genai",
        class_name="GoogleGenerativeAIEmbeddings",
        extra="google",
        model="gemini-embedding-001",
        arguments=_keywords(
            "model api_key base_url task_type output_dimensionality",
            model_name="model",
            dimensions="output_dimensionality",
        ),
        variables=_variables(
            model="EMBEDDINGS_GOOGLE_GENERATIVE_AI_MODEL_NAME",
            api_key="EMBEDDINGS_GOOGLE_API_KEY GOOGLE_API_KEY GEMINI_API_KEY",
            task_type="EMBEDDINGS_GOOGLE_GENERATIVE_AI_TASK_TYPE GOOGLE_GENERATIVE_AI_TASK_TYPE GEMINI_TASK_TYPE",
        ),
        key="api_key",
        identity_arguments=("output_dimensionality", "task_type"),
    ),
    EmbeddingProvider(
        name="google-vertex",
        module="langchain_google_genai",
        class_name="GoogleGenerativeAIEmbeddings",
        extra="google",
        arguments=_keywords(
            "model api_key base_url task_type output_dimensionality project location",
            model_name="model",
            dimensions="output_dimensionality",
            project_id="project",
            region="location",
        ),
        variables=_variables(
            model="EMBEDDINGS_GOOGLE_VERTEX_MODEL_NAME GOOGLE_VERTEX_MODEL_NAME",
            api_key="EMBEDDINGS_GOOGLE_CLOUD_API_KEY GOOGLE_CLOUD_API_KEY",
            project="EMBEDDINGS_GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_PROJECT",
            location="EMBEDDINGS_GOOGLE_CLOUD_LOCATION EMBEDDINGS_GOOGLE_CLOUD_REGION GOOGLE_CLOUD_LOCATION",
            task_type="EMBEDDINGS_GOOGLE_VERTEX_TASK_TYPE GOOGLE_VERTEX_TASK_TYPE",
        ),
        defaults={"vertexai": True, "location": "us-central1"},
        identity_arguments=("output_dimensionality", "task_type"),
    ),
    EmbeddingProvider(
        name="cohere",
        module="langchain_cohere",
        class_name="CohereEmbeddings",
        extra="cohere",
        arguments=_keywords(
            "model base_url truncate max_retries",
            model_name="model",
            api_key="cohere_api_key",
            timeout="request_timeout",
        ),
        variables=_variables(
            model="EMBEDDINGS_COHERE_MODEL_NAME", cohere_api_key="EMBEDDINGS_COHERE_API_KEY COHERE_API_KEY CO_API_KEY"
        ),
        key="cohere_api_key",
        identity_arguments=("truncate",),
    ),
    EmbeddingProvider(
        name="voyageai",
        module="langchain_voyageai",
        class_name="VoyageAIEmbeddings",
        extra="voyageai",
        model="voyage-2",
        arguments=_keywords(
            "model api_key base_url batch_size output_dimension truncation",
            model_name="model",
            dimensions="output_dimension",
        ),
        variables=_variables(
            model="EMBEDDINGS_VOYAGEAI_MODEL VOYAGEAI_MODEL",
            api_key="EMBEDDINGS_VOYAGEAI_API_KEY VOYAGEAI_API_KEY VOYAGE_API_KEY",
        ),
        key="api_key",
        identity_arguments=("output_dimension", "truncation"),
    ),
    EmbeddingProvider(
        name="huggingface",
        module="langchain_huggingface",
        class_name="HuggingFaceEndpointEmbeddings",
        extra="huggingface",
        model="sentence-transformers/all-MiniLM-L6-v2",
        arguments=_keywords(
            "model url provider model_kwargs", model_name="model", api_url="url", api_key="huggingfacehub_api_token"
        ),
        variables=_variables(
            model="EMBEDDINGS_HUGGINGFACE_MODEL_NAME HUGGINGFACE_MODEL_NAME",
            url="EMBEDDINGS_HUGGINGFACE_URL",
            huggingfacehub_api_token="EMBEDDINGS_HUGGINGFACE_API_KEY HUGGINGFACE_API_KEY HF_TOKEN",
        ),
        identity_arguments=("url", "model_kwargs"),
    ),
    EmbeddingProvider(
        name="sentence-transformer",
        module="langchain_huggingface",
        class_name="HuggingFaceEmbeddings",
        extra="sentence-transformers",
        requires=("sentence_transformers",),
        model="all-MiniLM-L6-v2",
        arguments=_keywords(
            "model_name cache_folder device normalize_embeddings model_kwargs encode_kwargs", model="model_name"
        ),
        variables=_variables(
            model_name="EMBEDDINGS_SENTENCE_TRANSFORMER_MODEL_NAME SENTENCE_TRANSFORMER_MODEL_NAME",
            device="EMBEDDINGS_SENTENCE_TRANSFORMER_DEVICE SENTENCE_TRANSFORMER_DEVICE",
        ),
        identity_arguments=("normalize_embeddings", "model_kwargs", "encode_kwargs"),
    ),
    EmbeddingProvider(
        name="amazon-bedrock",
        module="langchain_aws",
        class_name="BedrockEmbeddings",
        extra="aws",
        model="amazon.titan-embed-text-v1",
        arguments=_keywords(
            "model_id session region_name aws_access_key_id aws_secret_access_key aws_session_token "
            "credentials_profile_name endpoint_url dimensions normalize model_kwargs",
            model="model_id",
            model_name="model_id",
            region="region_name",
            base_url="endpoint_url",
        ),
        variables=_variables(
            model_id="EMBEDDINGS_BEDROCK_MODEL_NAME BEDROCK_MODEL_NAME AWS_BEDROCK_MODEL_NAME",
            region_name="AWS_REGION_NAME AWS_REGION AWS_DEFAULT_REGION",
        ),
        identity_arguments=("dimensions", "normalize", "model_kwargs"),
    ),
    EmbeddingProvider(
        name="watsonx",
        module="langchain_ibm",
        class_name="WatsonxEmbeddings",
        extra="watsonx",
        arguments=_keywords(
            "model_id url project_id space_id token username password instance_id version verify params",
            model="model_id",
            model_name="model_id",
            api_key="apikey",
            api_client="watsonx_client",
        ),
        variables=_variables(
            model_id="EMBEDDINGS_WATSONX_MODEL_ID WATSONX_MODEL_ID",
            url="EMBEDDINGS_WATSONX_URL WATSONX_URL",
            apikey="EMBEDDINGS_WATSONX_API_KEY WATSONX_API_KEY WATSONX_APIKEY",
            project_id="EMBEDDINGS_WATSONX_PROJECT_ID WATSONX_PROJECT_ID",
            space_id="EMBEDDINGS_WATSONX_SPACE_ID WATSONX_SPACE_ID",
        ),
        identity_arguments=("params",),
    ),
)

EMBEDDING_PROVIDERS: dict[str, EmbeddingProvider] = {provider.name: provider for provider in _PROVIDERS}
"""Every provider that is reached through a LangChain class, by name."""

_ALIASES = {
    "aws": "amazon-bedrock",
    "azure-openai": "azure",
    "bedrock": "amazon-bedrock",
    "gemini": "google",
    "google-generativeai": "google",
    "google-genai": "google",
    "hf": "huggingface",
    "mistralai": "mistral",
    "sentence-transformers": "sentence-transformer",
    "vertex": "google-vertex",
    "vertexai": "google-vertex",
    "voyage": "voyageai",
    "watson": "watsonx",
}

_NO_EMBEDDINGS = {
    "anthropic": "it has no embedding models, and recommends `voyageai`",
    "groq": "it has no embeddings",
    "instructor": "give a function or a LangChain `Embeddings`",
    "onnx": 'its model is `{"provider": "sentence-transformer"}`',
    "openclip": "give a function or a LangChain `Embeddings`",
    "oracle": "give LangChain's `OracleEmbeddings`",
    "roboflow": "give a function or a LangChain `Embeddings`",
    "text2vec": 'its model runs as `{"provider": "sentence-transformer", "config": {"model_name": ...}}`',
}


def check_provider(embedder: PlainMapping) -> None:
    """Check that an embedder's dict has its form, and names a provider.

    Raises:
        EmbedderError: it does not.
    """
    name = embedder.get("provider")
    if embedder.keys() - {"provider", "config"} or not isinstance(name, str):
        raise EmbedderError(
            'An embedder dict has the form {"provider": ..., "config": {...}}; '
            f"this one has the keys {sorted(embedder)}."
        )
    if name.strip().lower() not in ("local", *CUSTOM_EMBEDDERS):
        embedding_provider(name)


def embedding_provider(name: str) -> EmbeddingProvider:
    """The provider of a name or alias.

    Raises:
        EmbedderError: it is unknown; the message lists the known ones.
    """
    plain = name.strip().lower().replace("_", "-")
    provider = EMBEDDING_PROVIDERS.get(_ALIASES.get(plain, plain))
    if provider is None:
        reason = f": {_NO_EMBEDDINGS[plain]}" if plain in _NO_EMBEDDINGS else ""
        known = ", ".join(sorted([*EMBEDDING_PROVIDERS, "custom", "local"]))
        raise EmbedderError(f"`{name}` is not a supported provider of embeddings{reason}. Supported: {known}.")
    return provider
