"""Agents as functions: those that code calls directly, and coworkers as tools of the agent that may delegate to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import bind_agent
from crewgraph.compiler.crew.manager import colleagues
from crewgraph.compiler.task.binding import TaskBinding, bind_delegated_task
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.task.delegated import DelegatedTask
from crewgraph.schema import model_outline
from crewgraph.text import placeholders, slug
from crewgraph_compat.eject.refusals import refuse_agent
from crewgraph_compat.eject.writing.output_methods import output_methods
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import doc_line, fill_slots, slot_template, string_literal

__all__ = ["TOOLS", "AgentCalls", "CoworkerTools", "coworkers_of", "system_prompt_of", "with_date"]


TOOLS = ("delegate_work_to_coworker", "ask_question_to_coworker")

_RANK = 8

_Text = Callable[[str, str], str]
"""Returns the expression for a text, given the preferred name of its constant and the text."""


class CoworkerTools:
    """Write the coworkers that an agent can delegate to while it works on a task.

    Args:
        agents: the coworkers.
        assignment: the task.
        parts: the program and the writers of its parts.
        depth: the number of delegations so far.
    """

    def __init__(
        self, agents: Sequence[BaseAgent], assignment: TaskBinding, parts: ProgramWriters, depth: int = 0
    ) -> None:
        self._agents, self._assignment, self._parts = agents, assignment, parts
        self._members = [_Member(agent, assignment, parts, depth) for agent in agents]

    def read(self) -> None:
        """Add the user's code that the coworkers need."""
        loop = self._parts.pieces.loop
        loop.uses_tools = True
        loop.not_kept |= dict.fromkeys(TOOLS)
        for member in self._members:
            member.read()

    def written(self, text: _Text, values: Mapping[str, str]) -> str:
        """Return the expression for the coworker tools.

        Args:
            text: returns the expression for a prompt text.
            values: expressions by input name.
        """
        entries = [f"{member.role(values)}: {member.work(text, values)}" for member in self._members]
        return f"{self._parts.pieces.name('coworkers')}({{{', '.join(entries)}}})"

    def named(self, text: _Text, values: Mapping[str, str], state: str) -> str:
        """Return the name of the coworker tools, which are created once at the top of the program.

        Args:
            text: returns the expression for a prompt text.
            values: expressions by input name.
            state: the class of the state.
        """
        parts, written = self._parts, self.written(text, values)
        needs_state = any(value in written for value in values.values())
        if written not in parts.teams:
            name = parts.teams[written] = parts.sheet.names.new("team" if needs_state else "TEAM")
            message = '"""Those who may be asked."""'
            parts.sheet.add(
                f"def {name}(state: {state}) -> list[BaseTool]:\n    {message}\n    return {written}"
                if needs_state
                else f"{name} = {written}",
                _RANK,
            )
        return f"{parts.teams[written]}(state)" if needs_state else parts.teams[written]


class _Member:
    """A coworker."""

    def __init__(self, agent: BaseAgent, assignment: TaskBinding, parts: ProgramWriters, depth: int) -> None:
        self._agent, self._parts = agent, parts
        crew = assignment.crew
        task = DelegatedTask.of(assignment.task, agent.role, description="{task}", expected_output="{}", agent=agent)
        deeper = crew is not None and depth + 1 < crew.max_delegation_depth
        self._assignment = bind_delegated_task(task, agent, crew, "", node=assignment.slug, may_delegate=deeper)
        coworkers = colleagues(crew, task, agent) if crew is not None and deeper else ()
        self._team = CoworkerTools(coworkers, self._assignment, parts, depth + 1) if coworkers else None
        self._tools: list[str] = []
        self._model = "None"

    def read(self) -> None:
        """Add the user's code that the coworker needs."""
        parts, agent = self._parts, self._agent
        refuse_agent(agent, self._assignment, parts.refusals)
        results = [parts.tools.name(tool, f"agent `{agent.role}`") for tool in self._assignment.tools.values()]
        self._tools = [name for name in results if name is not None]
        self._model = parts.models.of(agent, self._assignment.crew)
        if self._team is not None:
            self._team.read()

    def role(self, values: Mapping[str, str]) -> str:
        """Return the expression for the coworker's role."""
        role = " ".join((self._agent.template("role") or "").split())
        return fill_slots(string_literal(slot_template(role, values)), role, values)

    def work(self, text: _Text, values: Mapping[str, str]) -> str:
        """Return the function that runs the coworker."""
        agent, parts = self._agent, self._parts
        tools = [*self._tools, *([f"*{self._team.written(text, values)}"] if self._team is not None else [])]
        system = text(agent.template("role") or "agent", system_prompt_of(agent, parts, uses_tools=bool(tools)))
        words = [self._model, system, f"work{with_date(agent, parts)}", *([f"[{', '.join(tools)}]"] if tools else [])]
        if isinstance(agent, Agent) and agent.use_system_prompt is False:
            parts.pieces.asks_without_system = True
            words[1:3] = ['""', f'{system} + "\\n\\n" + {words[2]}']
        words += [f"steps={agent.max_iter}"] if agent.max_iter != 25 else []
        return f"lambda work: {parts.pieces.name('answered')}({', '.join(words)})"


def coworkers_of(assignment: TaskBinding) -> Sequence[BaseAgent]:
    """Return the agents that an agent can delegate to."""
    sources = [tool.tool.source for tool in assignment.tools.values()]
    return next((source.agents for source in sources if isinstance(source, CoworkerTool)), list[Any]())


