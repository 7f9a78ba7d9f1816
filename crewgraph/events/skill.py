"""Events of skills."""

from pathlib import Path

from crewgraph.events.base import WorkEvent

__all__ = [
    "SkillActivatedEvent",
    "SkillDiscoveryCompletedEvent",
    "SkillDiscoveryStartedEvent",
    "SkillEvent",
    "SkillLoadFailedEvent",
    "SkillLoadedEvent",
    "SkillUsedEvent",
]


class SkillEvent(WorkEvent):
    """An event of a skill."""

    skill_name: str = ""
    """The name; empty if the event is about several."""

    skill_path: Path | None = None
    """Its folder."""


class SkillDiscoveryStartedEvent(SkillEvent):
    """The search for skills starts."""

    type: str = "skill_discovery_started"

    search_path: Path
    """The folder to search."""


class SkillDiscoveryCompletedEvent(SkillEvent):
    """The search for skills is complete."""

    type: str = "skill_discovery_completed"

    search_path: Path
    """The searched folder."""

    skills_found: int
    """The number of skills found."""

    skill_names: list[str]
    """Their names."""


class SkillLoadedEvent(SkillEvent):
    """A skill was found and its front matter read."""

    type: str = "skill_loaded"

    disclosure_level: int = 1
    """The disclosure level: how much of the skill was read."""


class SkillLoadFailedEvent(SkillEvent):
    """A folder holds a skill that cannot be used."""

    type: str = "skill_load_failed"

    error: str
    """The reason why it is invalid."""


class SkillActivatedEvent(SkillEvent):
    """The instructions of a skill were read."""

    type: str = "skill_activated"

    disclosure_level: int = 2
    """The disclosure level: how much of the skill was read."""


class SkillUsedEvent(SkillEvent):
    """An agent was given the instructions of a skill."""

    type: str = "skill_used"

    disclosure_level: int = 1
    """The disclosure level: how much of the skill was read."""
