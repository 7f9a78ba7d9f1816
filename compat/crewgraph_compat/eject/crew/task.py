"""A task as a node: the constants of its prompts, and a function of the state."""

from collections.abc import Callable, Sequence

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.task.guardrail import HallucinationGuardrail, model_guardrail
from crewgraph.definitions.task.task import ConditionalTask
from crewgraph.schema import model_outline
from crewgraph.text import placeholders, slug
from crewgraph_compat.eject.crew.agents import CoworkerTools, coworkers_of, system_prompt_of, with_date
from crewgraph_compat.eject.refusals import memory_embedder
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import doc_line, fill_slots, slot_template, string_literal

__all__ = ["TaskWriter"]

_PROMPT = 4

_Work = Callable[[str], str]
"""Returns the expression for the agent's answer; its argument is appended to the prompt."""


class TaskWriter:
    """Write one task.

    Args:
        assignment: the task with its agent, its tools and its context.
        parts: the program and the writers of its parts.
        inputs: the names of the crew's inputs.
        sources: the tasks whose outputs it receives as context.
    """

    def __init__(
        self, assignment: TaskBinding, parts: ProgramWriters, inputs: Sequence[str], sources: "list[TaskWriter]"
    ) -> None:
        self.assignment, self._parts, self._sources = assignment, parts, sources
        is_taken = assignment.slug in inputs
        self.slug, self.state = f"{assignment.slug}_result" if is_taken else assignment.slug, "State"
        self.is_optional = False
        self._values = {name: f'state["{name.replace("-", "_")}"]' for name in inputs}
        self._tools: list[str] = []
        coworkers = coworkers_of(assignment)
        self._team = CoworkerTools(coworkers, assignment, parts) if coworkers else None
        self._guardrails: list[str] = []
        self._callbacks: list[str] = []
        self._structure: str | None = None
        self.condition = ""
        self._model = "None"
        self.function = self.choice = ""

    @property
    def where(self) -> str:
        """The name of the task in messages."""
        return f"task `{self.assignment.task.name or self.slug}`"

    @property
    def data(self) -> str | None:
        """The state key of the structured result."""
        return f"{self.slug}_data" if self._structure else None

    def read(self) -> None:
        """Add the user's code that the task needs."""
        parts, task, agent = self._parts, self.assignment.task, self.assignment.agent
        if any(not isinstance(item, str) for item in self.assignment.context):
            parts.refusals.add(self.where, "its context contains a task of another crew")
        results = [parts.tools.name(tool, f"agent `{agent.role}`") for tool in self.assignment.tools.values()]
        self._tools = [name for name in results if name is not None]
        parts.pieces.loop.uses_tools |= bool(self._tools)
        if self._team is not None:
            self._team.read()
        schema = task.output_pydantic or task.output_json
        if schema is not None:
            self._structure = parts.lifter.value(schema, f"the result of {self.where}")
        self._model = parts.models.of(agent, self.assignment.crew)
        if task.human_input:
            parts.asks_people = parts.keeps_runs = True
        self._read_functions()

    def _read_functions(self) -> None:
        """Add the user's functions that receive the task's output."""
        parts, task = self._parts, self.assignment.task
        for guardrail in task.all_guardrails:
            self._guardrails.append(self._guardrail(guardrail))
        crews = self.assignment.crew.task_callback if self.assignment.crew else None
        for callback in dict.fromkeys((task.callback, *task.callbacks, crews)):
            if callback is not None:
                self._callbacks.append(parts.lifter.value(callback, f"the callback of {self.where}") or "None")
        if isinstance(task, ConditionalTask):
            if task.condition is None:
                parts.refusals.add(self.where, "it has no condition")
            self.condition = parts.lifter.value(task.condition, f"the condition of {self.where}") or "None"
        if self._guardrails or self._callbacks or self.condition:
            parts.outputs.name()

    def _guardrail(self, guardrail: object) -> str:
        parts = self._parts
        judge = model_guardrail(guardrail)
        if judge is None:
            return parts.lifter.value(guardrail, f"the guardrail of {self.where}") or "None"
        if isinstance(judge, HallucinationGuardrail):
            parts.refusals.add(f"the guardrail of {self.where}", "the faithfulness judge is a feature of crewgraph")
        parts.outputs.keep("description")
        model = self._model if judge.llm is None else parts.models.name(judge.llm, f"the guardrail of {self.where}")
        return f"partial({parts.pieces.name('judged')}, {model}, {string_literal(judge.description)})"

    def keys(self) -> list[str]:
        """Return the state keys of the task, with their types."""
        remaining = "NotRequired[{}]" if self.is_optional else "{}"
        keys = [f"{self.slug}: {remaining.format('str')}"]
        if self.data is not None:
            if self.assignment.task.output_json:
                self._parts.sheet.use("typing", "Any")
            kind = "dict[str, Any]" if self.assignment.task.output_json else self._structure
            keys.append(f"{self.data}: {remaining.format(kind)}")
        return keys

    def read_from(self, state: str) -> str:
        """Return the expression for the task's text."""
        return f'{state}.get("{self.slug}", "")' if self.is_optional else f'{state}["{self.slug}"]'

    def output_in(self, state: str) -> str:
        """Return the expression for the task's output if the state holds it."""
        got = f'{state}.get("{self.data}")' if self.is_optional else f'{state}["{self.data}"]'
        return self._output(self.read_from(state), got)

    def skipped(self) -> str:
        """Return the expression for the output of a skipped task."""
        return self._output('""', None)

    def node(self) -> str:
        """Return the function of the task's node; its prompts are written separately."""
        parts, names = self._parts, self._parts.sheet.names
        self.function = names.new(self.slug, "_task")
        if self.condition:
            self.choice = names.new(f"whether_{self.slug}")
        lines = self._lines()
        returned = "dict[str, str]" if self.data is None else "dict[str, Any]"
        if self.data is not None:
            parts.sheet.use("typing", "Any")
        summary = doc_line(f"{self.assignment.agent.template('role')}: {self.assignment.task.template('description')}")
        body = "\n".join(f"    {line}" if line else "" for line in lines)
        return f'def {self.function}(state: {self.state}) -> {returned}:\n    """{summary}"""\n{body}'

    def _lines(self) -> list[str]:
        work = self._work()
        if self._guardrails:
            return self._guarded(work)
        lines = [f"text = {work('')}"]
        if self.data is not None:
            lines.append(f"data = {self._parsed()}")
        if self._callbacks:
            lines.append(f"output = {self._output('text', 'data')}")
            lines += [f"{callback}(output)" for callback in self._callbacks]
        lines += self._remembering("text")
        lines += self._saved("text", "data")
        value = f'"{self.slug}": text' + (f', "{self.data}": data' if self.data else "")
        if len(lines) == 1:
            return [f'return {{"{self.slug}": {work("")}}}']
        return [*lines, f"return {{{value}}}"]

    def _guarded(self, work: _Work) -> list[str]:
        parts, pieces = self._parts, self._parts.pieces
        lines = ["", "def work(feedback: str) -> str:", f"    return {work(' + feedback')}", ""]
        shaped = self._output("text", self._parsed() if self._structure else None, keep_data=True)
        lines += [f"def shaped(text: str) -> {parts.outputs.name()}:", f"    return {shaped}", ""]
        judges = f"[{', '.join(self._guardrails)}]"
        if "partial(" in judges:
            parts.sheet.use("functools", "partial")
        retries = self.assignment.task.guardrail_max_retries
        lines.append(f"output = {pieces.name('guarded')}(work, shaped, {judges}, retries={retries})")
        lines += [f"{callback}(output)" for callback in self._callbacks]
        field = "json_dict" if self.assignment.task.output_json else "pydantic"
        lines += self._remembering("output.raw")
        lines += self._saved("output.raw", f"output.{field}")
        value = f'"{self.slug}": output.raw' + (f', "{self.data}": output.{field}' if self.data else "")
        return [*lines, f"return {{{value}}}"]

    def _parsed(self) -> str:
        """Return the expression that parses a text into the structured result."""
        built = f"{self._parts.pieces.name('parsed')}({self._model}, text, {self._structure})"
        return f'{built}.model_dump(mode="json")' if self.assignment.task.output_json else built

    def _work(self) -> _Work:
        agent, parts = self.assignment.agent, self._parts
        system, prompt = self._prompts()
        prompt += with_date(agent, parts) + self._remembered()
        called = parts.pieces.name("answered")
        words: list[str] = []
        if self._team is not None:
            values = self._values
            team = self._team.named(lambda name, text: self._text(name, text, values), values, self.state)
            words = [f"[{', '.join([*self._tools, f'*{team}'])}]" if self._tools else team]
        elif self._tools:
            words = [f"[{', '.join(self._tools)}]"]
        if agent.max_iter != 25 and parts.pieces.loop.uses_tools:
            words.append(f"steps={agent.max_iter}")
        if not self.assignment.task.human_input:
            return lambda more: f"{called}({', '.join([self._model, system, f'{prompt}{more}', *words])})"
        parts.sheet.use("langgraph.func", "task")
        reviewed, asks = parts.pieces.name("reviewed"), f"{self._model}, {system}, {prompt}"
        more = f", {', '.join(words)}" if words else ""
        # Answers from before an interrupt are not requested again when the node is run again.
        return lambda said: f"{reviewed}(lambda said: task({called})({asks}{said} + said{more}).result())"

    @property
    def _has_memory(self) -> bool:
        """Whether the task's crew has the plain memory."""
        crew = self.assignment.crew
        return crew is not None and crew.memory is True

    def _remembered(self) -> str:
        """Return the suffix of a prompt that tells what is remembered."""
        crew, pieces = self.assignment.crew, self._parts.pieces
        if crew is None or not self._has_memory:
            return ""
        pieces.embedder = memory_embedder(crew) or ""
        asked = self.assignment.task.template("description") or ""
        query = fill_slots(string_literal(slot_template(asked, self._values)), asked, self._values)
        return f" + {pieces.name('remembered')}({query})"

    def _remembering(self, text: str) -> list[str]:
        """Return the lines that keep the task's result."""
        return [f"{self._parts.pieces.name('remember')}({text})"] if self._has_memory else []

    def _prompts(self) -> tuple[str, str]:
        """Return the expressions for the system prompt and the user prompt."""
        task, agent, book = self.assignment.task, self.assignment.agent, self._parts.book
        system = system_prompt_of(agent, self._parts, uses_tools=bool(self._tools or self._team))
        values = dict(self._values)
        prompt = [task.template("description") or ""]
        expected = task.template("expected_output") or ""
        prompt.append(book.slice("expected_output", expected_output=expected))
        if task.markdown:
            prompt.append(book.slice("markdown"))
        schema = task.output_pydantic or task.output_json
        outline = "" if schema is None else model_outline(schema)
        if outline:
            prompt.append(book.slice("formatted_task_instructions", output_format=outline))
        text = "\n\n".join(prompt)
        if self._sources:
            slot = "earlier_context" if "context" in values else "context"
            values[slot] = self._context()
            text = book.slice("task_with_context", task=text, context=f"{{{slot}}}")
        text = book.slice("task", input=text)
        if isinstance(agent, Agent) and agent.use_system_prompt is False:
            self._parts.pieces.asks_without_system = True
            return '""', self._text(f"{self.slug}_task", f"{system}\n\n{text}", values)
        return self._text(agent.template("role") or "agent", system, self._values), self._text(
            f"{self.slug}_task", text, values
        )

    def _text(self, preferred: str, text: str, values: dict[str, str]) -> str:
        name = self._parts.constant(_upper(preferred), string_literal(slot_template(text, values)), _PROMPT)
        return fill_slots(name, text, values)

    def _context(self) -> str:
        read = [source.read_from("state") for source in self._sources]
        return read[0] if len(read) == 1 else f"{self._parts.pieces.name('joined')}({', '.join(read)})"

    def _output(self, text: str, data: str | None, *, keep_data: bool = False) -> str:
        task = self.assignment.task
        values = {"raw": text}
        if self._structure and data is not None:
            values["json_dict" if task.output_json else "pydantic"] = data
        for field, value in (
            ("description", task.template("description")),
            ("expected_output", task.template("expected_output")),
            ("name", task.name or task.template("description")),
            ("agent", self.assignment.agent.template("role")),
        ):
            values[field] = fill_slots(
                f"{string_literal(slot_template(value or '', self._values))}", value or "", self._values
            )
        if keep_data and self._structure:
            self._parts.outputs.keep("json_dict" if task.output_json else "pydantic")
        return self._parts.outputs.made(values)

    def _saved(self, text: str, data: str) -> list[str]:
        path = self.assignment.task.template("output_file")
        if path is None:
            return []
        values = {
            name: f'{read}.replace("/", "_")' for name, read in self._values.items() if name in placeholders(path)
        }
        where = fill_slots(string_literal(slot_template(path, values)), path, values)
        content = text
        if self.data is not None:
            content = f"{data}.model_dump_json()"
            if self.assignment.task.output_json:
                self._parts.sheet.module("json")
                content = f"json.dumps({data}, ensure_ascii=False, indent=2)"
        return [f"{self._parts.pieces.name('saved')}({where}, {content})"]


def _upper(text: str) -> str:
    return slug(text).upper()
