"""Names of skills in CrewAI's registry: read, and looked up on this machine. Nothing is fetched."""

from pathlib import Path
from typing import Any, NamedTuple

from crewgraph.errors import DefinitionError
from crewgraph.skills.cache import SkillCache, versions_match
from crewgraph.skills.folder import load_skill_instructions, load_skill_metadata
from crewgraph.skills.skill import SKILL_FILENAME, Skill

__all__ = [
    "SkillNotInstalled",
    "SkillRef",
    "download_skill",
    "is_registry_ref",
    "parse_registry_ref",
    "parse_skill_ref",
    "resolve_registry_ref",
]


class SkillNotInstalled(DefinitionError, RuntimeError):
    """A skill of the registry is not on this machine; the message says where to put it."""


class SkillRef(NamedTuple):
    """A skill in a registry."""

    org: str
    name: str
    version: str | None = None
    """The version that is meant; any where None."""


def is_registry_ref(value: Any) -> bool:
    """Whether something names a skill in a registry, rather than a folder: a text that begins with `@`."""
    return isinstance(value, str) and value.startswith("@")


def parse_skill_ref(ref: str) -> SkillRef:
    """A name in a registry in its parts: `@org/name`, `@org/name@1.0`.

    Raises:
        ValueError: it is written otherwise.
    """
    if not is_registry_ref(ref):
        raise ValueError(f"a skill of a registry is written `@org/name`, not {ref!r}")
    whole, at, version = ref[1:].partition("@")
    if at and not version:
        raise ValueError(f"{ref!r}: the version behind the second `@` is missing")
    parts = whole.split("/")
    if len(parts) != 2 or not all(part and not part.startswith(".") and "\\" not in part for part in parts):
        raise ValueError(f"a skill of a registry is written `@org/name`, not {ref!r}")
    return SkillRef(parts[0], parts[1], version or None)


def parse_registry_ref(ref: str) -> tuple[str, str]:
    """The organisation and the name in `@org/name`.

    Raises:
        ValueError: it is written otherwise.
    """
    found = parse_skill_ref(ref)
    return found.org, found.name


def resolve_registry_ref(ref: str, source: Any = None, *, activate: bool = True) -> Skill:
    """A skill of the registry that is on this machine: in the project's folder `skills`, or where skills are kept.

    Args:
        ref: `@org/name` or `@org/name@version`.
        source: not used: nothing happens that could be told.
        activate: whether its instructions are read, too.

    Raises:
        ValueError: it is written otherwise.
        SkillNotInstalled: it is not there.
        SkillParseError: it is there, and cannot be used.
    """
    wanted = parse_skill_ref(ref)
    for folder in _places(wanted):
        skill = load_skill_metadata(folder)
        return load_skill_instructions(skill) if activate else skill
    raise _missing(ref, wanted)


def download_skill(
    org: str, name: str, source: Any = None, *, version: str | None = None, activate: bool = True
) -> Skill:
    """Refused: the registry is a part of CrewAI's hosted platform.

    Raises:
        SkillNotInstalled: always; the message says where to put the folder.
    """
    raise _missing(f"@{org}/{name}" + (f"@{version}" if version else ""), SkillRef(org, name, version))


def _places(wanted: SkillRef) -> list[Path]:
    """Folders that hold it."""
    local = Path.cwd() / "skills" / wanted.name
    places = [local] if (local / SKILL_FILENAME).is_file() and _fits(local, wanted) else []
    for cache in (SkillCache(), SkillCache(Path.home() / ".crewai" / "skills")):
        kept = cache.get_cached_path(wanted.org, wanted.name, wanted.version)
        places += [] if kept is None else [kept]
    return places


def _fits(folder: Path, wanted: SkillRef) -> bool:
    if wanted.version is None:
        return True
    metadata = load_skill_metadata(folder).frontmatter.metadata or {}
    return versions_match(metadata.get("version"), wanted.version)


def _missing(ref: str, wanted: SkillRef) -> SkillNotInstalled:
    kept = SkillCache().folder(wanted.org, wanted.name)
    return SkillNotInstalled(
        f"the skill `{ref}` is not on this machine, and CrewAI's hosted registry, where it would be fetched from, is not asked. "
        f"Put its folder, with its `{SKILL_FILENAME}`, into `{Path('skills', wanted.name)}` of the project or at `{kept}`."
    )
