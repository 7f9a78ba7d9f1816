"""The skills of an agent at work: what it is told of them, and the tool that reads them."""

from collections.abc import Sequence
from typing import Any

from crewgraph.core.replay import is_replayed
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.given_skills import merged_skills
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.skill import SkillUsedEvent
from crewgraph.prompts.book import Book
from crewgraph.skills.discovery import build_skill_catalog, format_skill_context
from crewgraph.skills.skill import METADATA, Skill
from crewgraph.skills.tool import LoadSkillTool, create_skill_loader_tool, used
from crewgraph.tools.adapt import as_tool

__all__ = ["skill_tools", "skills_of", "tell_skills_used", "told_skills"]


def skills_of(agent: BaseAgent, crew: Crew | None) -> list[Skill]:
    """An agent's own skills, then those of its crew that are called otherwise."""
    own, shared = agent.skills, None if crew is None else crew.skills
    return merged_skills(own or (), shared or (), agent) if own or shared else []


def skill_tools(agent: BaseAgent, crew: Crew | None, task: Any, given: Sequence[Any]) -> list[LoadSkillTool]:
    """The tool that reads skills, where there are some to be read.

    Args:
        agent: who uses it.
        crew: for whom it works.
        task: on what.
        given: its other tools.
    """
    skills = skills_of(agent, crew)
    if not skills:
        return []
    names = [as_tool(one).name for one in given]
    tool = create_skill_loader_tool(skills, source=agent, task=task, reserved_names=names, book=agent.wording(crew))
    return [] if tool is None else [tool]


def told_skills(skills: Sequence[Skill], tool: str, book: Book) -> list[str]:
    """What an agent is told of its skills: whole those that were read, and a list of those that it may read.

    Args:
        skills: its skills.
        tool: the name of the tool that reads them.
        book: the wording.
    """
    active = [format_skill_context(skill) for skill in _active(skills)]
    listed = [format_skill_context(skill, label=name) for name, skill in build_skill_catalog(skills).items()]
    told = [book.slice("skills", skills="\n\n".join(active))] if active else []
    return told + ([book.slice("available_skills", tool=tool, skills="\n\n".join(listed))] if listed else [])


def tell_skills_used(skills: Sequence[Skill], agent: BaseAgent, task: Any) -> None:
    """Tell that an agent begins with the skills that were read before."""
    if crewai_event_bus.wants(SkillUsedEvent) and not is_replayed():
        for skill in _active(skills):
            crewai_event_bus.emit(agent, used(skill, agent, task))


def _active(skills: Sequence[Skill]) -> list[Skill]:
    return [skill for skill in skills if skill.disclosure_level > METADATA]
