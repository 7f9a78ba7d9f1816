"""Modules of crewai that newer releases have elsewhere."""

__all__ = ["replacement_package"]

_FORMER: dict[str, str] = {"crewai.utilities.events": "crewai.events"}
"""A package to what it became."""


def replacement_package(module: str) -> tuple[str, str] | None:
    """The former package that a module is of, and where programs find its names now; None where it stands in no such one."""
    result = next((root for root in _FORMER if f"{module}.".startswith(f"{root}.")), None)
    return None if result is None else (result, _FORMER[result])
