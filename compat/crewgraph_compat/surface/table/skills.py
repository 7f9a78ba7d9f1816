"""Skills."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_CACHE = rows("crewgraph.contrib.skills.registry", SkillCacheManager="SkillCache")
_DOWNLOADS = rows("crewgraph_compat.stand_ins.events", "SkillDownloadCompletedEvent", "SkillDownloadStartedEvent")
_EVENTS = rows(
    "crewgraph.events.skill",
    "SkillActivatedEvent",
    "SkillDiscoveryCompletedEvent",
    "SkillDiscoveryStartedEvent",
    "SkillEvent",
    "SkillLoadFailedEvent",
    "SkillLoadedEvent",
    "SkillUsedEvent",
)
_LEVELS = rows("crewgraph.contrib.skills.skill", "INSTRUCTIONS", "METADATA", "RESOURCES")
_LIMITS = rows("crewgraph.contrib.skills.skill", "MAX_SKILL_NAME_LENGTH", "MIN_SKILL_NAME_LENGTH", "SKILL_NAME_PATTERN")
_LOADER = rows("crewgraph.contrib.skills.discovery", "activate_skill", "discover_skills", "load_skill", "load_skills")
_LOADER_PARTS = rows(
    "crewgraph.contrib.skills.discovery", "build_skill_catalog", "format_skill_context", "load_resources"
)
_ERROR = rows("crewgraph.contrib.skills.skill", "SkillParseError")
_FILE = rows("crewgraph.contrib.skills.skill", "SKILL_FILENAME")
_FOLDER = rows(
    "crewgraph.contrib.skills.skill", "load_skill_instructions", "load_skill_metadata", "load_skill_resources"
)
_FRONT_MATTER = rows("crewgraph.contrib.skills.skill", "parse_frontmatter")
_MODELS = rows("crewgraph.contrib.skills.skill", "Skill", "SkillFrontmatter")
_REGISTRY = rows(
    "crewgraph.contrib.skills.registry",
    "SkillRef",
    "is_registry_ref",
    "parse_registry_ref",
    "parse_skill_ref",
    "resolve_registry_ref",
)
_VERSIONS = rows("crewgraph.contrib.skills.registry", "versions_match")

_CACHES = {**_CACHE, **_VERSIONS, **rows("crewgraph.contrib.skills.registry", "SkillMetadata")}
_OF_EVENTS = {**_DOWNLOADS, **rows("crewgraph.events.skill", "SkillEvent")}
_REGISTRIES = {**_REGISTRY, **rows("crewgraph.contrib.skills.registry", "download_skill")}

MODULES: dict[str, dict[str, str]] = {
    "crewai.events.types.skill_events": _EVENTS,
    "crewai.experimental.skills": {**_CACHE, **_REGISTRY},
    "crewai.experimental.skills.cache": _CACHES,
    "crewai.experimental.skills.events": _OF_EVENTS,
    "crewai.experimental.skills.registry": _REGISTRIES,
    "crewai.skills": {**_CACHE, **_ERROR, **_LOADER, **_MODELS, **_REGISTRY},
    "crewai.skills.cache": _CACHES,
    "crewai.skills.events": _OF_EVENTS,
    "crewai.skills.loader": {**_FILE, **_LOADER, **_LOADER_PARTS},
    "crewai.skills.models": {
        **_LEVELS,
        **_LIMITS,
        **_MODELS,
        **rows("crewgraph.contrib.skills.skill", "DisclosureLevel", "MAX_DESCRIPTION_LENGTH", "ResourceDirName"),
    },
    "crewai.skills.parser": {
        **_ERROR,
        **_FILE,
        **_FOLDER,
        **_FRONT_MATTER,
        **rows("crewgraph.contrib.skills.skill", "parse_skill_md"),
    },
    "crewai.skills.registry": _REGISTRIES,
    "crewai.skills.tool": rows(
        "crewgraph.contrib.skills.tool",
        "LOAD_SKILL_TOOL_NAME",
        "LoadSkillSchema",
        "LoadSkillTool",
        "create_skill_loader_tool",
        "resolve_loader_tool_name",
    ),
    "crewai.skills.validation": {
        **_LIMITS,
        **_VERSIONS,
        **rows("crewgraph.contrib.skills.skill", "validate_directory_name"),
    },
}
"""The modules of this area."""
