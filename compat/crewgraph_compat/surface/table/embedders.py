"""Embedders."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_FUNCTION = rows("crewgraph_compat.stand_ins.rag.embedding_functions", "EmbeddingFunction")
_VALUES = "crewgraph_compat.stand_ins.rag.embedding_functions"
_VECTORS = rows(_VALUES, "Documents", "Embeddings")
_FACTORY = rows(
    "crewgraph_compat.stand_ins.rag.embedders",
    "PROVIDER_PATHS",
    "build_embedder",
    "build_embedder_from_provider",
    build_embedder_from_dict="build_embedder",
    get_embedding_function="build_embedder",
)
_LOCAL = "crewgraph_compat.stand_ins.rag.providers"
_HOSTED = "crewgraph_compat.stand_ins.rag.hosted_providers"
_OPENAI = "crewgraph_compat.stand_ins.rag.providers"
_WATSONX = "crewgraph_compat.stand_ins.rag.hosted_providers"

_PROVIDERS = (
    ("aws", "bedrock", "Bedrock", _HOSTED),
    ("cohere", "cohere_provider", "Cohere", _HOSTED),
    ("custom", "custom_provider", "Custom", _LOCAL),
    ("google", "generative_ai", "GenerativeAi", _HOSTED),
    ("google", "vertex", "VertexAI", _HOSTED),
    ("huggingface", "huggingface_provider", "HuggingFace", _HOSTED),
    ("ibm", "watsonx", "WatsonX", _WATSONX),
    ("instructor", "instructor_provider", "Instructor", _LOCAL),
    ("jina", "jina_provider", "Jina", _HOSTED),
    ("microsoft", "azure", "Azure", _OPENAI),
    ("ollama", "ollama_provider", "Ollama", _LOCAL),
    ("onnx", "onnx_provider", "ONNX", _LOCAL),
    ("openai", "openai_provider", "OpenAI", _OPENAI),
    ("openclip", "openclip_provider", "OpenCLIP", _LOCAL),
    ("openrouter", "openrouter_provider", "OpenRouter", _OPENAI),
    ("roboflow", "roboflow_provider", "Roboflow", _HOSTED),
    ("sentence_transformer", "sentence_transformer_provider", "SentenceTransformer", _LOCAL),
    ("text2vec", "text2vec_provider", "Text2Vec", _LOCAL),
    ("voyageai", "voyageai_provider", "VoyageAI", _HOSTED),
)
"""Its package, the module of its class, its name, and the class in crewgraph."""

_FUNCTIONS = {
    "google.genai_vertex_embedding": "GoogleGenAIVertexEmbeddingFunction",
    "ibm.embedding_callable": "WatsonXEmbeddingFunction",
    "voyageai.embedding_callable": "VoyageAIEmbeddingFunction",
}


def _provider_modules() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for package, module, name, home in _PROVIDERS:
        types = {
            **rows("crewgraph_compat.stand_ins.rag.provider_specs", f"{name}ProviderConfig"),
            **rows("crewgraph_compat.stand_ins.rag.provider_specs", f"{name}ProviderSpec"),
        }
        provider = rows(home, f"{name}Provider")
        found.setdefault(package, {}).update({**types, **provider})
        found.setdefault(f"{package}.types", {}).update(types)
        found[f"{package}.{module}"] = provider
    found["aws.bedrock"] |= rows(_HOSTED, "create_aws_session")
    for module, name in _FUNCTIONS.items():
        function = rows("crewgraph_compat.stand_ins.rag.embedding_functions", name)
        found[module] = {**function, **_VECTORS}
    found["google"] |= rows(
        "crewgraph_compat.stand_ins.rag.embedding_functions", _FUNCTIONS["google.genai_vertex_embedding"]
    )
    found["custom.embedding_callable"] = {
        **_FUNCTION,
        **_VECTORS,
        **rows("crewgraph_compat.stand_ins.rag.embedding_functions", "CustomEmbeddingFunction"),
    }
    return {f"crewai.rag.embeddings.providers.{module}": names for module, names in found.items()}


_SPECS = rows(
    "crewgraph_compat.stand_ins.rag.provider_specs",
    "AllowedEmbeddingProviders",
    "EmbedderConfig",
    "ProviderSpec",
    *(f"{name}ProviderSpec" for _, _, name, _ in _PROVIDERS),
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag": {},
    "crewai.rag.core": {},
    "crewai.rag.core.base_embeddings_callable": {
        **_FUNCTION,
        **rows(
            _VALUES,
            "Embeddable",
            "Embedding",
            "Embeddings",
            "PyEmbedding",
            "maybe_cast_one_to_many",
            "normalize_embeddings",
            "validate_embeddings",
        ),
    },
    "crewai.rag.core.base_embeddings_provider": {
        **rows("crewgraph_compat.stand_ins.rag.providers", "BaseEmbeddingsProvider"),
        **_FUNCTION,
    },
    "crewai.rag.core.types": rows(
        _VALUES, "Documents", "Embeddable", "Embedding", "Embeddings", "Images", "PyEmbedding", "PyEmbeddings"
    ),
    "crewai.rag.embeddings": {},
    "crewai.rag.embeddings.factory": {**_FUNCTION, **_FACTORY},
    "crewai.rag.embeddings.types": _SPECS,
    "crewai.rag.embeddings.providers": {},
    **_provider_modules(),
}
"""The modules of this area."""
