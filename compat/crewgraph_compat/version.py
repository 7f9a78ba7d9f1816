"""The version that `crewai.__version__` tells."""

__all__ = ["CREWAI_VERSION"]

CREWAI_VERSION = "1.15.30"
"""The release of crewai whose names and behaviour are followed; three plain numbers, because programs compare it."""
