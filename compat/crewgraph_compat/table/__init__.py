"""Which name of crewai is which name of crewgraph, as data: one file an area."""

from crewgraph_compat.table import agents, crews, embedders, events, flows, knowledge, memories, models, projects, tools

__all__ = ["FILES", "TABLE"]

_AREAS = (crews, agents, flows, projects, models, embedders, tools, memories, knowledge, events)

TABLE: dict[str, dict[str, str]] = {module: names for area in _AREAS for module, names in area.MODULES.items()}
"""A module of crewai to its names, each to "module:name" of crewgraph; packages that hold only modules have none."""

FILES: dict[str, str] = {module: str(area.__file__) for area in _AREAS for module in area.MODULES}
"""A module of crewai to the file that says what is in it."""
