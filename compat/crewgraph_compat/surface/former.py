"""Packages of crewai that newer releases have renamed."""

__all__ = ["replacement_package"]

_FORMER: dict[str, str] = {"crewai.utilities.events": "crewai.events"}
"""Former packages, each with its replacement."""


def replacement_package(module: str) -> tuple[str, str] | None:
    """Return the former package that contains a module and its replacement, or None."""
    result = next((root for root in _FORMER if f"{module}.".startswith(f"{root}.")), None)
    return None if result is None else (result, _FORMER[result])
