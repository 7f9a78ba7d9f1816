"""`python -m surface.reexports` writes the file of names that CrewAI's modules merely import from each other."""

import json
from pathlib import Path

from crewgraph_compat.surface import table

from surface.manifest import VERSIONS, manifest

__all__ = ["PATH", "reexports", "written"]

PATH = Path(table.__file__).with_name("reexports.json")

_ELSEWHERE = {
    "TYPE_CHECKING": "typing:TYPE_CHECKING",
    "UUID1": "pydantic:UUID1",
    "UUID3": "pydantic:UUID3",
    "UUID4": "pydantic:UUID4",
    "UUID5": "pydantic:UUID5",
    "FilePath": "pydantic:FilePath",
    "DirectoryPath": "pydantic:DirectoryPath",
    "NewPath": "pydantic:NewPath",
    "StrictBytes": "pydantic:StrictBytes",
    "CoreSchema": "pydantic_core:CoreSchema",
    "NDArray": "numpy.typing:NDArray",
}

_HOMES = (
    "crewai.utilities.constants",
    "crewai.utilities.printer",
    "crewai.utilities.i18n",
    "crewai.utilities.guardrail_types",
    "crewai.utilities.serialization",
    "crewai.utilities.tool_result_artifacts",
    "crewai.version",
    "crewai.utilities.version",
    "crewai.events.event_bus",
    "crewai.events.event_context",
    "crewai.events.event_listener",
    "crewai.events.types.event_bus_types",
    "crewai.types.streaming",
    "crewai.rag.embeddings.types",
    "crewai.rag.config.constants",
    "crewai.rag.config.base",
    "crewai.rag.config.types",
    "crewai.rag.core.types",
    "crewai.rag.chromadb.constants",
    "crewai.rag.chromadb.types",
    "crewai.mcp.config",
    "crewai.mcp.filters",
    "crewai.mcp.client",
    "crewai.tools.mcp_tool_wrapper",
    "crewai.flow.types",
    "crewai.flow.flow_context",
    "crewai.flow.flow_definition",
    "crewai.flow.flow_wrappers",
    "crewai.flow.constants",
    "crewai.flow.config",
    "crewai.flow.expressions",
    "crewai.flow.flow_config",
    "crewai.flow.dsl._conditions",
    "crewai.agents.constants",
    "crewai.llms.context_window",
    "crewai.llms.constants",
    "crewai.llms.base_llm",
    "crewai.constants",
    "crewai.hooks.types",
    "crewai.hooks.dispatch",
    "crewai.skills.models",
    "crewai.skills.parser",
    "crewai.security.constants",
    "crewai.a2a.types",
)
"""Modules in which values that many others import are defined."""

_APART = (
    "DEFAULT_CONTEXT_WINDOW_SIZE",
    "MCP_CONNECTION_TIMEOUT",
    "MCP_DISCOVERY_TIMEOUT",
    "MCP_MAX_RETRIES",
    "MCP_TOOL_EXECUTION_TIMEOUT",
)
"""Values that modules have each of their own, under one name."""

_OWN = ("crewai.utilities.converter.generate_model_description",)
"""What a module had of its own in one release, and imports in another: the first is what its programs know."""


def reexports() -> dict[str, dict[str, str]]:
    """A module to the names it merely imports, each to where it is defined."""
    homes = _homes()
    found: dict[str, dict[str, str]] = {}
    for version in VERSIONS:
        for module, names in manifest(version)["modules"].items():
            for name, kind in names.items():
                origin = _origin(name, str(kind), homes) if isinstance(kind, str) else None
                if origin is not None and f"{module}.{name}" not in (origin, *_OWN):
                    found.setdefault(module, {})[name] = origin
    return {module: dict(sorted(names.items())) for module, names in sorted(found.items())}


def written(found: dict[str, dict[str, str]]) -> str:
    """How the file looks: a module a line."""
    lines = (f"{json.dumps(module)}: {json.dumps(names)}" for module, names in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _homes() -> dict[str, str]:
    """Constants, aliases and instances have no address of their own in the manifests: the first of the known homes is it."""
    places: dict[str, list[str]] = {}
    for version in VERSIONS:
        for module, names in manifest(version)["modules"].items():
            for name, kind in names.items():
                is_value = isinstance(kind, str) and kind.partition(" ")[0] in ("constant", "instance", "type-alias")
                if is_value and name not in _APART:
                    places.setdefault(name, []).append(module)
    found = ((name, next((home for home in _HOMES if home in modules), None)) for name, modules in places.items())
    return {name: f"{home}.{name}" for name, home in found if home is not None}


def _origin(name: str, kind: str, homes: dict[str, str]) -> str | None:
    kind, _, origin = kind.partition(" ")
    if kind in ("module", "reexport"):
        return None
    if origin.startswith("crewai."):
        return origin
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    return homes.get(name) if kind in ("constant", "instance", "type-alias") else None


if __name__ == "__main__":
    PATH.write_text(written(reexports()), "utf-8")
