"""Language models: models by name, LangChain chat models, custom classes, and scripted models for tests."""

from crewgraph.lazy import lazy_exports

__getattr__ = lazy_exports(__name__, {})
