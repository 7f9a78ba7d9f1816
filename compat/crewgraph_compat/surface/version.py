"""The value of `crewai.__version__`, and CrewAI's update checks, which never query a package registry here."""

__all__ = [
    "CREWAI_VERSION",
    "check_version",
    "get_crewai_version",
    "get_latest_version_from_pypi",
    "is_current_version_yanked",
    "is_newer_version_available",
]

CREWAI_VERSION = "1.15.30"
"""The crewai release whose names and behaviour are followed; three plain numbers, because programs compare it."""


def get_crewai_version() -> str:
    """Return `CREWAI_VERSION`."""
    return CREWAI_VERSION


def get_latest_version_from_pypi(timeout: int = 2) -> str | None:
    """Return None, as if the registry could not be reached."""
    return None


def check_version() -> tuple[str, str | None]:
    """Return the version, and None for the latest one."""
    return get_crewai_version(), get_latest_version_from_pypi()


def is_newer_version_available() -> tuple[bool, str, str | None]:
    """Return False, the version, and None for the latest one."""
    return (False, *check_version())


def is_current_version_yanked() -> tuple[bool, str]:
    """Return False and an empty reason."""
    return False, ""
