"""A skill as data: what its front matter says, and how much of it was read."""

import re
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
