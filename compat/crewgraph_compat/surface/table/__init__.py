"""The mapping from names of crewai to names of crewgraph, as data, with one file per area."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

__all__ = ["AREAS", "FILES", "TABLE"]

AREAS: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__) if one.name != "rows"
)
"""The files, by name."""

TABLE: dict[str, dict[str, str]] = {module: names for area in AREAS for module, names in area.MODULES.items()}
"""By module of crewai, its names with their "module:name" in crewgraph; empty for packages that contain only modules."""

FILES: dict[str, str] = {module: str(area.__file__) for area in AREAS for module in area.MODULES}
"""The file that lists the names of each module of crewai."""
