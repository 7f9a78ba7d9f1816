"""Finds and loads skills from folders, `Skill` objects and registry references."""

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from crewgraph.contrib.skills.registry import is_registry_ref, resolve_registry_ref
from crewgraph.contrib.skills.skill import (
    INSTRUCTIONS,
    METADATA,
    RESOURCES,
    SKILL_FILENAME,
    Skill,
    SkillParseError,
    load_skill_instructions,
    load_skill_metadata,
)
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.tool import (
    SkillActivatedEvent,
    SkillDiscoveryCompletedEvent,
    SkillDiscoveryStartedEvent,
    SkillEvent,
    SkillLoadedEvent,
    SkillLoadFailedEvent,
)
from crewgraph.redaction import redacted_logger

_log = redacted_logger("crewgraph.skills")

_MAX_FOLDERS = 1000
"""Maximum number of folders searched for skills."""


def discover_skills(search_path: Path, source: object = None) -> list[Skill]:
    """Find the skills in the subfolders of a folder; invalid ones are logged and skipped.

    Args:
        search_path: The folder; if it contains a `SKILL.md`, it is itself the only skill.
        source: The agent, for events.

    Raises:
        FileNotFoundError: If there is no such folder.
        SkillParseError: If the folder is itself an invalid skill.
    """
    top = Path(search_path).expanduser()
    if not top.is_dir():
        raise FileNotFoundError(
            f"{top}: there is no such folder of skills. Pass the path of a folder with a `{SKILL_FILENAME}`, or of its "
            "parent folder."
        )
    _emit_skill_event(SkillDiscoveryStartedEvent, source, search_path=top)
    is_skill = (top / SKILL_FILENAME).is_file()
    skills = [_load_metadata(top, source)] if is_skill else _load_subfolders(top, source)
    names = [skill.name for skill in skills]
    _emit_skill_event(
        SkillDiscoveryCompletedEvent, source, search_path=top, skills_found=len(skills), skill_names=names
    )
    return skills


def _load_subfolders(top: Path, source: object) -> list[Skill]:
    skills: list[Skill] = []
    folders = sorted(path for path in top.iterdir() if path.is_dir() and not path.name.startswith("."))
    for folder in folders[:_MAX_FOLDERS]:
        if not (folder / SKILL_FILENAME).is_file():
            continue
        try:
            if not folder.resolve().is_relative_to(top.resolve()):
                raise SkillParseError(f"{folder}: the link leads out of `{top}`; pass its target instead.")
            skills.append(_load_metadata(folder, source))
        except (OSError, ValueError) as error:
            _log.warning("skipping an invalid skill: %s", error)
            _emit_skill_event(SkillLoadFailedEvent, source, skill_name=folder.name, skill_path=folder, error=str(error))
    return skills


def _load_metadata(folder: Path, source: object) -> Skill:
    skill = load_skill_metadata(folder)
    _emit_skill_event(
        SkillLoadedEvent, source, skill_name=skill.name, skill_path=folder, disclosure_level=skill.disclosure_level
    )
    return skill


def activate_skill(skill: Skill, source: object = None) -> Skill:
    """Return the skill with its instructions, unchanged if they have already been read.

    Raises:
        FileNotFoundError: If its file no longer exists.
        SkillParseError: If its file is no longer valid.
    """
    if skill.disclosure_level >= INSTRUCTIONS:
        return skill
    active = load_skill_instructions(skill)
    fields: dict[str, object] = {"skill_name": skill.name, "skill_path": skill.path}
    _emit_skill_event(SkillActivatedEvent, source, **fields, disclosure_level=active.disclosure_level)
    return active


def load_skill(skill: Path | Skill | str, source: object = None, *, activate: bool = True) -> list[Skill]:
    """Load the skills that a value refers to.

    Args:
        skill: A skill, its folder, a folder of skills, or a registry reference, `@org/name`.
        source: The agent, for events.
        activate: Whether to read the instructions as well.

    Raises:
        FileNotFoundError: If there is no such folder.
        SkillParseError: If the skill is invalid.
        SkillNotInstalled: If a registry reference is not installed.
    """
    if isinstance(skill, Skill):
        skills = [skill]
    elif isinstance(skill, str) and is_registry_ref(skill):
        skills = [resolve_registry_ref(skill, source, activate=False)]
    else:
        skills = discover_skills(Path(skill), source)
    return [activate_skill(item, source) for item in skills] if activate else skills


def load_skills(skills: Iterable[Path | Skill | str], source: object = None, *, activate: bool = True) -> list[Skill]:
    """Load the skills that several values refer to; the first skill of each name wins. See `load_skill`."""
    by_name: dict[str, Skill] = {}
    for item in skills:
        for skill in load_skill(item, source, activate=False):
            by_name.setdefault(skill.name, skill)
    return [activate_skill(skill, source) for skill in by_name.values()] if activate else list(by_name.values())


def build_skill_catalog(skills: Iterable[Skill]) -> dict[str, Skill]:
    """Return the skills whose instructions have not been read, by unique names.

    Skills that share a name are prefixed with the name of their parent folder.
    """
    unread = [skill for skill in skills if skill.disclosure_level == METADATA]
    names = [skill.name for skill in unread]
    catalog: dict[str, Skill] = {}
    for skill in unread:
        name = skill.name if names.count(skill.name) == 1 else f"{skill.path.parent.name}/{skill.name}"
        catalog[_unique_name(name, catalog)] = skill
    return catalog


def _unique_name(name: str, taken: dict[str, Skill]) -> str:
    return name if name not in taken else next(other for n in count(2) if (other := f"{name}-{n}") not in taken)


def format_skill_context(skill: Skill, *, label: str | None = None) -> str:
    """Format what has been read of a skill for a model: description, instructions and files.

    Args:
        skill: The skill.
        label: Its name in the catalog, if different.
    """
    parts = [skill.description]
    if skill.disclosure_level >= INSTRUCTIONS and skill.instructions:
        parts.append(skill.instructions)
    if skill.disclosure_level >= RESOURCES and skill.resource_files:
        files = (f"- {folder}/{name}" for folder, names in sorted(skill.resource_files.items()) for name in names)
        parts.append("\n".join(("Files of this skill:", *files)))
    body = "\n\n".join(parts)
    return f'<skill name="{label or skill.name}">\n{body}\n</skill>'


def _emit_skill_event(event: type[SkillEvent], source: object, **fields: Any) -> None:
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit(source, event(from_agent=source, **fields))


def merged_skills(first: Iterable[Path | Skill | str], more: Iterable[Skill], source: object) -> list[Skill]:
    """Merge skills; the first skill of each name wins.

    Args:
        first: Skills and references to skills.
        more: Further skills.
        source: The agent, for events.

    Raises:
        FileNotFoundError: If a folder does not exist.
        ValueError: If an item is neither a skill nor a reference to one.
    """
    items = [*first]
    for item in items:
        if not isinstance(item, (str, Path)) and not hasattr(item, "disclosure_level"):
            raise ValueError(f"`skills` contains {item!r:.60}; use paths of folders, `Skill`s or `@org/name`")
    return load_skills([*items, *more], source, activate=False)
