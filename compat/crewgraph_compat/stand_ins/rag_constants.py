"""Plain values of clients of vectors."""

from crewgraph.settings import storage_dir

__all__ = [
    "DEFAULT_DATABASE",
    "DEFAULT_RAG_CONFIG_CLASS",
    "DEFAULT_RAG_CONFIG_PATH",
    "DEFAULT_STORAGE_PATH",
    "DEFAULT_TENANT",
    "DISCRIMINATOR",
]

DEFAULT_TENANT = "default_tenant"
DEFAULT_DATABASE = "default_database"
DEFAULT_STORAGE_PATH = str(storage_dir())
"""The storage folder, as it was when this was first asked for."""

DISCRIMINATOR = "provider"
"""What tells configurations apart."""

DEFAULT_RAG_CONFIG_PATH = "crewai.rag.chromadb.config"
DEFAULT_RAG_CONFIG_CLASS = "ChromaDBConfig"
"""What is meant where nothing was set."""
