"""A task as a node: the constants of its prompts, and a function of the state."""

import re
from collections.abc import Callable, Sequence

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.placeholders import render_template, split_at_slot
from crewgraph.definitions.task.guardrail import model_guardrail
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.schema import model_outline
from crewgraph.text import placeholders, slug
from crewgraph_compat.eject.crew.agents import (
    CoworkerTools,
    coworkers_of,
    limited,
    plan_suffix,
    system_prompt_of,
    with_date,
)
from crewgraph_compat.eject.refusals import has_memory
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import doc_line, fill_slots, slot_template, string_literal

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
        self._is_strict = False
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
        results = [parts.tools.name(tool, agent.called) for tool in self.assignment.tools.values()]
        self._tools = [name for name in results if name is not None]
        self._tools += parts.skills.tool(agent, self.assignment.crew)
        if self._team is not None:
            self._team.read()
        schema = task.output_pydantic or task.output_json
        if schema is not None:
            self._structure = parts.lifter.value(schema, f"the result of {self.where}")
        self._model = parts.models.of(agent, self.assignment.crew)
        self._is_strict = schema is not None and parts.models.is_strict(self._model, schema)
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
        if isinstance(task, ConditionalTaskDefinition):
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
        if judge.kind != "llm":
            parts.refusals.add(f"the guardrail of {self.where}", f"`{type(judge).__name__}` is a feature of crewgraph")
        parts.outputs.require("description")
        model = self._model if judge.llm is None else parts.models.name(judge.llm, f"the guardrail of {self.where}")
        return f"partial({parts.pieces.name('judge_output')}, {model}, {string_literal(judge.description)})"

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
            self.choice = names.new(f"route_{self.slug}")
        lines = self._lines()
        returned = "dict[str, str]" if self.data is None else "dict[str, Any]"
        if self.data is not None:
            parts.sheet.use("typing", "Any")
        summary = doc_line(f"{self.assignment.agent.template('role')}: {self.assignment.task.template('description')}")
        body = "\n".join(f"    {line}" if line else "" for line in lines)
        takes = f"state: {self.state}"
        if re.search(r"\bconfig\b", body):
            parts.sheet.use("langchain_core.runnables", "RunnableConfig")
            takes += ", config: RunnableConfig"
        return f'def {self.function}({takes}) -> {returned}:\n    """{summary}"""\n{body}'

    def _lines(self) -> list[str]:
        work = self._work()
        if self._guardrails:
            return self._with_guardrails(work)
        lines = [f"text = {work('')}"]
        if self.data is not None:
            lines.append(f"data = {self._parsed()}")
        if self._callbacks:
            lines.append(f"output = {self._output('text', 'data')}")
            lines += [f"{callback}(output)" for callback in self._callbacks]
        lines += self._store_memories("text")
        lines += self._write_file("text", "data")
        value = f'"{self.slug}": text' + (f', "{self.data}": data' if self.data else "")
        if len(lines) == 1:
            return [f'return {{"{self.slug}": {work("")}}}']
        return [*lines, f"return {{{value}}}"]

    def _with_guardrails(self, work: _Work) -> list[str]:
        parts, pieces = self._parts, self._parts.pieces
        lines = ["", "def generate(feedback: str) -> str:", f"    return {work(' + feedback')}", ""]
        shaped = self._output("text", self._parsed() if self._structure else None, keep_data=True)
        lines += [f"def to_output(text: str) -> {parts.outputs.name()}:", f"    return {shaped}", ""]
        judges = f"[{', '.join(self._guardrails)}]"
        if "partial(" in judges:
            parts.sheet.use("functools", "partial")
        retries = self.assignment.task.guardrail_max_retries
        lines.append(
            f"output = {pieces.name('apply_guardrails')}(generate, to_output, {judges}, max_retries={retries})"
        )
        lines += [f"{callback}(output)" for callback in self._callbacks]
        field = "json_dict" if self.assignment.task.output_json else "pydantic"
        lines += self._store_memories("output.raw")
        lines += self._write_file("output.raw", f"output.{field}")
        value = f'"{self.slug}": output.raw' + (f', "{self.data}": output.{field}' if self.data else "")
        return [*lines, f"return {{{value}}}"]

    def _parsed(self) -> str:
        """Return the expression that parses a text into the structured result."""
        built = f"{self._parts.pieces.name('parse_output')}({self._model}, text, {self._structure})"
        return f'{built}.model_dump(mode="json")' if self.assignment.task.output_json else built

    def _work(self) -> _Work:
        agent, parts = self.assignment.agent, self._parts
        system, prompt = self._prompts()
        prompt += with_date(agent, parts) + self._memory_suffix() + self._knowledge_suffix() + self._plan_suffix()
        tools = list(self._tools)
        if self._team is not None:
            values = self._values
            tools.append(f"*{self._team.named(lambda name, text: self._text(name, text, values), values, self.state)}")
        role = agent.template("role") or "agent"
        words = (self._model, system)
        if not self.assignment.task.human_input:
            return lambda more: limited(
                parts.answer(
                    role, (*words, f"{prompt}{more}"), tools, agent.max_iter, "config", self._structure, self._is_strict
                ),
                agent,
                parts,
            )
        if isinstance(agent, AgentDefinition) and agent.max_execution_time:
            why = "its agent has a time limit, which would include the time that a person takes to answer"
            parts.refusals.add(self.where, why)
        parts.sheet.use("langgraph.func", "task")
        revise = parts.pieces.name("revise_with_feedback")
        called, _, asks = parts.answer(
            role, (*words, f"{prompt}\0"), tools, agent.max_iter, structure=self._structure, strict=self._is_strict
        ).partition("(")
        # Answers from before an interrupt are not requested again when the node is run again.
        return lambda more: (
            f"{revise}(lambda revision: task({called})({asks.replace(chr(0), f'{more} + revision')}.result())"
        )

    @property
    def _has_memory(self) -> bool:
        """Whether the task's agent has a memory."""
        return has_memory(self.assignment.agent, self.assignment.crew)

    def _filled(self, *fields: str) -> str:
        """Return the expression for texts of the task."""
        text = "\n\n".join(self.assignment.task.template(field) or "" for field in fields)
        return fill_slots(string_literal(slot_template(text, self._values)), text, self._values)

    def _memory_suffix(self) -> str:
        """Return the prompt suffix with memories."""
        if not self._has_memory:
            return ""
        self._parts.add_memory(self.assignment.agent, self.assignment.crew)
        return f" + {self._parts.pieces.name('recall_memories')}({self._filled('description')})"

    def _knowledge_suffix(self) -> str:
        """Return the prompt suffix with knowledge."""
        task_text = self._filled("description", "expected_output")
        if self._sources:
            task_text += f' + "\\n\\n" + {self._context()}'
        found = self._parts.knowledge.search(self.assignment.agent, self.assignment.crew, self._model, task_text)
        if found and self.assignment.task.human_input:
            # Like the answers, it is not asked for again when the node is run again.
            called, _, words = found.partition("(")
            self._parts.sheet.use("langgraph.func", "task")
            found = f"task({called})({words}.result()"
        return f" + {found}" if found else ""

    def _plan_suffix(self) -> str:
        """Return the prompt suffix with the agent's plan."""
        agent, task_text = self.assignment.agent, self._filled("description", "expected_output")
        found = plan_suffix(agent, self._parts, self._model, task_text, list(self.assignment.tools))
        if found and self.assignment.task.human_input:
            self._parts.refusals.add(
                self.where, "its agent plans first, and would plan again after a person has answered"
            )
        return found

    def _store_memories(self, text: str) -> list[str]:
        """Return the lines that keep the task's result."""
        if not self._has_memory:
            return []
        texts = f"{self._filled('description')}, {self._filled('expected_output')}"
        return [f"{self._parts.pieces.name('store_memories')}({self._model}, {texts}, {text})"]

    def _prompts(self) -> tuple[str, str]:
        """Return the expressions for the system prompt and the user prompt."""
        task, agent, book = self.assignment.task, self.assignment.agent, self._parts.book
        crew = self.assignment.crew
        system = system_prompt_of(agent, self._parts, uses_tools=bool(self._tools or self._team), crew=crew)
        values = dict(self._values)
        prompt = [task.template("description") or ""]
        if (number := self.assignment.plan_number) is not None:
            slot = "the_plan" if "plan" in values else "plan"
            values[slot] = f'{self._parts.pieces.name("format_plan")}(state["plans"][{number - 1}])'
            prompt[0] += f"{{{slot}}}"
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
        system, text = _in_templates(agent, system, text)
        if isinstance(agent, AgentDefinition) and (
            agent.use_system_prompt is False or (agent.system_template and agent.prompt_template)
        ):
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
        return read[0] if len(read) == 1 else f"{self._parts.pieces.name('join_outputs')}({', '.join(read)})"

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
            self._parts.outputs.require("json_dict" if task.output_json else "pydantic")
        return self._parts.outputs.construction(values)

    def _write_file(self, text: str, data: str) -> list[str]:
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
        return [f"{self._parts.pieces.name('write_file')}({where}, {content})"]


def _upper(text: str) -> str:
    return slug(text).upper()


def _in_templates(agent: BaseAgentDefinition, system: str, text: str) -> tuple[str, str]:
    """Return the prompts in the templates of their agent."""
    if not isinstance(agent, AgentDefinition) or not (agent.system_template and agent.prompt_template):
        return system, text
    texts = {name: agent.template(name) or "" for name in ("role", "goal", "backstory")}
    system = render_template(agent.system_template, "System", system, texts)
    text = render_template(agent.prompt_template, "Prompt", text, texts)
    if agent.response_template:
        text = f"{text}\n{split_at_slot(agent.response_template, 'Response')[0]}".rstrip("\n")
    return system, text
