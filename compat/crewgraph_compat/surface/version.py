"""The value of `crewai.__version__`."""

CREWAI_VERSION = "1.15.30"
"""The crewai release whose names and behaviour are followed; three plain numbers, because programs compare it."""


def get_crewai_version() -> str:
    """Return `CREWAI_VERSION`."""
    return CREWAI_VERSION
