"""Which name of crewai is which name of crewgraph, as data: one file an area."""

from crewgraph_compat.table import (
    a2a,
    agent_parts,
    agents,
    console,
    conversations,
    crews,
    declared_flows,
    embedders,
    evaluation,
    event_scopes,
    events,
    flow_parts,
    flow_people,
    flows,
    for_tools,
    former,
    hooks,
    jobs,
    knowledge,
    loops,
    memories,
    models,
    planning,
    projects,
    providers,
    skills,
    state,
    tools,
    utilities,
)

__all__ = ["AREAS", "FILES", "TABLE"]

AREAS = (
    a2a,
    agent_parts,
    agents,
    console,
    conversations,
    crews,
    declared_flows,
    embedders,
    evaluation,
    event_scopes,
    events,
    flow_parts,
    flow_people,
    flows,
    for_tools,
    former,
    hooks,
    jobs,
    knowledge,
    loops,
    memories,
    models,
    planning,
    projects,
    providers,
    skills,
    state,
    tools,
    utilities,
)

TABLE: dict[str, dict[str, str]] = {module: names for area in AREAS for module, names in area.MODULES.items()}
"""A module of crewai to its names, each to "module:name" of crewgraph; packages that hold only modules have none."""

FILES: dict[str, str] = {module: str(area.__file__) for area in AREAS for module in area.MODULES}
"""A module of crewai to the file that says what is in it."""
