"""Agents as functions: those that code calls directly, and coworkers as tools of the agent that may delegate to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding, bind_agent
from crewgraph.compiler.agent.cached_tool import cache_of
from crewgraph.compiler.crew.manager import colleagues
from crewgraph.compiler.task.binding import TaskBinding, bind_delegated_task, lessons_for, lessons_of
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.schema import model_outline
from crewgraph.task import DelegatedTask
from crewgraph.text import placeholders, slug
from crewgraph_compat.eject.refusals import has_memory, refuse_agent
from crewgraph_compat.eject.writing.agent_graph import AgentGraph
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import doc_line, fill_slots, output_methods, slot_template, string_literal

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
        self, agents: Sequence[BaseAgentDefinition], assignment: TaskBinding, parts: ProgramWriters, depth: int = 0
    ) -> None:
        self._agents, self._assignment, self._parts = agents, assignment, parts
        self._members = [_Member(agent, assignment, parts, depth) for agent in agents]

    def read(self) -> None:
        """Add the user's code that the coworkers need."""
        for member in self._members:
            member.read()

    def written(self, text: _Text, values: Mapping[str, str]) -> str:
        """Return the expression for the coworker tools.

        Args:
            text: returns the expression for a prompt text.
            values: expressions by input name.
        """
        entries = [f"{member.role(values)}: {member.work(text, values)}" for member in self._members]
        return f"{self._parts.pieces.name('build_coworker_tools')}({{{', '.join(entries)}}})"

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
            name = parts.teams[written] = parts.sheet.names.new("coworker_tools" if needs_state else "COWORKER_TOOLS")
            message = '"""Return the tools that delegate to coworkers."""'
            parts.sheet.add(
                f"def {name}(state: {state}) -> list[BaseTool]:\n    {message}\n    return {written}"
                if needs_state
                else f"{name} = {written}",
                _RANK,
            )
        return f"{parts.teams[written]}(state)" if needs_state else parts.teams[written]


class _Member:
    """A coworker."""

    def __init__(self, agent: BaseAgentDefinition, assignment: TaskBinding, parts: ProgramWriters, depth: int) -> None:
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
        note_reused_results(self._assignment, parts.pieces.loop)
        _refuse_templates(agent, parts)
        results = [parts.tools.name(tool, agent.called) for tool in self._assignment.tools.values()]
        self._tools = [name for name in results if name is not None]
        self._tools += parts.skills.tool(agent, self._assignment.crew)
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
        system = text(
            agent.template("role") or "agent",
            system_prompt_of(agent, parts, uses_tools=bool(tools), crew=self._assignment.crew),
        )
        crew, remembers = self._assignment.crew, has_memory(agent, self._assignment.crew)
        prompt = f"request{with_date(agent, parts)}"
        if remembers:
            parts.add_memory(agent, crew)
            prompt += f" + {parts.pieces.name('recall_memories')}(request)"
        if found := parts.knowledge.search(agent, crew, self._model, "request"):
            prompt += f" + {found}"
        prompt += plan_suffix(agent, parts, self._model, "request", list(self._assignment.tools))
        words = [self._model, system, prompt]
        if isinstance(agent, AgentDefinition) and agent.use_system_prompt is False:
            parts.pieces.asks_without_system = True
            words[1:3] = ['""', f'{system} + "\\n\\n" + {words[2]}']
        role = agent.template("role") or "agent"
        answer = limited(parts.answer(role, words, tools, agent.max_iter), agent, parts)
        if remembers:
            answer = f'{parts.pieces.name("store_memories")}({self._model}, request, "", {answer})'
        return f"lambda request: {answer}"


def note_reused_results(binding: AgentBinding, loop: AgentGraph) -> None:
    """Note of which tools of an agent the results are reused."""
    for name, tool in binding.tools.items():
        if isinstance(tool.source, CoworkerTool):
            continue
        loop.reuse(name, wanted=cache_of(tool, binding.agent, binding.crew) is not None)


