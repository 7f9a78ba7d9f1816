"""Providers of embeddings that run on this machine."""

from typing import Any

from crewgraph_compat.stand_ins.embedding_function import CustomEmbeddingFunction
from crewgraph_compat.stand_ins.embeddings_provider import BaseEmbeddingsProvider, said
from crewgraph_compat.stand_ins.provided_function import ChromaFunction, ProvidedFunction

__all__ = [
    "CustomProvider",
    "InstructorEmbeddings",
    "InstructorProvider",
    "ONNXEmbeddings",
    "ONNXProvider",
    "OllamaEmbeddings",
    "OllamaProvider",
    "OpenCLIPEmbeddings",
    "OpenCLIPProvider",
    "SentenceTransformerEmbeddings",
    "SentenceTransformerProvider",
    "Text2VecEmbeddings",
    "Text2VecProvider",
]


class OllamaEmbeddings(ProvidedFunction):
    """Ollama's embeddings."""

    provider = "ollama"


class SentenceTransformerEmbeddings(ProvidedFunction):
    """Models of Sentence Transformers."""

    provider = "sentence-transformer"


class ONNXEmbeddings(ChromaFunction):
    """A small model in ONNX."""

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
    """A class of one's own, which is made with whatever else is given."""

    embedding_callable: type[CustomEmbeddingFunction]


class OllamaProvider(BaseEmbeddingsProvider[Any]):
    """Ollama; the model has to be named."""

    embedding_callable: type[Any] = OllamaEmbeddings
    url: str = said("EMBEDDINGS_OLLAMA_URL", "OLLAMA_URL", default="http://localhost:11434/api/embeddings")
    model_name: str = said("EMBEDDINGS_OLLAMA_MODEL_NAME", "OLLAMA_MODEL_NAME", "OLLAMA_MODEL", "model")


class SentenceTransformerProvider(BaseEmbeddingsProvider[Any]):
    """Models of Sentence Transformers."""

    embedding_callable: type[Any] = SentenceTransformerEmbeddings
    model_name: str = said(
        "EMBEDDINGS_SENTENCE_TRANSFORMER_MODEL_NAME",
        "SENTENCE_TRANSFORMER_MODEL_NAME",
        "model",
        default="all-MiniLM-L6-v2",
    )
    device: str = said("EMBEDDINGS_SENTENCE_TRANSFORMER_DEVICE", "SENTENCE_TRANSFORMER_DEVICE", default="cpu")
    normalize_embeddings: bool = said(
        "EMBEDDINGS_SENTENCE_TRANSFORMER_NORMALIZE_EMBEDDINGS",
        "SENTENCE_TRANSFORMER_NORMALIZE_EMBEDDINGS",
        default=False,
    )


class ONNXProvider(BaseEmbeddingsProvider[Any]):
    """A small model in ONNX."""

    embedding_callable: type[Any] = ONNXEmbeddings
    preferred_providers: list[str] | None = said(
        "EMBEDDINGS_ONNX_PREFERRED_PROVIDERS", "ONNX_PREFERRED_PROVIDERS", default=None
    )


class OpenCLIPProvider(BaseEmbeddingsProvider[Any]):
    """OpenCLIP, for texts and images."""

    embedding_callable: type[Any] = OpenCLIPEmbeddings
    model_name: str = said("EMBEDDINGS_OPENCLIP_MODEL_NAME", "OPENCLIP_MODEL_NAME", "model", default="ViT-B-32")
    checkpoint: str = said("EMBEDDINGS_OPENCLIP_CHECKPOINT", "OPENCLIP_CHECKPOINT", default="laion2b_s34b_b79k")
    device: str | None = said("EMBEDDINGS_OPENCLIP_DEVICE", "OPENCLIP_DEVICE", default="cpu")


class InstructorProvider(BaseEmbeddingsProvider[Any]):
    """Instructor, whose embeddings follow an instruction."""

    embedding_callable: type[Any] = InstructorEmbeddings
    model_name: str = said(
        "EMBEDDINGS_INSTRUCTOR_MODEL_NAME", "INSTRUCTOR_MODEL_NAME", "model", default="hkunlp/instructor-base"
    )
    device: str = said("EMBEDDINGS_INSTRUCTOR_DEVICE", "INSTRUCTOR_DEVICE", default="cpu")
    instruction: str | None = said("EMBEDDINGS_INSTRUCTOR_INSTRUCTION", "INSTRUCTOR_INSTRUCTION", default=None)


class Text2VecProvider(BaseEmbeddingsProvider[Any]):
    """text2vec, for Chinese."""

    embedding_callable: type[Any] = Text2VecEmbeddings
    model_name: str = said(
        "EMBEDDINGS_TEXT2VEC_MODEL_NAME", "TEXT2VEC_MODEL_NAME", "model", default="shibing624/text2vec-base-chinese"
    )