def system_prompt_of(agent: BaseAgent, parts: ProgramWriters, *, uses_tools: bool) -> str:
    """Return the system prompt of an agent."""
    texts = {name: agent.template(name) or "" for name in ("role", "goal", "backstory")}
    ending = parts.book.slice("native_tools" if uses_tools else "no_tools")
    return f"{parts.book.slice('role_playing', **texts)}\n\n{ending}"


def with_date(agent: BaseAgent, parts: ProgramWriters) -> str:
    """Return the suffix of a prompt that tells an agent the date, if it has one."""
    if not isinstance(agent, Agent) or not agent.inject_date:
        return ""
    parts.sheet.use("datetime", "datetime")
    suffix = string_literal("\n\n" + parts.book.slice("current_date", date="{date}"))
    return f" + {parts.constant('TODAY', suffix, 4)}.format(date=datetime.now().strftime({agent.date_format!r}))"


_OUTPUT, _PROMPT, _FUNCTION = 2, 4, 10


@dataclass(frozen=True)
class _Asked:
    """An agent that code calls directly."""

    agent: Agent
    kind: str | None
    """The class of the response model, and its description in the prompt."""

    form: str
    function: str
    model: str
    tools: tuple[str, ...]

    @property
    def slots(self) -> list[str]:
        """Return the inputs that the agent's texts need."""
        texts = [self.agent.template(name) or "" for name in ("role", "goal", "backstory")]
        return list(dict.fromkeys(name for text in texts for name in placeholders(text)))


class AgentCalls:
    """Write the agents that code calls directly.

    Args:
        parts: the program and the writers of its parts.
    """

    def __init__(self, parts: ProgramWriters) -> None:
        self._parts = parts
        self._calls: dict[tuple[int, int], _Asked] = {}

    def function(self, agent: Agent, kind: type[BaseModel] | None) -> tuple[str, Sequence[str]]:
        """Return the function that calls an agent, and the names of its parameters besides the question.

        Args:
            agent: the agent.
            kind: the response model.
        """
        key = (id(agent), id(kind))
        if key not in self._calls:
            self._calls[key] = self._read(agent, kind)
        return self._calls[key].function, self._calls[key].slots

    def _read(self, agent: Agent, kind: type[BaseModel] | None) -> _Asked:
        parts, where = self._parts, f"agent `{agent.role}`"
        engagement = bind_agent(agent)
        refuse_agent(agent, engagement, parts.refusals)
        if agent.guardrail is not None:
            why = "guardrails of agents that are called directly are not supported; turn the call into a task"
            parts.refusals.add(f"`guardrail` of {where}", why)
        tools = [parts.tools.name(tool, where) for tool in engagement.tools.values()]
        parts.pieces.loop.uses_tools |= bool(tools)
        structure = None if kind is None else parts.lifter.value(kind, f"the answers of {where}")
        return _Asked(
            agent=agent,
            kind=structure,
            form="" if kind is None else model_outline(kind),
            function=parts.sheet.names.new(f"ask_{slug(agent.template('role') or 'agent')}"),
            model=parts.models.of(agent),
            tools=tuple(tool for tool in tools if tool is not None),
        )

    def write(self) -> None:
        """Write the functions."""
        if not self._calls:
            return
        sources, sheet = self._parts.lifter.sources, self._parts.sheet
        methods, modules = output_methods(sources, ["pydantic"])
        fields = [entry for entry in ("pydantic",) if methods or any(f".{entry}" in text for text in sources)]
        for module in modules:
            sheet.module(module)
        sheet.names.take("AgentOutput")
        sheet.use("dataclasses", "dataclass")
        if fields:
            sheet.use("typing", "Any")
        listed = "".join(f"    {field}: Any = None\n" for field in fields)
        sheet.add(
            '@dataclass(frozen=True)\nclass AgentOutput:\n    """The answer of an agent."""\n\n    raw: str\n'
            f"{listed}\n    def __str__(self) -> str:\n        return self.raw\n{methods}",
            _OUTPUT,
        )
        for item in self._calls.values():
            self._write(item, fields)

    def _write(self, call: _Asked, fields: Sequence[str]) -> None:
        parts, agent = self._parts, call.agent
        values = {name: name for name in call.slots}
        role = agent.template("role") or "agent"
        system = self._constant(role, system_prompt_of(agent, parts, uses_tools=bool(call.tools)), values)
        question = "question"
        if call.form:
            form = parts.book.slice("formatted_task_instructions", output_format=call.form)
            question = f'f"{{question}}\\n\\n{{{self._constant(f"{role} form", form, {})}}}"'
        words = [
            call.model,
            system,
            f"{question}{with_date(agent, parts)}",
            *([f"[{', '.join(call.tools)}]"] if call.tools else []),
        ]
        words += [f"steps={agent.max_iter}"] if agent.max_iter != 25 and parts.pieces.loop.uses_tools else []
        text = f"{parts.pieces.name('answered')}({', '.join(words)})"
        lines = [f"return AgentOutput({text})"]
        if call.kind is not None and fields:
            read = f"{parts.pieces.name('parsed')}({call.model}, text, {call.kind})"
            lines = [f"text = {text}", f"return AgentOutput(text, pydantic={read})"]
        takes = ", ".join(["question: str", *(f"{name}: object" for name in call.slots)])
        summary = doc_line(f"What {agent.template('role')} says to a question")
        body = "\n".join(f"    {line}" for line in lines)
        parts.sheet.add(f'def {call.function}({takes}) -> AgentOutput:\n    """{summary}"""\n{body}', _FUNCTION)

    def _constant(self, preferred: str, text: str, values: dict[str, str]) -> str:
        literal = string_literal(slot_template(text, values))
        name = self._parts.constant(slug(preferred).upper(), literal, _PROMPT)
        return fill_slots(name, text, values)
