"""Skills as a capability of an agent: notes in its prompt, and the tool that reads skills."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from crewgraph.compiler.agent.capabilities import Capability
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.contrib.skills.discovery import build_skill_catalog, format_skill_context, merged_skills
from crewgraph.contrib.skills.skill import METADATA, Skill
from crewgraph.contrib.skills.tool import LoadSkillTool, create_skill_loader_tool, skill_used_event
from crewgraph.core.current import is_replayed
from crewgraph.core.effects import Body, Notify
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.tool import SkillUsedEvent
from crewgraph.prompts.book import Book
from crewgraph.tools.adapt import as_tool

__all__ = ["SkillsCapability"]


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
        if crewai_event_bus.wants(SkillUsedEvent) and not is_replayed():
            for skill in self._active:
                crewai_event_bus.emit(self.agent, skill_used_event(skill, self.agent, self.task))

    @property
    def _active(self) -> list[Skill]:
        return [skill for skill in self._skills if skill.disclosure_level > METADATA]
