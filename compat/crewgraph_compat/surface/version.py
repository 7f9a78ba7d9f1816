"""The version that `crewai.__version__` tells, and what programs ask of newer ones: no package registry is asked here."""

__all__ = [
    "CREWAI_VERSION",
    "check_version",
    "get_crewai_version",
    "get_latest_version_from_pypi",
    "is_current_version_yanked",
    "is_newer_version_available",
]

CREWAI_VERSION = "1.15.30"
"""The release of crewai whose names and behaviour are followed; three plain numbers, because programs compare it."""


def get_crewai_version() -> str:
    """That release."""
    return CREWAI_VERSION


def get_latest_version_from_pypi(timeout: int = 2) -> str | None:
    """None: it is not known, as where the registry cannot be reached."""
    return None


def check_version() -> tuple[str, str | None]:
    """That release, and the latest one, which is not known."""
    return get_crewai_version(), get_latest_version_from_pypi()


def is_newer_version_available() -> tuple[bool, str, str | None]:
    """False, that release, and the latest one, which is not known."""
    return (False, *check_version())


def is_current_version_yanked() -> tuple[bool, str]:
    """False, and no reason."""
    return False, ""
