"""The writers that share a program, and the small dataclass for the output of a task."""

import re
from collections.abc import Collection, Mapping, Sequence

from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.guardrail import LLMGuardrailResult
from crewgraph.prompts.i18n import Book
from crewgraph.schema import model_outline
from crewgraph.text import slug
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.user_code.module import UserCode
from crewgraph_compat.eject.writing.knowledge import EmbeddingExpressions, KnowledgeStores
from crewgraph_compat.eject.writing.models import ModelExpressions
from crewgraph_compat.eject.writing.node_functions import HelperFunctions
from crewgraph_compat.eject.writing.sheet import ProgramText, UniqueNames, output_methods
from crewgraph_compat.eject.writing.skills import SkillTexts
from crewgraph_compat.eject.writing.tools import ToolFunctions

_RANK = 1
_FIELDS = {
    "pydantic": ("Any", "None"),
    "json_dict": ("dict[str, Any] | None", "None"),
    "description": ("str", '""'),
    "expected_output": ("str", '""'),
    "name": ("str", '""'),
    "agent": ("str", '""'),
}
_SUMMARY = '''
    @property
    def summary(self) -> str:
        """The first words of the task's description."""
        return " ".join(self.description.split()[:10]) + "..."
'''
_TEXT = re.compile(r"\bstr\(|\bprint\(|\{\w+\}")


class TaskOutputDataclass:
    """Write `TaskOutput` for user functions that receive it.

    Args:
        sheet: the program.
    """

    def __init__(self, sheet: ProgramText) -> None:
        self._sheet = sheet
        self._fields: list[str] = []
        self._needs_str = False
        self._has_summary = False
        self._sources: Sequence[str] = ()
        self.is_used = False

    def name(self) -> str:
        """Return the name of the class, which is then written at the end."""
        self.is_used = True
        called = self._sheet.helper("TaskOutput")
        if called is None:
            called = "TaskOutput"
            self._sheet.names.take(called)
            self._sheet.name_helper(called, called)
        return called

    def find_used_fields(self, sources: Sequence[str]) -> None:
        """Record the fields that functions use."""
        results = {field for field in _FIELDS if any(f".{field}" in text for text in sources)}
        if output_methods(sources, ())[0]:
            results |= {"pydantic", "json_dict"}
        self._has_summary = any(".summary" in text and "TaskOutput" in text for text in sources)
        results |= {"description"} if self._has_summary else set[str]()
        self._sources = sources
        self._fields = [field for field in _FIELDS if field in results or field in self._fields]
        self._needs_str = any(_TEXT.search(text) for text in sources if not text.startswith("@tool"))

    def require(self, field: str) -> None:
        """Record a field that is always needed."""
        self._fields = [item for item in _FIELDS if item == field or item in self._fields]

    def construction(self, values: Mapping[str, str]) -> str:
        """Return the expression that creates an output.

        Args:
            values: expressions by field; unused fields are omitted.
        """
        remaining = {name: item for name, item in values.items() if name == "raw" or name in self._fields}
        return f"{self.name()}({', '.join(f'{name}={item}' for name, item in remaining.items())})"

    def write(self) -> None:
        """Write the class."""
        self._sheet.use("dataclasses", "dataclass")
        fields = [f"    {name}: {_FIELDS[name][0]} = {_FIELDS[name][1]}" for name in self._fields]
        if any("Any" in line for line in fields):
            self._sheet.use("typing", "Any")
        text = "\n    def __str__(self) -> str:\n        return self.raw\n" if self._needs_str else ""
        text += _SUMMARY if self._has_summary else ""
        structures = [field for field in ("pydantic", "json_dict") if field in self._fields]
        methods, modules = output_methods(self._sources, structures)
        for module in modules:
            self._sheet.module(module)
        self._sheet.add(
            "@dataclass(frozen=True)\nclass TaskOutput:\n"
            '    """The output of a task, for the functions that receive it."""\n\n'
            "    raw: str\n" + "\n".join(fields) + text + methods,
            _RANK,
        )


_TOOL_FAILURE = '''
@dataclass(frozen=True)
class ToolFailure:
    """The reason why a tool has no result."""

    message: str
    code: str | None = None
    retryable: bool = False

    def __str__(self) -> str:
        return self.message
'''

_AGENTS = 8
_SAVER_NOTE = (
    '"""Saves runs by `thread_id` in memory; use a database checkpointer to keep them when the process ends."""'
)


_SLICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "conversion_text": ("conversion_text", {"text": "{text}"}),
    "guardrail_system": ("guardrail_system", {"rule": "{rule}", "schema": model_outline(LLMGuardrailResult)}),
    "guardrail_text": ("guardrail_text", {"task": "{task}", "output": "{output}"}),
    "MEMORY_PROMPT": ("memory", {"memory": "{memory}"}),
    "LESSONS_SYSTEM_PROMPT": ("assessment_system", {"schema": "suggestions, entities (name, description)"}),
    "LESSONS_PROMPT": ("assessment_text", {"task": "{task}", "expected_output": "{expected}", "output": "{output}"}),
    "QUERY_SYSTEM_PROMPT": ("knowledge_search_query_system_prompt", {}),
    "QUERY_PROMPT": ("knowledge_search_query", {"task_prompt": "{task}"}),
    "KNOWLEDGE_PROMPT": ("knowledge", {"knowledge": "{found}"}),
    "TASK_PLAN_PROMPT": ("plan", {"plan": "{plan}"}),
    "PLAN_PROMPT": ("planned_task", {"task": "", "plan": "{plan}"}),
}
"""The slices of the prompts that are constants of the program, with their placeholders."""


class ProgramWriters:
    """A program and the writers of its parts.

    Args:
        about: its docstring.
        target: the module that defines the crew or flow.
        book: the wording of its prompts.
        reserved: names that the user's own code needs.
    """

    def __init__(self, about: str, target: str, book: Book, reserved: Collection[str] = ()) -> None:
        self.book = book
        self.sheet, self.refusals = ProgramText(about, UniqueNames(reserved)), Refusals()
        self.outputs = TaskOutputDataclass(self.sheet)
        stand_ins = {"TaskOutput": self.outputs.name, "FlowState": self._flow_state, "CrewOutput": lambda: "CrewOutput"}
        stand_ins |= {"BaseTool": self._base_tool, "ToolFailure": self._tool_failure}
        self.lifter = UserCode(self.sheet, self.refusals, target, stand_ins)
        self.models = ModelExpressions(self.sheet, self.refusals)
        self.pieces = HelperFunctions(self.sheet, self._wording)
        self.tools = ToolFunctions(self.sheet, self.lifter, self.pieces.loop)
        self.embeddings = EmbeddingExpressions(self.sheet, self.lifter, self.refusals)
        self.knowledge = KnowledgeStores(self.sheet, self.pieces, self.embeddings, self.refusals)
        self.skills = SkillTexts(self.sheet, book, self.refusals)
        self.prompts: dict[str, str] = {}
        """The constants of the system messages by text."""

        self._own_states: dict[int, str] = {}
        self.agents: dict[str, str] = {}
        """The constants of the agents with tools by expression."""

        self.teams: dict[str, str] = {}
        """The names of coworker tools by expression."""

        self.keeps_runs = False
        """Whether the graph needs a checkpointer."""

        self.asks_people = False
        """Whether the graph waits for people."""

    def own_state(self, flow: object) -> str:
        """Return the function that returns a flow's state without passed values; the state writer writes it."""
        if id(flow) not in self._own_states:
            self._own_states[id(flow)] = self.sheet.names.new("own_state")
        return self._own_states[id(flow)]

    def shows_state(self, flow: object) -> bool:
        """Return whether `own_state` of a flow is used."""
        return id(flow) in self._own_states

    def constant(self, wanted: str, written: str, rank: int) -> str:
        """Return the name of the constant for a prompt text; each text is written once."""
        if written not in self.prompts:
            self.prompts[written] = self.sheet.names.new(wanted)
            self.sheet.add(f"{self.prompts[written]} = {written}", rank)
        return self.prompts[written]

    def answer(
        self,
        role: str,
        words: Sequence[str],
        tools: Sequence[str],
        steps: int,
        config: str = "",
        structure: str | None = None,
        strict: bool = False,
    ) -> str:
        """Return the expression for the answer of an agent.

        Args:
            role: its role, which names it.
            words: the expressions for its model, its system prompt and its prompt.
            tools: the expressions for its tools.
            steps: the maximum number of requests to its model.
            config: the name of the `RunnableConfig` to pass on, if there is one.
            structure: the class of a structured answer, if any; with tools, the answer is a text.
            strict: whether the structured answer is to be strict.
        """
        model, *prompts = words
        passed = [*prompts, *([config] if config else [])]
        if not tools and structure is not None:
            helper = self.pieces.name("ask_model_for_strict_json" if strict else "ask_model_for_json")
            return f"{helper}({', '.join([model, structure, *passed])})"
        if not tools:
            return f"{self.pieces.name('ask_model')}({', '.join([model, *passed])})"
        listed = tools[0].removeprefix("*") if len(tools) == 1 and tools[0].startswith("*") else f"[{', '.join(tools)}]"
        limit = "" if steps == 25 else f", steps={steps}"
        built = f"{self.pieces.name('build_agent')}({model}, {listed}{limit})"
        if all(tool.removeprefix("*").isidentifier() for tool in tools):
            if built not in self.agents:
                name = self.agents[built] = self.sheet.names.new(f"{slug(role)}_agent".upper())
                self.sheet.add(f"{name} = {built}", _AGENTS)
            built = self.agents[built]
        return f"{self.pieces.name('run_agent')}({', '.join([built, *passed])})"

    def compiled(self, builder: str) -> str:
        """Return the expression that compiles the graph."""
        if not self.keeps_runs:
            return f"{builder}.compile()"
        self.sheet.use("langgraph.checkpoint.memory", "InMemorySaver")
        return f"{builder}.compile(checkpointer=InMemorySaver())\n{_SAVER_NOTE}"

    def add_memory(self, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> None:
        """Record that an agent has a memory, and its embeddings."""
        own = getattr(agent, "embedder", None)
        embedder = own if own is not None or crew is None else crew.embedder
        where = agent.called if crew is None else f"crew `{crew.name}`"
        self.pieces.embeddings = self.pieces.embeddings or self.embeddings.name(embedder, where)

    def find_used_fields(self) -> None:
        """Record the fields that the user's functions use, once all of them are known."""
        self.outputs.find_used_fields(self.lifter.sources)

    def finish(self) -> None:
        """Write the shared parts."""
        self.skills.write()
        self.pieces.write()
        if "CrewOutput" in "".join(self.lifter.sources) and self.sheet.helper("CrewOutput") is None:
            self.refusals.add("`CrewOutput`", "a function takes one, but no crew passes one here")
        if self.outputs.is_used:
            self.outputs.write()

    def _base_tool(self) -> str:
        """Return LangChain's base class of tools, which has the same fields and the same `_run`."""
        self.sheet.use("langchain_core.tools", "BaseTool")
        return "BaseTool"

    def _tool_failure(self) -> str:
        """Return the class that tools return on failure; the model sees its message."""
        if self.sheet.helper("ToolFailure") is None:
            self.sheet.name_helper("ToolFailure", "ToolFailure")
            self.sheet.names.take("ToolFailure")
            self.sheet.use("dataclasses", "dataclass")
            self.sheet.add(_TOOL_FAILURE, 2)
        return "ToolFailure"

    def _flow_state(self) -> str:
        """Return the base class of states, which has the `id` of a run."""
        if self.sheet.helper("FlowState") is None:
            self.sheet.name_helper("FlowState", "FlowState")
            self.sheet.names.take("FlowState")
            self.sheet.use("pydantic", "BaseModel", "Field")
            self.sheet.use("uuid", "uuid4")
            message = '"""The state of a run, with its id."""'
            built = "Field(default_factory=lambda: str(uuid4()))"
            self.sheet.add(f"class FlowState(BaseModel):\n    {message}\n\n    id: str = {built}", 2)
        return "FlowState"

    def _wording(self, key: str) -> str:
        book = self.book
        if key in _SLICES:
            name, values = _SLICES[key]
            return book.slice(name, **values)
        match key:
            case "validation_error":
                return "\n\n" + book.error(key, task_output="{attempt}", guardrail_result_error="{reason}")
            case "COWORKER_PROMPT" | "COWORKER_CONTEXT":
                prompt, suffix = self._coworker_prompts()
                return prompt if key == "COWORKER_PROMPT" else suffix
            case "UNKNOWN_COWORKER":
                return book.error("agent_tool_unexisting_coworker", coworkers="{coworkers}")
            case "DELEGATE_DESCRIPTION" | "ASK_DESCRIPTION":
                kind = "delegate_work" if key == "DELEGATE_DESCRIPTION" else "ask_question"
                return book.filled("tools", kind, coworkers="{coworkers}")
            case "REFINE_PLAN_PROMPT":
                return book.filled("reasoning", "refine_plan_prompt", current_plan="{plan}")
            case "HUMAN_FEEDBACK":
                feedback = book.slice("human_feedback", human_feedback="{feedback}")
                return f"\n\nYour result so far:\n{{attempt}}\n\n{feedback}"
            case _:
                return book.error(key)

    def _coworker_prompts(self) -> tuple[str, str]:
        """Return the prompt template of a coworker, and the suffix that adds the context."""
        book = self.book
        prompt = f"{{task}}\n\n{book.slice('expected_output', expected_output=book.slice('manager_request'))}"
        alone = book.slice("task", input=prompt)
        message = book.slice("task", input=book.slice("task_with_context", task=prompt, context="{context}"))
        known = message.removeprefix(alone) if message.startswith(alone) else "\n\n{context}"
        return alone, known
