"""Coworkers: an agent that may hand parts of its work to others is given tools that have them answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crewgraph.compiler.crew.manager import colleagues
from crewgraph.compiler.task.binding import Assignment, handed_on
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.task.delegated import DelegatedTask
from crewgraph.eject.limits import refuse_agent
from crewgraph.eject.parts import Parts
from crewgraph.eject.texts import filled, literal, template

__all__ = ["TOOLS", "Team", "coworkers_of", "dated", "system_of"]

TOOLS = ("delegate_work_to_coworker", "ask_question_to_coworker")

_RANK = 8

_Text = Callable[[str, str], str]
"""Gives the expression for a text, of the name that its constant should have and the text."""


class Team:
    """Writes the coworkers of an agent at work on a task.

    Args:
        agents: the coworkers.
        assignment: the task.
        parts: the program, and those who write parts of it.
        depth: how often the work has been handed on before.
    """

    def __init__(self, agents: Sequence[BaseAgent], assignment: Assignment, parts: Parts, depth: int = 0) -> None:
        self._agents, self._assignment, self._parts = agents, assignment, parts
        self._members = [_Member(agent, assignment, parts, depth) for agent in agents]

    def read(self) -> None:
        """Bring in what the user wrote for them."""
        loop = self._parts.pieces.loop
        loop.uses_tools = True
        loop.not_kept |= dict.fromkeys(TOOLS)
        for one in self._members:
            one.read()

    def written(self, text: _Text, values: Mapping[str, str]) -> str:
        """The expression for their tools.

        Args:
            text: gives the expression for a text of prompts.
            values: by the names of inputs, the expressions for them.
        """
        entries = [f"{one.role(values)}: {one.work(text, values)}" for one in self._members]
        return f"{self._parts.pieces.name('coworkers')}({{{', '.join(entries)}}})"

    def named(self, text: _Text, values: Mapping[str, str], state: str) -> str:
        """The expression for their tools, which are made at the top of the program, once for all who work with them.

        Args:
            text: gives the expression for a text of prompts.
            values: by the names of inputs, the expressions for them.
            state: the class of the state.
        """
        parts, written = self._parts, self.written(text, values)
        needs_state = any(one in written for one in values.values())
        if written not in parts.teams:
            name = parts.teams[written] = parts.sheet.names.new("team" if needs_state else "TEAM")
            told = '"""Those who may be asked."""'
            parts.sheet.add(
                f"def {name}(state: {state}) -> list[BaseTool]:\n    {told}\n    return {written}"
                if needs_state
                else f"{name} = {written}",
                _RANK,
            )
        return f"{parts.teams[written]}(state)" if needs_state else parts.teams[written]


class _Member:
    """A coworker."""

    def __init__(self, agent: BaseAgent, assignment: Assignment, parts: Parts, depth: int) -> None:
        self._agent, self._parts = agent, parts
        crew = assignment.crew
        task = DelegatedTask.of(assignment.task, agent.role, description="{task}", expected_output="{}", agent=agent)
        deeper = crew is not None and depth + 1 < crew.max_delegation_depth
        self._assignment = handed_on(task, agent, crew, "", node=assignment.slug, deeper=deeper)
        others = colleagues(crew, task, agent) if crew is not None and deeper else ()
        self._team = Team(others, self._assignment, parts, depth + 1) if others else None
        self._tools: list[str] = []
        self._model = "None"

    def read(self) -> None:
        """Bring in what the user wrote for it."""
        parts, agent = self._parts, self._agent
        refuse_agent(agent, self._assignment, parts.refusals)
        found = [parts.tools.name(one, f"agent `{agent.role}`") for one in self._assignment.tools.values()]
        self._tools = [name for name in found if name is not None]
        self._model = parts.models.of(agent, self._assignment.crew)
        if self._team is not None:
            self._team.read()

    def role(self, values: Mapping[str, str]) -> str:
        """The expression for what it is called."""
        role = " ".join((self._agent.template("role") or "").split())
        return filled(literal(template(role, values)), role, values)

    def work(self, text: _Text, values: Mapping[str, str]) -> str:
        """The function that does its work."""
        agent, parts = self._agent, self._parts
        tools = [*self._tools, *([f"*{self._team.written(text, values)}"] if self._team is not None else [])]
        system = text(agent.template("role") or "agent", system_of(agent, parts, uses_tools=bool(tools)))
        words = [self._model, system, f"work{dated(agent, parts)}", *([f"[{', '.join(tools)}]"] if tools else [])]
        if isinstance(agent, Agent) and agent.use_system_prompt is False:
            parts.pieces.asks_without_system = True
            words[1:3] = ['""', f'{system} + "\\n\\n" + {words[2]}']
        words += [f"steps={agent.max_iter}"] if agent.max_iter != 25 else []
        return f"lambda work: {parts.pieces.name('answered')}({', '.join(words)})"


def coworkers_of(assignment: Assignment) -> Sequence[BaseAgent]:
    """To whom an agent may hand parts of a task."""
    sources = [one.tool.source for one in assignment.tools.values()]
    return next((one.agents for one in sources if isinstance(one, CoworkerTool)), list[Any]())


def system_of(agent: BaseAgent, parts: Parts, *, uses_tools: bool) -> str:
    """What an agent is told of itself."""
    texts = {name: agent.template(name) or "" for name in ("role", "goal", "backstory")}
    ending = parts.book.slice("native_tools" if uses_tools else "no_tools")
    return f"{parts.book.slice('role_playing', **texts)}\n\n{ending}"


def dated(agent: BaseAgent, parts: Parts) -> str:
    """What is added to what an agent is asked, where it is told the date."""
    if not isinstance(agent, Agent) or not agent.inject_date:
        return ""
    parts.sheet.use("datetime", "datetime")
    told = literal("\n\n" + parts.book.slice("current_date", date="{date}"))
    return f" + {parts.constant('TODAY', told, 4)}.format(date=datetime.now().strftime({agent.date_format!r}))"
