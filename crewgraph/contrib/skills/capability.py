"""Skills as a capability of an agent: notes in its prompt, and the tool that reads skills."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.compiler.agent.capabilities import Capability
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.contrib.skills.discovery import activate_skill, build_skill_catalog, format_skill_context, merged_skills
from crewgraph.contrib.skills.skill import INSTRUCTIONS, METADATA, Skill, load_resources, read_resource
from crewgraph.core.current import is_replayed
from crewgraph.core.effects import Body, Notify
from crewgraph.errors import ToolFailed
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.tool import SkillUsedEvent
from crewgraph.prompts.i18n import Book, default_book
from crewgraph.text import slug
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.base import BaseTool, keep_never

LOAD_SKILL_TOOL_NAME = "load_skill"
"""Default name of the tool."""


class LoadSkillSchema(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    skill_name: str = Field(description="The skill's name, as listed")
    file: str | None = Field(
        default=None, description="One of the skill's files, such as `references/x.md`, to read that instead"
    )


class LoadSkillTool(BaseTool):
    """Reads the instructions of a skill, or one of its files."""

    name: str = LOAD_SKILL_TOOL_NAME
    description: str = Field(default_factory=lambda: default_book().filled("tools", "load_skill"))
    args_schema: type[BaseModel] = LoadSkillSchema
    cache_function: Callable[..., bool] = keep_never

    catalog: dict[str, Skill] = Field(default_factory=dict[str, Skill], exclude=True)
    """The skills by the names under which they are listed."""

    source: Any = Field(default=None, exclude=True)
    """The agent, for events."""

    task: Any = Field(default=None, exclude=True)
    """The task, for events."""

    def _run(self, skill_name: str, file: str | None = None, **kwargs: object) -> str:
        """Return a skill's instructions and file names, or the text of one of its files.

        Raises:
            ToolFailed: If it does not exist, or may not be read.
        """
        skill = self.catalog.get(skill_name.strip())
        if skill is None:
            return default_book().error("no_such_skill", skill=skill_name, skills=", ".join(self.catalog))
        try:
            if file:
                return read_resource(skill, file)
            active = load_resources(activate_skill(skill, self.source))
        except (OSError, ValueError) as error:
            raise ToolFailed(str(error)) from error
        _emit_used(skill, self.source, self.task)
        return format_skill_context(active, label=skill_name.strip())


def _emit_used(skill: Skill, agent: object, task: object) -> None:
    if crewai_event_bus.wants(SkillUsedEvent):
        event = SkillUsedEvent(
            skill_name=skill.name,
            skill_path=skill.path,
            disclosure_level=max(skill.disclosure_level, INSTRUCTIONS),
            from_agent=agent,
            from_task=task,
        )
        crewai_event_bus.emit(agent, event)


def create_skill_loader_tool(
    skills: list[Skill] | None,
    *,
    source: object = None,
    task: object = None,
    reserved_names: Collection[str] = (),
    book: Book | None = None,
) -> LoadSkillTool | None:
    """Create the tool that reads skills whose instructions have not been read; None if there are none.

    Args:
        skills: The skills of an agent.
        source: The agent, for events.
        task: The agent's task, for events.
        reserved_names: Names of its other tools.
        book: The prompts; English by default.
    """
    catalog = build_skill_catalog(skills or ())
    if not catalog:
        return None
    return LoadSkillTool(
        name=slug(LOAD_SKILL_TOOL_NAME, taken={slug(name) for name in reserved_names}),
        description=(book or default_book()).filled("tools", "load_skill"),
        catalog=catalog,
        source=source,
        task=task,
    )


class SkillsCapability(Capability):
    """The agent's own skills and those of its crew; its own win if names clash."""

    @cached_property
    def _skills(self) -> list[Skill]:
        own, shared = self.agent.skills, None if self.crew is None else self.crew.skills
        return merged_skills(own or (), shared or (), self.agent) if own or shared else []

    def tools(self, other_tools: Sequence[object]) -> list[Any]:
        """Return the tool that reads skills, if there are unread ones."""
        names = [as_tool(tool).name for tool in other_tools]
        book = self.agent.wording(self.crew)
        tool = create_skill_loader_tool(
            self._skills, source=self.agent, task=self.task, reserved_names=names, book=book
        )
        return [] if tool is None else [tool]

    def notes(self, tools: Mapping[str, EventTool], book: Book) -> Sequence[str]:
        """Return the full text of activated skills, and a list of those available."""
        loaders = (tool.name for tool in tools.values() if isinstance(tool.tool.tool.source, LoadSkillTool))
        active = [format_skill_context(skill) for skill in self._active]
        catalog = build_skill_catalog(self._skills)
        available = [format_skill_context(skill, label=name) for name, skill in catalog.items()]
        notes: list[str] = []
        if active:
            notes.append(book.slice("skills", skills="\n\n".join(active)))
        if available:
            notes.append(book.slice("available_skills", tool=next(loaders, ""), skills="\n\n".join(available)))
        return notes

    def begin(self) -> Body[None]:
        """Emit the use of the skills that were activated beforehand."""
        if self._skills:
            yield Notify(self._report_used)

    def _report_used(self) -> None:
        if not is_replayed():
            for skill in self._active:
                _emit_used(skill, self.agent, self.task)

    @property
    def _active(self) -> list[Skill]:
        return [skill for skill in self._skills if skill.disclosure_level > METADATA]
