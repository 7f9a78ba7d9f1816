"""Skills as users give them to agents and crews."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import model_validator

from crewgraph.definitions.definition import Definition
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.skills import load_skills
    from crewgraph.skills.skill import Skill
else:
    load_skills = lazy("crewgraph.skills:load_skills")

__all__ = ["Skilled", "merged_skills"]


class Skilled(Definition):
    """What agents and crews have of skills."""

    skills: list[Any] | None = None
    """Instructions that are read when they are wanted: folders of skills, the folder of one, `Skill`s, and names in a
    registry (`@org/name`) that are on this machine. An agent has those of its crew, too."""

    @model_validator(mode="after")
    def _with_skills(self) -> Self:
        if self.skills:
            self.skills = merged_skills(self.skills, (), self)
        return self


def merged_skills(first: "Iterable[Path | Skill | str]", more: "Iterable[Skill]", source: Any) -> "list[Skill]":
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
    for one in given:
        if not isinstance(one, (str, Path)) and not hasattr(one, "disclosure_level"):
            raise ValueError(f"`skills` holds {cast(Any, one)!r:.60}; give paths of folders, `Skill`s or `@org/name`")
    return load_skills([*given, *more], source, activate=False)
