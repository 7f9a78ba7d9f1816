"""A skill: what its front matter says, and what may be read of its folder. Whoever wrote it is not trusted."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crewgraph.errors import DefinitionError
from crewgraph.text import shorten

__all__ = [
    "INSTRUCTIONS",
    "MAX_DESCRIPTION_LENGTH",
    "MAX_SKILL_NAME_LENGTH",
    "METADATA",
    "MIN_SKILL_NAME_LENGTH",
    "RESOURCES",
    "SKILL_FILENAME",
    "SKILL_NAME_PATTERN",
    "DisclosureLevel",
    "ResourceDirName",
    "Skill",
    "SkillFrontmatter",
    "SkillParseError",
    "load_skill_instructions",
    "load_skill_metadata",
    "load_skill_resources",
    "parse_frontmatter",
    "parse_skill_md",
    "read_front_matter",
    "read_resource",
    "validate_directory_name",
]

SKILL_FILENAME = "SKILL.md"
"""The file that makes a folder a skill."""

MIN_SKILL_NAME_LENGTH = 1
MAX_SKILL_NAME_LENGTH = 64
MAX_DESCRIPTION_LENGTH = 1024
SKILL_NAME_PATTERN = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
"""Small letters, digits, and single hyphens between them."""

DisclosureLevel = Literal[1, 2, 3]
"""How much of a skill was read."""

METADATA: DisclosureLevel = 1
"""Its name and description: it stands in the catalog."""

INSTRUCTIONS: DisclosureLevel = 2
"""Its instructions, too."""

RESOURCES: DisclosureLevel = 3
"""The names of its files, too."""

ResourceDirName = Literal["scripts", "references", "assets"]
"""The folders of a skill that hold files."""


class SkillFrontmatter(BaseModel):
    """What stands between the `---` lines of a `SKILL.md`."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    name: str = Field(
        min_length=MIN_SKILL_NAME_LENGTH, max_length=MAX_SKILL_NAME_LENGTH, pattern=SKILL_NAME_PATTERN.pattern
    )
    """What it is called: the name of its folder, in small letters, digits and hyphens."""

    description: str = Field(min_length=1, max_length=MAX_DESCRIPTION_LENGTH)
    """What it does and when it is wanted: all that a model knows of it before it reads it."""

    license: str | None = None
    """Under which terms it may be used."""

    compatibility: str | None = Field(default=None, max_length=500)
    """What it needs around it."""

    metadata: dict[str, str] | None = None
    """Whatever else its author noted."""

    allowed_tools: list[str] | None = Field(default=None, alias="allowed-tools")
    """Tools that its author expects; written as a list, or as one text with blanks between them. Nothing is granted by it."""

    @model_validator(mode="before")
    @classmethod
    def parse_allowed_tools(cls, values: Any) -> Any:
        """Take the tools as one text, too."""
        if not isinstance(values, dict):
            return values
        given = cast(dict[str, Any], values)
        return {key: _split(value) if key in _TOOLS else value for key, value in given.items()}


_TOOLS = ("allowed-tools", "allowed_tools")


def _split(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


class Skill(BaseModel):
    """A skill, as far as it was read."""

    frontmatter: SkillFrontmatter
    """Its name, its description, and what else its author says of it."""

    instructions: str | None = None
    """What an agent is to do, in Markdown; None where it was not read."""

    path: Path
    """Its folder."""

    disclosure_level: DisclosureLevel = METADATA
    """How much of it was read. From `INSTRUCTIONS` on, agents have it in their prompt from the start."""

    resource_files: dict[ResourceDirName, list[str]] | None = None
    """The names of its files by their folder; None where they were not looked for."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """What it does and when it is wanted."""
        return self.frontmatter.description

    @property
    def scripts_dir(self) -> Path:
        """Where its programs are."""
        return self.path / "scripts"

    @property
    def references_dir(self) -> Path:
        """Where its texts are."""
        return self.path / "references"

    @property
    def assets_dir(self) -> Path:
        """Where its other files are."""
        return self.path / "assets"

    def with_disclosure_level(
        self,
        level: DisclosureLevel,
        instructions: str | None = None,
        resource_files: dict[ResourceDirName, list[str]] | None = None,
    ) -> Self:
        """The same skill with more of it read; what is None stays as it is."""
        return self.model_copy(
            update={
                "disclosure_level": level,
                "instructions": self.instructions if instructions is None else instructions,
                "resource_files": self.resource_files if resource_files is None else resource_files,
            }
        )


_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_LARGEST_FRONT_MATTER = 65_536
"""Characters of a front matter."""


class SkillParseError(DefinitionError):
    """A `SKILL.md` is not as it should be; the message says in which line."""


def parse_frontmatter(content: str, where: str = SKILL_FILENAME) -> tuple[dict[str, Any], str]:
    """The front matter of a file as it is written, and the text below it.

    Args:
        content: the whole file.
        where: what messages call the file.

    Raises:
        SkillParseError: it has no front matter, or that is no mapping in YAML.
    """
    begin, end = _fences(content.removeprefix("\ufeff"), where)
    content = content.removeprefix("\ufeff")
    written = content[begin.end() : end.start()]
    if len(written) > _LARGEST_FRONT_MATTER:
        raise SkillParseError(
            f"{where}:1: the front matter is longer than {_LARGEST_FRONT_MATTER} characters; move its text below it."
        )
    try:
        values: Any = yaml.safe_load(written)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1  # the text begins behind the first fence, in its line
        what = ", ".join(filter(None, (error.context, error.problem)))
        raise SkillParseError(
            f"{where}:{line}: the front matter is no YAML: {what}. Quote texts that hold `: ` or ` #`."
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SkillParseError(f"{where}:1: the front matter is no YAML: {shorten(str(error), 200)}") from error
    if not isinstance(values, dict):
        raise SkillParseError(
            f"{where}:1: the front matter is no mapping; write `name: ...` and `description: ...` in it."
        )
    return cast(dict[str, Any], values), content[end.end() :].strip()


def _fences(content: str, where: str) -> tuple[re.Match[str], re.Match[str]]:
    begin = _FENCE.match(content)
    if begin is None:
        raise SkillParseError(f"{where}:1: the file has to begin with a line of `---`, above `name` and `description`.")
    end = _FENCE.search(content, begin.end())
    if end is None:
        raise SkillParseError(f"{where}:1: the front matter has no end; write a line of `---` below it.")
    return begin, end


def read_front_matter(content: str, path: Path) -> tuple[SkillFrontmatter, str]:
    """The front matter of a file, and the text below it.

    Raises:
        SkillParseError: something in it is not as it should be.
    """
    values, body = parse_frontmatter(content, str(path))
    try:
        return SkillFrontmatter.model_validate(values), body
    except ValidationError as error:
        told = [
            f"{path}:{_line(content, fault['loc'])}: {_named(fault['loc'])}: {fault['msg']}" for fault in error.errors()
        ]
        raise SkillParseError("\n".join(told)) from error


def _line(content: str, place: tuple[int | str, ...]) -> int:
    """The line of the key that a fault is in; 1 where it is missing."""
    if not place:
        return 1
    found = re.search(rf"^[\"']?{re.escape(str(place[0]))}[\"']?[ \t]*:", content, re.MULTILINE)
    return 1 if found is None else content.count("\n", 0, found.start()) + 1


def _named(place: tuple[int | str, ...]) -> str:
    return f"`{'.'.join(map(str, place))}`" if place else "the front matter"


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