def coworkers_of(assignment: TaskBinding) -> Sequence[BaseAgentDefinition]:
    """Return the agents that an agent can delegate to."""
    sources = [tool.source for tool in assignment.tools.values()]
    return next((source.agents for source in sources if isinstance(source, CoworkerTool)), list[Any]())


def system_prompt_of(
    agent: BaseAgentDefinition, parts: ProgramWriters, *, uses_tools: bool, crew: CrewDefinition | None = None
) -> str:
    """Return the system prompt of an agent."""
    texts = {name: agent.template(name) or "" for name in ("role", "goal", "backstory")}
    ending = parts.book.slice("native_tools" if uses_tools else "no_tools")
    notes = parts.skills.prompt(agent, crew) + _lessons(agent, parts, crew)
    return f"{parts.book.slice('role_playing', **texts)}\n\n{ending}{notes}"


def _lessons(agent: BaseAgentDefinition, parts: ProgramWriters, crew: CrewDefinition | None) -> str:
    """Return the lessons from an agent's training."""
    lessons = () if crew is None else lessons_for(lessons_of(crew), agent.template("role") or "", agent.role)
    return "\n\n" + parts.book.slice("lessons", lessons="\n".join(f"- {item}" for item in lessons)) if lessons else ""


def _refuse_templates(agent: BaseAgentDefinition, parts: ProgramWriters) -> None:
    """Refuse the templates of an agent whose prompt is built during a run."""
    if isinstance(agent, AgentDefinition) and (
        agent.system_template or agent.prompt_template or agent.response_template
    ):
        why = "templates are filled in only for agents of tasks; write their text into the backstory"
        parts.refusals.add(f"the templates of {agent.called}", why)


def limited(answer: str, agent: BaseAgentDefinition, parts: ProgramWriters) -> str:
    """Return the expression for an agent's answer, limited by `max_execution_time`."""
    seconds = agent.max_execution_time if isinstance(agent, AgentDefinition) else None
    return answer if not seconds else f"{parts.pieces.name('run_with_timeout')}(lambda: {answer}, {seconds})"


def plan_suffix(agent: BaseAgentDefinition, parts: ProgramWriters, model: str, task: str, tools: Sequence[str]) -> str:
    """Return the prompt suffix with the agent's plan, if it plans first.

    Args:
        agent: the agent.
        parts: the program and the writers of its parts.
        model: the constant of its model.
        task: the expression for the task.
        tools: the names of its tools.
    """
    if not isinstance(agent, AgentDefinition) or not agent.reasoning:
        return ""
    texts = {name: agent.template(name) or "" for name in ("role", "goal", "backstory")}
    book, words = parts.book, {"expected_output": "as described", "tools": ", ".join(tools) or "none"}
    system = string_literal(book.filled("reasoning", "initial_plan", **texts))
    prompt = string_literal(book.filled("reasoning", "create_plan_prompt", description="{task}", **words))
    system = parts.constant("REASONING_SYSTEM_PROMPT", system, 4)
    words = [model, system, f"{parts.constant('REASONING_PROMPT', prompt, 4)}.format(task={task})"]
    words += [] if agent.max_reasoning_attempts is None else [f"attempts={max(agent.max_reasoning_attempts, 1)}"]
    return f" + {parts.pieces.name('plan_task')}({', '.join(words)})"


def with_date(agent: BaseAgentDefinition, parts: ProgramWriters) -> str:
    """Return the prompt suffix with the date, if the agent gets it."""
    if not isinstance(agent, AgentDefinition) or not agent.inject_date:
        return ""
    parts.sheet.use("datetime", "datetime")
    suffix = string_literal("\n\n" + parts.book.slice("current_date", date="{date}"))
    return f" + {parts.constant('TODAY', suffix, 4)}.format(date=datetime.now().strftime({agent.date_format!r}))"


_OUTPUT, _PROMPT, _FUNCTION = 2, 4, 10


