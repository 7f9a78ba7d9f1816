"""Agents that functions ask by themselves: each is a function of its own, which gives what the agent says."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import engaged
from crewgraph.definitions.agent.agent import Agent
from crewgraph.eject.limits import refuse_agent
from crewgraph.eject.parts import Parts
from crewgraph.eject.team import dated, system_of
from crewgraph.eject.texts import doc_line, filled, literal, template
from crewgraph.schema import described
from crewgraph.text import placeholders, slug

__all__ = ["AgentCalls"]

_OUTPUT, _PROMPT, _FUNCTION = 2, 4, 10


@dataclass(frozen=True)
class _Asked:
    """An agent that is asked."""

    agent: Agent
    kind: str | None
    """The class of the structure that is asked for, and what is told of it."""

    form: str
    function: str
    model: str
    tools: tuple[str, ...]

    @property
    def slots(self) -> list[str]:
        """What its texts need of a run."""
        texts = [self.agent.template(name) or "" for name in ("role", "goal", "backstory")]
        return list(dict.fromkeys(name for text in texts for name in placeholders(text)))


class AgentCalls:
    """Writes the agents that are asked by themselves.

    Args:
        parts: the program, and those who write parts of it.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._asked: dict[tuple[int, int], _Asked] = {}

    def function(self, agent: Agent, kind: type[BaseModel] | None) -> tuple[str, Sequence[str]]:
        """The function that asks an agent, and the names of what it takes besides the question.

        Args:
            agent: who is asked.
            kind: the structure that the answer is to have.
        """
        key = (id(agent), id(kind))
        if key not in self._asked:
            self._asked[key] = self._read(agent, kind)
        return self._asked[key].function, self._asked[key].slots

    def _read(self, agent: Agent, kind: type[BaseModel] | None) -> _Asked:
        parts, where = self._parts, f"agent `{agent.role}`"
        engagement = engaged(agent)
        refuse_agent(agent, engagement, parts.refusals)
        if agent.guardrail is not None:
            parts.refusals.add(f"`guardrail` of {where}", "it judges what the agent says by itself; make a task of it")
        tools = [parts.tools.name(one, where) for one in engagement.tools.values()]
        parts.pieces.loop.uses_tools |= bool(tools)
        structure = None if kind is None else parts.lifter.value(kind, f"the answers of {where}")
        return _Asked(
            agent=agent,
            kind=structure,
            form="" if kind is None else described(kind),
            function=parts.sheet.names.new(f"ask_{slug(agent.template('role') or 'agent')}"),
            model=parts.models.of(agent),
            tools=tuple(one for one in tools if one is not None),
        )

    def write(self) -> None:
        """Write them."""
        if not self._asked:
            return
        fields = [one for one in ("pydantic",) if any(f".{one}" in text for text in self._parts.lifter.sources)]
        sheet = self._parts.sheet
        sheet.names.take("AgentOutput")
        sheet.use("dataclasses", "dataclass")
        if fields:
            sheet.use("typing", "Any")
        listed = "".join(f"    {one}: Any = None\n" for one in fields)
        sheet.add(
            '@dataclass(frozen=True)\nclass AgentOutput:\n    """What an agent said."""\n\n    raw: str\n'
            f"{listed}\n    def __str__(self) -> str:\n        return self.raw",
            _OUTPUT,
        )
        for one in self._asked.values():
            self._write(one, fields)

    def _write(self, asked: _Asked, fields: Sequence[str]) -> None:
        parts, agent = self._parts, asked.agent
        values = {name: name for name in asked.slots}
        role = agent.template("role") or "agent"
        system = self._constant(role, system_of(agent, parts, uses_tools=bool(asked.tools)), values)
        question = "question"
        if asked.form:
            form = parts.book.slice("formatted_task_instructions", output_format=asked.form)
            question = f'f"{{question}}\\n\\n{{{self._constant(f"{role} form", form, {})}}}"'
        words = [
            asked.model,
            system,
            f"{question}{dated(agent, parts)}",
            *([f"[{', '.join(asked.tools)}]"] if asked.tools else []),
        ]
        words += [f"steps={agent.max_iter}"] if agent.max_iter != 25 and parts.pieces.loop.uses_tools else []
        said = f"{parts.pieces.name('answered')}({', '.join(words)})"
        lines = [f"return AgentOutput({said})"]
        if asked.kind is not None and fields:
            read = f"{parts.pieces.name('parsed')}({asked.model}, text, {asked.kind})"
            lines = [f"text = {said}", f"return AgentOutput(text, pydantic={read})"]
        takes = ", ".join(["question: str", *(f"{name}: object" for name in asked.slots)])
        told = doc_line(f"What {agent.template('role')} says to a question")
        body = "\n".join(f"    {line}" for line in lines)
        parts.sheet.add(f'def {asked.function}({takes}) -> AgentOutput:\n    """{told}"""\n{body}', _FUNCTION)

    def _constant(self, wanted: str, text: str, values: dict[str, str]) -> str:
        written = literal(template(text, values))
        name = self._parts.constant(slug(wanted).upper(), written, _PROMPT)
        return filled(name, text, values)
