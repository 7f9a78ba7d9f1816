"""Fields that an extension reads: skills, remote agents, files. One that is not used loads nothing."""

from collections.abc import Mapping
from typing import Annotated, Any, Self, cast

from pydantic import AfterValidator, BeforeValidator, model_validator

from crewgraph.definitions.definition import Definition
from crewgraph.extensions import extension

__all__ = ["GivenFiles", "GivenRemotes", "Skilled"]


class Skilled(Definition):
    """What agents and crews have of skills."""

    skills: list[Any] | None = None
    """Instructions that are read when they are wanted: folders of skills, the folder of one, `Skill`s, and names in a
    registry (`@org/name`) that are on this machine. An agent has those of its crew, too."""

    @model_validator(mode="after")
    def _with_skills(self) -> Self:
        if self.skills:
            self.skills = extension("skills.read")(self.skills, (), self)
        return self


def _remotes(given: Any) -> Any:
    return None if given is None else extension("a2a.read")(given)


GivenRemotes = Annotated[Any, AfterValidator(_remotes)]
"""`A2AClientConfig`, its fields as a dict, or a list of these."""


def _files(given: Any) -> dict[str, Any]:
    is_empty = given is None or (isinstance(given, Mapping) and not cast("Mapping[str, Any]", given))
    return {} if is_empty else extension("files.read")(given)


GivenFiles = Annotated[dict[str, Any], BeforeValidator(_files)]
"""Files by name."""
