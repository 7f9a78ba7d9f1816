"""Skills: loaded ones are part of the prompt, the others are read with a tool."""

import json

from crewgraph.contrib.skills.discovery import (
    activate_skill,
    build_skill_catalog,
    format_skill_context,
    merged_skills,
)
from crewgraph.contrib.skills.skill import INSTRUCTIONS
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.prompts.i18n import Book
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.writing.sheet import ProgramText, string_literal

_RANK = 4


class SkillTexts:
    """Write the skills of a program, each once.

    Args:
        sheet: the program.
        book: the wording of its prompts.
        refusals: collects the parts that have no translation.
    """

    def __init__(self, sheet: ProgramText, book: Book, refusals: Refusals) -> None:
        self._sheet, self._book, self._refusals = sheet, book, refusals
        self._tool = ""
        self._written: dict[str, str] = {}

    def prompt(self, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> str:
        """Return the prompt text about an agent's skills; empty if there are none."""
        own, shared = (
            (agent.skills if isinstance(agent, AgentDefinition) else None),
            None if crew is None else crew.skills,
        )
        skills = merged_skills(own or (), shared or (), agent) if own or shared else []
        active = [format_skill_context(skill) for skill in skills if skill.disclosure_level >= INSTRUCTIONS]
        catalog = build_skill_catalog(skills)
        notes = [self._book.slice("skills", skills="\n\n".join(active))] if active else []
        if catalog:
            listed = "\n\n".join(format_skill_context(skill, label=name) for name, skill in catalog.items())
            notes.append(self._book.slice("available_skills", tool=self._loader(), skills=listed))
        for name, skill in catalog.items():
            read = activate_skill(skill)
            self._written[name] = format_skill_context(read, label=name)
            if any(item.is_dir() for item in skill.path.iterdir()):
                self._refusals.note(f"skill `{name}`", "the files in its folders are left out; read them with a tool")
        return "".join(f"\n\n{note}" for note in notes)

    def tool(self, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> list[str]:
        """Return the tool that reads skills, if an agent has any to read."""
        return [self._loader()] if self._tool and self._loader() in self.prompt(agent, crew) else []

    def _loader(self) -> str:
        self._tool = self._tool or self._sheet.names.new("load_skill", "_tool")
        return self._tool

    def write(self) -> None:
        """Write the tool and the skills that it reads."""
        if not self._written:
            return
        self._sheet.use("langchain_core.tools", "tool")
        texts = ", ".join(f"{json.dumps(name)}: {string_literal(text)}" for name, text in self._written.items())
        names = self._sheet.names.new("SKILLS")
        described = json.dumps(self._book.filled("tools", "load_skill"), ensure_ascii=False)
        self._sheet.add(f'{names} = {{{texts}}}\n"""The instructions of the skills."""', _RANK)
        missing = "f\"There is no skill {skill_name}. Available skills: {', '.join(" + names + ')}."'
        self._sheet.add(
            f"@tool(description={described})\ndef {self._tool}(skill_name: str) -> str:\n"
            f'    """Read the instructions of a skill."""\n    return {names}.get(skill_name.strip(), {missing})',
            _RANK,
        )