@dataclass(frozen=True)
class _AgentCall:
    """An agent that code calls directly."""

    agent: AgentDefinition
    kind: str | None
    """The class of the response model, and its description in the prompt."""

    form: str
    is_strict: bool
    """Whether the answer is to be strict."""

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
        self._calls: dict[tuple[int, int], _AgentCall] = {}

    def function(self, agent: AgentDefinition, kind: type[BaseModel] | None) -> tuple[str, Sequence[str]]:
        """Return the function that calls an agent, and the names of its parameters besides the question.

        Args:
            agent: the agent.
            kind: the response model.
        """
        key = (id(agent), id(kind))
        if key not in self._calls:
            self._calls[key] = self._read(agent, kind)
        return self._calls[key].function, self._calls[key].slots

    def _read(self, agent: AgentDefinition, kind: type[BaseModel] | None) -> _AgentCall:
        parts, where = self._parts, agent.called
        engagement = bind_agent(agent)
        refuse_agent(agent, engagement, parts.refusals)
        note_reused_results(engagement, parts.pieces.loop)
        _refuse_templates(agent, parts)
        if agent.guardrail is not None:
            why = "guardrails of agents that are called directly are not supported; turn the call into a task"
            parts.refusals.add(f"`guardrail` of {where}", why)
        tools = [parts.tools.name(tool, where) for tool in engagement.tools.values()]
        tools += parts.skills.tool(agent, None)
        structure = None if kind is None else parts.lifter.value(kind, f"the answers of {where}")
        model = parts.models.of(agent)
        return _AgentCall(
            agent=agent,
            kind=structure,
            form="" if kind is None else model_outline(kind),
            is_strict=kind is not None and parts.models.is_strict(model, kind),
            function=parts.sheet.names.new(f"ask_{slug(agent.template('role') or 'agent')}"),
            model=model,
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

    def _write(self, call: _AgentCall, fields: Sequence[str]) -> None:
        parts, agent = self._parts, call.agent
        values = {name: name for name in call.slots}
        role = agent.template("role") or "agent"
        system = self._constant(role, system_prompt_of(agent, parts, uses_tools=bool(call.tools)), values)
        question = "question"
        if call.form:
            form = parts.book.slice("formatted_task_instructions", output_format=call.form)
            question = f'f"{{question}}\\n\\n{{{self._constant(f"{role} format", form, {})}}}"'
        words = [
            call.model,
            system,
            f"{question}{with_date(agent, parts)}{self._known(call)}",
        ]
        answer = parts.answer(role, words, call.tools, agent.max_iter, structure=call.kind, strict=call.is_strict)
        text = limited(answer, agent, parts)
        if has_memory(agent, None):
            text = f'{parts.pieces.name("store_memories")}({call.model}, question, "", {text})'
        lines = [f"return AgentOutput({text})"]
        if call.kind is not None and fields:
            read = f"{parts.pieces.name('parse_output')}({call.model}, text, {call.kind})"
            lines = [f"text = {text}", f"return AgentOutput(text, pydantic={read})"]
        takes = ", ".join(["question: str", *(f"{name}: object" for name in call.slots)])
        summary = doc_line(f"Return the answer of {agent.template('role')} to a question")
        body = "\n".join(f"    {line}" for line in lines)
        parts.sheet.add(f'def {call.function}({takes}) -> AgentOutput:\n    """{summary}"""\n{body}', _FUNCTION)

    def _known(self, call: _AgentCall) -> str:
        """Return the question suffix with memories and knowledge."""
        parts, result = self._parts, ""
        if has_memory(call.agent, None):
            parts.add_memory(call.agent, None)
            result = f" + {parts.pieces.name('recall_memories')}(question)"
        found = parts.knowledge.search(call.agent, None, call.model, "question")
        result = f"{result} + {found}" if found else result
        return result + plan_suffix(call.agent, parts, call.model, "question", call.tools)

    def _constant(self, preferred: str, text: str, values: dict[str, str]) -> str:
        literal = string_literal(slot_template(text, values))
        name = self._parts.constant(slug(preferred).upper(), literal, _PROMPT)
        return fill_slots(name, text, values)
