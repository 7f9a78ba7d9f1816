"""Whether Docling can be used."""

from importlib.util import find_spec

__all__ = ["DOCLING_AVAILABLE"]

DOCLING_AVAILABLE = find_spec("docling") is not None
