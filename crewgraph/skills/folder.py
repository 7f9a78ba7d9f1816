"""A skill's folder: what may be read of it, and how much. Whoever wrote it is not trusted."""

import os
from collections.abc import Iterator
from pathlib import Path

from crewgraph.skills.front_matter import SkillParseError, read_front_matter
from crewgraph.skills.skill import (
    INSTRUCTIONS,
    METADATA,
    RESOURCES,
    SKILL_FILENAME,
    ResourceDirName,
    Skill,
    SkillFrontmatter,
)

__all__ = [
    "load_skill_instructions",
    "load_skill_metadata",
    "load_skill_resources",
    "parse_skill_md",
    "read_resource",
    "validate_directory_name",
]

_LARGEST = 262_144
"""Bytes of a file that a model is to read: more than any of them reads with profit."""

_FILES = 500
"""Files that are listed of each folder."""

_FOLDERS: tuple[ResourceDirName, ...] = ("scripts", "references", "assets")


def parse_skill_md(path: Path) -> tuple[SkillFrontmatter, str]:
    """What a `SKILL.md` says of the skill, and its instructions.

    Raises:
        FileNotFoundError: there is no such file.
        SkillParseError: it is not as it should be, or leads out of its folder.
    """
    return read_front_matter(_text(path, path.parent), path)


def load_skill_metadata(skill_dir: Path) -> Skill:
    """A skill with its name and description alone.

    Raises:
        FileNotFoundError: the folder has no `SKILL.md`.
        SkillParseError: that is not as it should be.
        ValueError: the folder has another name than the skill.
    """
    frontmatter, _ = parse_skill_md(skill_dir / SKILL_FILENAME)
    validate_directory_name(skill_dir, frontmatter.name)
    return Skill(frontmatter=frontmatter, path=skill_dir, disclosure_level=METADATA)


def load_skill_instructions(skill: Skill) -> Skill:
    """The skill with its instructions; the same where they were read before.

    Raises:
        FileNotFoundError: its file is gone.
        SkillParseError: it is not as it should be any more.
    """
    if skill.disclosure_level >= INSTRUCTIONS:
        return skill
    _, body = parse_skill_md(skill.path / SKILL_FILENAME)
    return skill.with_disclosure_level(INSTRUCTIONS, instructions=body)


def load_skill_resources(skill: Skill) -> Skill:
    """The skill with its instructions and the names of its files; links that lead out of its folder are left out."""
    if skill.disclosure_level >= RESOURCES:
        return skill
    found: dict[ResourceDirName, list[str]] = {
        folder: names for folder in _FOLDERS if (names := _listed(skill.path, folder))
    }
    return load_skill_instructions(skill).with_disclosure_level(RESOURCES, resource_files=found)


def read_resource(skill: Skill, name: str) -> str:
    """The text of one of a skill's files.

    Args:
        skill: whose file.
        name: its path from the skill's folder on, such as `references/ports.md`.

    Raises:
        FileNotFoundError: there is no such file.
        SkillParseError: it lies outside of the skill's folder, is too long, or is no text.
    """
    return _text(skill.path / name.strip().replace("\\", "/"), skill.path)


def validate_directory_name(skill_dir: Path, skill_name: str) -> None:
    """Look whether a folder is called as the skill in it.

    Raises:
        ValueError: it is called otherwise.
    """
    if skill_dir.resolve().name != skill_name and skill_dir.name != skill_name:
        raise SkillParseError(
            f"{skill_dir / SKILL_FILENAME}: the skill is called `{skill_name}` and its folder `{skill_dir.name}`; "
            "give both the same name."
        )


def _listed(folder: Path, part: ResourceDirName) -> list[str]:
    top = folder / part
    inside = sorted(path for path in _below(top) if _is_inside(path, folder)) if _is_inside(top, folder) else []
    return [path.relative_to(top).as_posix() for path in inside[:_FILES]]


def _below(top: Path) -> Iterator[Path]:
    """The files below a folder, without what is hidden; links to folders are not followed."""
    for here, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        yield from (Path(here, name) for name in files if not name.startswith("."))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _text(path: Path, folder: Path) -> str:
    if not _is_inside(path, folder):
        raise SkillParseError(f"{path}: it leads out of the skill's folder `{folder}`, and is not read.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise SkillParseError(
            f"{path}: the file is longer than {_LARGEST} bytes; move parts of it into files of their own."
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SkillParseError(f"{path}:{line}: the file is no UTF-8 text.") from error
