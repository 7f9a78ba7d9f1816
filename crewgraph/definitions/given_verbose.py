"""Whether work is shown, as users say so of agents and crews."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from crewgraph.deprecations import warn_deprecated

__all__ = ["GivenVerbose"]


def _is_shown(given: Any) -> Any:
    if not isinstance(given, int):
        return given
    if given not in (0, 1):
        warn_deprecated(f"`verbose={given}`", "write `verbose=True`")
    return given > 0


GivenVerbose = Annotated[bool, BeforeValidator(_is_shown)]
"""Numbers are taken as CrewAI's former levels: 0 is off."""
