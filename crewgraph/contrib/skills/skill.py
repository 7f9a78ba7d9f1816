"""Reads skills: the front matter and instructions of SKILL.md, and resource files. Contents are untrusted."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crewgraph.errors import DefinitionError
from crewgraph.schema import PlainDict, fault_text, is_object
from crewgraph.text import shorten

SKILL_FILENAME = "SKILL.md"
"""File whose presence makes a folder a skill."""

DisclosureLevel = Literal[1, 2, 3]
"""How much of a skill has been read."""

METADATA: DisclosureLevel = 1
"""Only name and description, as in the catalog."""

INSTRUCTIONS: DisclosureLevel = 2
"""Also the instructions."""

RESOURCES: DisclosureLevel = 3
"""Also the names of its files."""

ResourceDirName = Literal["scripts", "references", "assets"]
"""Folders of a skill that contain resource files."""


class SkillFrontmatter(BaseModel):
    """Front matter of a `SKILL.md`, the YAML between the `---` lines."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    name: str = Field(max_length=64, pattern="^[a-z0-9]+(?:-[a-z0-9]+)*$")
    """Name of the skill, equal to the name of its folder: lowercase letters and digits, with single hyphens in between."""

    description: str = Field(min_length=1, max_length=1024)
    """What the skill does and when to use it: all that a model knows of it before reading it."""

    license: str | None = None
    """License of the skill."""

    compatibility: str | None = Field(default=None, max_length=500)
    """Requirements on the environment."""

    metadata: dict[str, str] | None = None
    """Further metadata from the author."""

    allowed_tools: list[str] | None = Field(default=None, alias="allowed-tools")
    """Tools that the author expects, as a list or a space-separated text; grants no access."""

    @model_validator(mode="before")
    @classmethod
    def parse_allowed_tools(cls, values: object) -> Any:
        """Accept the tools as space-separated text."""
        if not is_object(values):
            return values
        return {
            key: (value.split() if isinstance(value, str) else value) if key in _TOOL_KEYS else value
            for key, value in values.items()
        }


_TOOL_KEYS = ("allowed-tools", "allowed_tools")


