"""References to skills in CrewAI's registry, resolved from folders on this machine; nothing is downloaded."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from crewgraph.contrib.skills.skill import SKILL_FILENAME, Skill, load_skill_instructions, load_skill_metadata
from crewgraph.errors import DefinitionError
from crewgraph.schema import is_object
from crewgraph.settings import storage_dir

_METADATA_FILE = ".crewai_meta.json"  # in the folders of CrewAI's cache


class SkillNotInstalled(DefinitionError, RuntimeError):
    """A skill of the registry is not installed; the message says where to put it."""


class SkillRef(NamedTuple):
    """A reference to a skill in a registry."""

    org: str
    name: str
    version: str | None = None
    """The required version; None accepts any."""


def is_registry_ref(value: Any) -> bool:
    """Return whether a value is a registry reference, that is text starting with `@`, rather than a folder."""
    return isinstance(value, str) and value.startswith("@")


def parse_skill_ref(ref: str) -> SkillRef:
    """Parse a registry reference: `@org/name` or `@org/name@1.0`.

    Raises:
        ValueError: If it is malformed.
    """
    path, at, version = ref.removeprefix("@").partition("@")
    if at and not version:
        raise ValueError(f"{ref!r}: the version after the second `@` is missing")
    parts = path.split("/")
    if (
        not is_registry_ref(ref)
        or len(parts) != 2
        or not all(part and not part.startswith(".") and "\\" not in part for part in parts)
    ):
        raise ValueError(f"a registry reference has the form `@org/name`, not {ref!r}")
    return SkillRef(parts[0], parts[1], version or None)


def resolve_registry_ref(ref: str, source: object = None, *, activate: bool = True) -> Skill:
    """Load an installed skill of the registry, from the project's folder `skills`, the storage folder or CrewAI's cache.

    Args:
        ref: `@org/name` or `@org/name@version`.
        source: Ignored.
        activate: Whether to read its instructions as well.

    Raises:
        ValueError: If the reference is malformed.
        SkillNotInstalled: If the skill is not installed.
        SkillParseError: If the skill is invalid.
    """
    parsed = parse_skill_ref(ref)
    place = Path("skills", parsed.org, parsed.name)
    local, stored, of_crewai = (
        Path.cwd() / "skills" / parsed.name,
        storage_dir() / place,
        Path.home() / ".crewai" / place,
    )
    for folder in (local, stored, of_crewai):
        if (folder / SKILL_FILENAME).is_file():
            skill = load_skill_metadata(folder)
            if parsed.version is None or _version_of(skill) == parsed.version.removeprefix("v"):
                return load_skill_instructions(skill) if activate else skill
    raise SkillNotInstalled(
        f"the skill `{ref}` is not on this machine, and crewgraph does not download from CrewAI's hosted registry. Put its "
        f"folder, with its `{SKILL_FILENAME}`, into `{Path('skills', parsed.name)}` of the project or at `{stored}`."
    )


def _version_of(skill: Skill) -> str | None:
    """Return the version of a skill without a leading `v`: that of CrewAI's cache, else that of its front matter."""
    try:
        cached: object = json.loads((skill.path / _METADATA_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        cached = None
    version = (cached if is_object(cached) else skill.frontmatter.metadata or {}).get("version")
    return version.removeprefix("v") if isinstance(version, str) else None
