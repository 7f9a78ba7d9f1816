"""From what users name to skills: folders, skills that were read before, names in a registry."""

import logging
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any, cast

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
    load_skill_resources,
)
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.skill import (
    SkillActivatedEvent,
    SkillDiscoveryCompletedEvent,
    SkillDiscoveryStartedEvent,
    SkillEvent,
    SkillLoadedEvent,
    SkillLoadFailedEvent,
)

__all__ = [
    "activate_skill",
    "build_skill_catalog",
    "discover_skills",
    "format_skill_context",
    "load_resources",
    "load_skill",
    "load_skills",
    "merged_skills",
]

_log = logging.getLogger("crewgraph.skills")

_FOLDERS = 1000
"""Folders that are looked into for skills."""


def discover_skills(search_path: Path, source: Any = None) -> list[Skill]:
    """The skills in a folder's folders, with their names and descriptions; one that cannot be used is told and left out.

    Args:
        search_path: where to look. A folder that holds a `SKILL.md` itself is that one skill.
        source: the agent they are for, for events.

    Raises:
        FileNotFoundError: there is no such folder.
        SkillParseError: the folder is a skill itself, and cannot be used.
    """
    top = Path(search_path).expanduser()
    if not top.is_dir():
        raise FileNotFoundError(
            f"{top}: there is no such folder of skills. A skill is a folder with a `{SKILL_FILENAME}`; give its path, or that "
            "of the folder it is in."
        )
    _tell(SkillDiscoveryStartedEvent, source, search_path=top)
    found = [_loaded(top, source)] if (top / SKILL_FILENAME).is_file() else _found(top, source)
    names = [skill.name for skill in found]
    _tell(SkillDiscoveryCompletedEvent, source, search_path=top, skills_found=len(found), skill_names=names)
    return found


def _found(top: Path, source: Any) -> list[Skill]:
    skills: list[Skill] = []
    folders = sorted(path for path in top.iterdir() if path.is_dir() and not path.name.startswith("."))
    for folder in folders[:_FOLDERS]:
        if not (folder / SKILL_FILENAME).is_file():
            continue
        try:
            if not folder.resolve().is_relative_to(top.resolve()):
                raise SkillParseError(f"{folder}: the link leads out of `{top}`; give the folder it leads to itself.")
            skills.append(_loaded(folder, source))
        except (OSError, ValueError) as error:
            _log.warning("a skill is left out: %s", error)
            _tell(SkillLoadFailedEvent, source, skill_name=folder.name, skill_path=folder, error=str(error))
    return skills


def _loaded(folder: Path, source: Any) -> Skill:
    skill = load_skill_metadata(folder)
    _tell(SkillLoadedEvent, source, skill_name=skill.name, skill_path=folder, disclosure_level=skill.disclosure_level)
    return skill


def activate_skill(skill: Skill, source: Any = None) -> Skill:
    """The skill with its instructions; the same where they were read before.

    Raises:
        FileNotFoundError: its file is gone.
        SkillParseError: it is not as it should be any more.
    """
    if skill.disclosure_level >= INSTRUCTIONS:
        return skill
    active = load_skill_instructions(skill)
    told: dict[str, Any] = {"skill_name": skill.name, "skill_path": skill.path}
    _tell(SkillActivatedEvent, source, **told, disclosure_level=active.disclosure_level)
    return active


def load_resources(skill: Skill) -> Skill:
    """The skill with its instructions and the names of its files."""
    return load_skill_resources(skill)


def load_skill(skill: Path | Skill | str, source: Any = None, *, activate: bool = True) -> list[Skill]:
    """The skills that something names.

    Args:
        skill: a folder of skills, the folder of one, a skill, or a name in a registry: `@org/name`.
        source: the agent they are for, for events.
        activate: whether their instructions are read, too.

    Raises:
        FileNotFoundError: there is no such folder.
        SkillParseError: it is a skill, and cannot be used.
        SkillNotInstalled: it names a skill of the registry that is not on this machine.
    """
    if isinstance(skill, Skill):
        found = [skill]
    elif isinstance(skill, str) and is_registry_ref(skill):
        found = [resolve_registry_ref(skill, source, activate=False)]
    else:
        found = discover_skills(Path(skill), source)
    return [activate_skill(one, source) for one in found] if activate else found


def load_skills(skills: Iterable[Path | Skill | str], source: Any = None, *, activate: bool = True) -> list[Skill]:
    """The skills that several things name, each name once: the first one counts. See `load_skill`."""
    found: dict[str, Skill] = {}
    for one in skills:
        for skill in load_skill(one, source, activate=False):
            found.setdefault(skill.name, skill)
    return [activate_skill(one, source) for one in found.values()] if activate else list(found.values())


def build_skill_catalog(skills: Iterable[Skill]) -> dict[str, Skill]:
    """The skills whose instructions were not read yet, by the names they are asked for by.

    Skills with one name are called after the folder that they are in, too.
    """
    waiting = [skill for skill in skills if skill.disclosure_level == METADATA]
    names = [skill.name for skill in waiting]
    catalog: dict[str, Skill] = {}
    for skill in waiting:
        name = skill.name if names.count(skill.name) == 1 else f"{skill.path.parent.name}/{skill.name}"
        catalog[_free(name, catalog)] = skill
    return catalog


def _free(name: str, taken: dict[str, Skill]) -> str:
    return name if name not in taken else next(other for n in count(2) if (other := f"{name}-{n}") not in taken)


def format_skill_context(skill: Skill, *, label: str | None = None) -> str:
    """What a model is told of a skill: its description, its instructions and its files, as far as they were read.

    Args:
        skill: the skill.
        label: what it is called, where it has another name in a catalog.
    """
    parts = [skill.description]
    if skill.disclosure_level >= INSTRUCTIONS and skill.instructions:
        parts.append(skill.instructions)
    if skill.disclosure_level >= RESOURCES and skill.resource_files:
        files = (f"- {folder}/{name}" for folder, names in sorted(skill.resource_files.items()) for name in names)
        parts.append("\n".join(("Files of this skill:", *files)))
    told = "\n\n".join(parts)
    return f'<skill name="{label or skill.name}">\n{told}\n</skill>'


def _tell(event: type[SkillEvent], source: Any, **fields: Any) -> None:
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit(source, event(from_agent=source, **fields))


def merged_skills(first: Iterable[Path | Skill | str], more: Iterable[Skill], source: Any) -> list[Skill]:
    """Skills, each name once: those that come first count.

    Args:
        first: skills, and what leads to some.
        more: others.
        source: whose they are, for events.

    Raises:
        FileNotFoundError: a folder is not there.
        ValueError: something is no skill, and leads to none.
    """
    given = [*first]
    for item in given:
        if not isinstance(item, (str, Path)) and not hasattr(item, "disclosure_level"):
            raise ValueError(f"`skills` holds {cast(Any, item)!r:.60}; give paths of folders, `Skill`s or `@org/name`")
    return load_skills([*given, *more], source, activate=False)