class Skill(BaseModel):
    """A skill, as far as it has been read."""

    frontmatter: SkillFrontmatter
    """The front matter of its `SKILL.md`."""

    instructions: str | None = None
    """The instructions in Markdown; None if not read."""

    path: Path
    """The skill's folder."""

    disclosure_level: DisclosureLevel = METADATA
    """How much has been read. From `INSTRUCTIONS` on, agents have the skill in their prompt from the start."""

    resource_files: dict[ResourceDirName, list[str]] | None = None
    """Names of its files by folder; None if not read."""

    @property
    def name(self) -> str:
        """Name of the skill."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """What the skill does and when to use it."""
        return self.frontmatter.description


_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_MAX_FRONT_MATTER_LENGTH = 65_536
"""Maximum length of a front matter, in characters."""


class SkillParseError(DefinitionError):
    """A `SKILL.md` is invalid; the message names the line."""


def parse_frontmatter(content: str, where: str = SKILL_FILENAME) -> tuple[PlainDict, str]:
    """Return the raw front matter of a file and the text below it.

    Args:
        content: The contents of the file.
        where: Name of the file in error messages.

    Raises:
        SkillParseError: If there is no front matter, or it is not a YAML mapping.
    """
    begin = _FENCE.match(content)
    if begin is None:
        raise SkillParseError(f"{where}:1: the file must begin with a `---` line, above `name` and `description`.")
    end = _FENCE.search(content, begin.end())
    if end is None:
        raise SkillParseError(f"{where}:1: the front matter is not closed; add a `---` line below it.")
    source = content[begin.end() : end.start()]
    if len(source) > _MAX_FRONT_MATTER_LENGTH:
        raise SkillParseError(
            f"{where}:1: the front matter is longer than {_MAX_FRONT_MATTER_LENGTH} characters; move its text below it."
        )
    try:
        values: object = yaml.safe_load(source)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1  # the source starts on the line of the first fence
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise SkillParseError(
            f"{where}:{line}: the front matter is not valid YAML: {problem}. Quote texts that contain `: ` or ` #`."
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SkillParseError(f"{where}:1: the front matter is not valid YAML: {shorten(str(error), 200)}") from error
    if not is_object(values):
        raise SkillParseError(
            f"{where}:1: the front matter is not a mapping; it needs `name: ...` and `description: ...`."
        )
    return values, content[end.end() :].strip()


def _yaml_line(content: str, place: tuple[int | str, ...]) -> int:
    """Return the line of the faulty key; 1 if it is missing."""
    match = re.search(rf"^[\"']?{re.escape(str(place[0]))}[\"']?[ \t]*:", content, re.MULTILINE)
    return 1 if match is None else content.count("\n", 0, match.start()) + 1


_MAX_FILE_SIZE = 262_144
"""Maximum size in bytes of a file that a model reads."""

_MAX_FILES = 500
"""Maximum number of files listed per folder."""

_FOLDERS: tuple[ResourceDirName, ...] = ("scripts", "references", "assets")


def parse_skill_md(path: Path) -> tuple[SkillFrontmatter, str]:
    """Read the front matter and the instructions of a `SKILL.md`.

    Raises:
        FileNotFoundError: If there is no such file.
        SkillParseError: If it is invalid, or a link that leads out of its folder.
    """
    content = _text(path, path.parent)
    values, body = parse_frontmatter(content, str(path))
    try:
        return SkillFrontmatter.model_validate(values), body
    except ValidationError as error:
        faults = [
            f"{path}:{_yaml_line(content, fault['loc'])}: `{'.'.join(map(str, fault['loc']))}`: {fault_text(fault)}"
            for fault in error.errors()
        ]
        raise SkillParseError("\n".join(faults)) from error


def load_skill_metadata(skill_dir: Path) -> Skill:
    """Load a skill's name and description.

    Raises:
        FileNotFoundError: If the folder has no `SKILL.md`.
        SkillParseError: If the file is invalid, or its folder has another name than the skill.
    """
    frontmatter, _ = parse_skill_md(skill_dir / SKILL_FILENAME)
    if frontmatter.name not in (skill_dir.name, skill_dir.resolve().name):
        raise SkillParseError(
            f"{skill_dir / SKILL_FILENAME}: the skill is named `{frontmatter.name}`, but its folder `{skill_dir.name}`; "
            "give both the same name."
        )
    return Skill(frontmatter=frontmatter, path=skill_dir, disclosure_level=METADATA)


def load_skill_instructions(skill: Skill) -> Skill:
    """Return the skill with its instructions, unchanged if they have already been read.

    Raises:
        FileNotFoundError: If its file no longer exists.
        SkillParseError: If its file is no longer valid.
    """
    if skill.disclosure_level >= INSTRUCTIONS:
        return skill
    _, body = parse_skill_md(skill.path / SKILL_FILENAME)
    return skill.model_copy(update={"disclosure_level": INSTRUCTIONS, "instructions": body})


def load_resources(skill: Skill) -> Skill:
    """Return the skill with its instructions and the names of its files, except links that lead out of its folder."""
    if skill.disclosure_level >= RESOURCES:
        return skill
    files: dict[ResourceDirName, list[str]] = {
        folder: names for folder in _FOLDERS if (names := _list_files(skill.path, folder))
    }
    update: PlainDict = {"disclosure_level": RESOURCES, "resource_files": files}
    return load_skill_instructions(skill).model_copy(update=update)


def read_resource(skill: Skill, name: str) -> str:
    """Return the text of one of a skill's files.

    Args:
        skill: The skill.
        name: Path relative to the skill's folder, such as `references/ports.md`.

    Raises:
        FileNotFoundError: If there is no such file.
        SkillParseError: If it lies outside of the skill's folder, is too long, or is not text.
    """
    return _text(skill.path / name.strip().replace("\\", "/"), skill.path)


def _list_files(folder: Path, part: ResourceDirName) -> list[str]:
    top = folder / part
    files = sorted(path for path in _visible_files(top) if _is_inside(path, folder)) if _is_inside(top, folder) else []
    return [path.relative_to(top).as_posix() for path in files[:_MAX_FILES]]


def _visible_files(top: Path) -> Iterator[Path]:
    """Yield the files below a folder, without hidden ones and without following links to folders."""
    for current, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        yield from (Path(current, name) for name in files if not name.startswith("."))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _text(path: Path, folder: Path) -> str:
    if not _is_inside(path, folder):
        raise SkillParseError(f"{path}: the path leads out of the skill's folder `{folder}`, and is not read.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    with path.open("rb") as file:
        data = file.read(_MAX_FILE_SIZE + 1)
    if len(data) > _MAX_FILE_SIZE:
        raise SkillParseError(f"{path}: the file is longer than {_MAX_FILE_SIZE} bytes; split it into several files.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SkillParseError(f"{path}:{line}: the file is not UTF-8 text.") from error
