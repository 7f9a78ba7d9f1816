"""The tool with which an agent reads a skill when it needs it."""

from collections.abc import Callable, Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.contrib.skills.discovery import activate_skill, build_skill_catalog, format_skill_context
from crewgraph.contrib.skills.skill import INSTRUCTIONS, Skill, load_skill_resources, read_resource
from crewgraph.errors import ToolFailed
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.skill import SkillUsedEvent
from crewgraph.prompts.book import Book, english
from crewgraph.text import slug
from crewgraph.tools.base import BaseTool

__all__ = [
    "LOAD_SKILL_TOOL_NAME",
    "LoadSkillSchema",
    "LoadSkillTool",
    "create_skill_loader_tool",
    "resolve_loader_tool_name",
    "used",
]

LOAD_SKILL_TOOL_NAME = "load_skill"
"""What the tool is called where no other tool is called so."""


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False  # a file may be another one the next time


class LoadSkillSchema(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    skill_name: str = Field(description="The name of the skill, as it is listed")
    file: str | None = Field(
        default=None, description="One of the skill's files, such as `references/x.md`, to read that instead"
    )


class LoadSkillTool(BaseTool):
    """Reads the instructions of a skill, or one of its files."""

    name: str = LOAD_SKILL_TOOL_NAME
    description: str = Field(default_factory=lambda: english().filled("tools", "load_skill"))
    args_schema: type[BaseModel] = LoadSkillSchema
    cache_function: Callable[..., bool] = _never

    catalog: dict[str, Skill] = Field(default_factory=dict[str, Skill], exclude=True)
    """The skills it reads, by the names they are listed by."""

    source: Any = Field(default=None, exclude=True)
    """The agent that uses it, for events."""

    task: Any = Field(default=None, exclude=True)
    """The task it is used for, for events."""

    def _run(self, skill_name: str, file: str | None = None, **kwargs: Any) -> str:
        """The instructions with the names of the skill's files, or the text of one of these; else which skills there are.

        Raises:
            ToolFailed: what is to be read is not there, or may not be read.
        """
        skill = self.catalog.get(skill_name.strip())
        if skill is None:
            return english().error("no_such_skill", skill=skill_name, skills=", ".join(self.catalog))
        try:
            if file:
                return read_resource(skill, file)
            active = load_skill_resources(activate_skill(skill, self.source))
        except (OSError, ValueError) as error:
            raise ToolFailed(str(error)) from error
        if crewai_event_bus.wants(SkillUsedEvent):
            crewai_event_bus.emit(self.source, used(skill, self.source, self.task))
        return format_skill_context(active, label=skill_name.strip())


def used(skill: Skill, agent: Any, task: Any) -> SkillUsedEvent:
    """Tells that an agent was given a skill's instructions."""
    return SkillUsedEvent(
        skill_name=skill.name,
        skill_path=skill.path,
        disclosure_level=max(skill.disclosure_level, INSTRUCTIONS),
        from_agent=agent,
        from_task=task,
    )


def resolve_loader_tool_name(reserved_names: Collection[str] = ()) -> str:
    """What the tool is called beside other tools."""
    return slug(LOAD_SKILL_TOOL_NAME, taken={slug(name) for name in reserved_names})


def create_skill_loader_tool(
    skills: list[Skill] | None,
    *,
    source: Any = None,
    task: Any = None,
    reserved_names: Collection[str] = (),
    book: Book | None = None,
) -> LoadSkillTool | None:
    """The tool that reads those skills whose instructions were not read yet; None where there are none.

    Args:
        skills: the skills of an agent.
        source: the agent, for events.
        task: what it works on, for events.
        reserved_names: what its other tools are called.
        book: the wording, where it is not ours.
    """
    catalog = build_skill_catalog(skills or ())
    if not catalog:
        return None
    return LoadSkillTool(
        name=resolve_loader_tool_name(reserved_names),
        description=(book or english()).filled("tools", "load_skill"),
        catalog=catalog,
        source=source,
        task=task,
    )
