"""Create embedders from specifications under CrewAI's names."""

from collections.abc import Mapping
from typing import Any, cast

from crewgraph.deprecations import warn_deprecated
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph_compat.stand_ins.rag.hosted_providers import RoboflowProvider
from crewgraph_compat.stand_ins.rag.providers import (
    BaseEmbeddingsProvider,
    InstructorProvider,
    ONNXProvider,
    OpenCLIPProvider,
    Text2VecProvider,
)

__all__ = ["PROVIDER_PATHS", "EmbeddingConfigurator", "build_embedder", "build_embedder_from_provider"]


_PACKAGE = "crewai.rag.embeddings.providers"

PROVIDER_PATHS = {
    "azure": f"{_PACKAGE}.microsoft.azure.AzureProvider",
    "amazon-bedrock": f"{_PACKAGE}.aws.bedrock.BedrockProvider",
    "cohere": f"{_PACKAGE}.cohere.cohere_provider.CohereProvider",
    "custom": f"{_PACKAGE}.custom.custom_provider.CustomProvider",
    "google-generativeai": f"{_PACKAGE}.google.generative_ai.GenerativeAiProvider",
    "google": f"{_PACKAGE}.google.generative_ai.GenerativeAiProvider",
    "google-vertex": f"{_PACKAGE}.google.vertex.VertexAIProvider",
    "huggingface": f"{_PACKAGE}.huggingface.huggingface_provider.HuggingFaceProvider",
    "instructor": f"{_PACKAGE}.instructor.instructor_provider.InstructorProvider",
    "jina": f"{_PACKAGE}.jina.jina_provider.JinaProvider",
    "ollama": f"{_PACKAGE}.ollama.ollama_provider.OllamaProvider",
    "onnx": f"{_PACKAGE}.onnx.onnx_provider.ONNXProvider",
    "openai": f"{_PACKAGE}.openai.openai_provider.OpenAIProvider",
    "openclip": f"{_PACKAGE}.openclip.openclip_provider.OpenCLIPProvider",
    "openrouter": f"{_PACKAGE}.openrouter.openrouter_provider.OpenRouterProvider",
    "roboflow": f"{_PACKAGE}.roboflow.roboflow_provider.RoboflowProvider",
    "sentence-transformer": f"{_PACKAGE}.sentence_transformer.sentence_transformer_provider.SentenceTransformerProvider",
    "text2vec": f"{_PACKAGE}.text2vec.text2vec_provider.Text2VecProvider",
    "voyageai": f"{_PACKAGE}.voyageai.voyageai_provider.VoyageAIProvider",
    "watsonx": f"{_PACKAGE}.ibm.watsonx.WatsonXProvider",
}
"""The import path of each provider class."""

_KEYS = ("provider", "config")
_OF_CHROMA: dict[str, type[BaseEmbeddingsProvider[Any]]] = {
    "instructor": InstructorProvider,
    "onnx": ONNXProvider,
    "openclip": OpenCLIPProvider,
    "roboflow": RoboflowProvider,
    "text2vec": Text2VecProvider,
}


def build_embedder(spec: object) -> Any:
    """Create an embedder from any form that `embedder=` accepts; call it to embed texts.

    The keys of `config` may also be next to `provider`, as older tools pass them. A custom provider yields an instance of
    the given class.

    Raises:
        EmbedderError: The specification is invalid.
        MissingExtra: The provider's package is not installed.
    """
    if isinstance(spec, BaseEmbeddingsProvider):
        return build_embedder_from_provider(cast("BaseEmbeddingsProvider[Any]", spec))
    if not isinstance(spec, Mapping) or "provider" not in spec:
        return embedder_of(cast("object", spec))
    settings = cast("Mapping[str, Any]", spec)
    extra = {key: value for key, value in settings.items() if key not in _KEYS}
    config: dict[str, Any] = {**(settings.get("config") or {}), **extra}
    return _built(str(settings["provider"]), config)


def build_embedder_from_provider(provider: BaseEmbeddingsProvider[Any]) -> Any:
    """Create the embedder of a provider from its settings.

    Raises:
        EmbedderError: A setting is invalid.
        MissingExtra: The provider's package is not installed.
    """
    return provider.create()


def _built(provider: str, config: dict[str, Any]) -> Any:
    own = config.get("embedding_callable")
    if provider == "custom" and isinstance(own, type):
        return own(**{key: value for key, value in config.items() if key != "embedding_callable"})
    if provider in _OF_CHROMA:
        return build_embedder_from_provider(_OF_CHROMA[provider](**config))
    return embedder_of({"provider": provider, "config": config})


class EmbeddingConfigurator:
    """Create embedders from specifications; `build_embedder` replaces it."""

    def configure_embedder(self, embedder_config: Any = None) -> Any:
        """Create the specified embedder, or the local one if nothing is specified.

        Raises:
            EmbedderError: The specification is invalid.
            MissingExtra: The provider's package is not installed.
        """
        warn_deprecated(
            "`EmbeddingConfigurator` is gone",
            "import `build_embedder` from `crewai.rag.embeddings.factory`",
            by_hand=True,
        )
        return build_embedder(embedder_config or None)
