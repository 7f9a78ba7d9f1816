"""What turns texts into vectors."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STAND_INS = "crewgraph_compat.stand_ins"
_FUNCTION = rows(f"{_STAND_INS}.rag.embedders", "EmbeddingFunction")
_VALUES = f"{_STAND_INS}.rag.embedders"
_VECTORS = rows(_VALUES, "Documents", "Embeddings")
_FACTORY = rows(
    f"{_STAND_INS}.rag.embedders",
    "build_embedder",
    build_embedder_from_dict="build_embedder",
    get_embedding_function="build_embedder",
)

_PROVIDERS = (
    ("aws", "Bedrock"),
    ("cohere", "Cohere"),
    ("custom", "Custom"),
    ("google", "GenerativeAi"),
    ("google", "VertexAI"),
    ("huggingface", "HuggingFace"),
    ("ibm", "WatsonX"),
    ("instructor", "Instructor"),
    ("jina", "Jina"),
    ("microsoft", "Azure"),
    ("ollama", "Ollama"),
    ("onnx", "ONNX"),
    ("openai", "OpenAI"),
    ("openclip", "OpenCLIP"),
    ("openrouter", "OpenRouter"),
    ("roboflow", "Roboflow"),
    ("sentence_transformer", "SentenceTransformer"),
    ("text2vec", "Text2Vec"),
    ("voyageai", "VoyageAI"),
)
"""The package of each provider, and its name."""


def _provider_modules() -> dict[str, dict[str, str]]:
    modules: dict[str, dict[str, str]] = {}
    for package, name in _PROVIDERS:
        types = {
            **rows(f"{_STAND_INS}.rag.provider_specs", f"{name}ProviderConfig"),
            **rows(f"{_STAND_INS}.rag.provider_specs", f"{name}ProviderSpec"),
        }
        modules.setdefault(package, {}).update(types)
        modules.setdefault(f"{package}.types", {}).update(types)
    modules["custom.embedding_callable"] = {
        **_FUNCTION,
        **_VECTORS,
        **rows(f"{_STAND_INS}.rag.embedders", "CustomEmbeddingFunction"),
    }
    return {f"crewai.rag.embeddings.providers.{module}": names for module, names in modules.items()}


_SPECS = rows(
    f"{_STAND_INS}.rag.provider_specs",
    "AllowedEmbeddingProviders",
    "EmbedderConfig",
    "ProviderSpec",
    *(f"{name}ProviderSpec" for _, name in _PROVIDERS),
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
