"""What turns texts into vectors."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_FUNCTION = rows("crewgraph.vectors.function", "EmbeddingFunction")
_SPECS = "crewgraph.vectors.specs"
_RESOLVE = rows("crewgraph.vectors.resolve", build_embedder="embedder_of", get_embedding_function="embedder_of")

_PROVIDERS = {
    "aws": ("Bedrock",),
    "cohere": ("Cohere",),
    "custom": ("Custom",),
    "google": ("GenerativeAi", "VertexAI"),
    "huggingface": ("HuggingFace",),
    "ibm": ("WatsonX",),
    "instructor": ("Instructor",),
    "jina": ("Jina",),
    "microsoft": ("Azure",),
    "ollama": ("Ollama",),
    "onnx": ("ONNX",),
    "openai": ("OpenAI",),
    "openclip": ("OpenCLIP",),
    "openrouter": ("OpenRouter",),
    "roboflow": ("Roboflow",),
    "sentence_transformer": ("SentenceTransformer",),
    "text2vec": ("Text2Vec",),
    "voyageai": ("VoyageAI",),
}


def _of(names: tuple[str, ...]) -> dict[str, str]:
    renamed = {f"{name}Provider{kind}": f"Provider{kind}" for name in names for kind in ("Config", "Spec")}
    return rows(_SPECS, **renamed)


_TYPES = {module: _of(names) for module, names in _PROVIDERS.items()}
_SPEC_ROWS = {name: target for names in _TYPES.values() for name, target in names.items() if name.endswith("Spec")}

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag": {},
    "crewai.rag.core": {},
    "crewai.rag.core.base_embeddings_callable": _FUNCTION,
    "crewai.rag.embeddings": {},
    "crewai.rag.embeddings.factory": {**_FUNCTION, **_RESOLVE},
    "crewai.rag.embeddings.types": {
        **_SPEC_ROWS,
        **rows(_SPECS, EmbedderConfig="ProviderSpec", ProviderSpec="ProviderSpec"),
    },
    "crewai.rag.embeddings.providers": {},
    **{f"crewai.rag.embeddings.providers.{module}": names for module, names in _TYPES.items()},
    "crewai.rag.embeddings.providers.custom.embedding_callable": {
        **_FUNCTION,
        **rows("crewgraph.vectors.function", CustomEmbeddingFunction="EmbeddingFunction"),
    },
    **{f"crewai.rag.embeddings.providers.{module}.types": names for module, names in _TYPES.items()},
}
"""The modules of this area."""
