"""The helper functions that nodes share, among them the agent; each is written only where it is used."""

import re
from collections.abc import Callable
from string import Template

from crewgraph_compat.eject.writing.agent_graph import (
    ASK_MODEL_FOR_JSON,
    ASK_MODEL_FOR_STRICT_JSON,
    INVOKE_MODEL,
    RUN_AGENT,
    AgentGraph,
)
from crewgraph_compat.eject.writing.sheet import ProgramText, slot_template, string_literal

_RANK = 6
_SLOTS: dict[str, str] = dict.fromkeys(
    (
        *("text", "rule", "task", "output", "attempt", "reason", "context", "coworkers", "feedback", "memory"),
        *("expected", "found", "plan"),
    ),
    "",
)


_JOIN_OUTPUTS = '''
def $join_outputs(*outputs: str) -> str:
    """Join the outputs of earlier tasks; those of skipped tasks are empty and left out."""
    return "\\n\\n----------\\n\\n".join(output for output in outputs if output)
'''

_PARSE_OUTPUT = '''
$ModelT = TypeVar("$ModelT", bound=BaseModel)


def $parse_output(model: BaseChatModel, text: str, schema: type[$ModelT]) -> $ModelT:
    """Parse a text into an instance of a class; if that fails, let the model convert it."""
    try:
        return PydanticOutputParser(pydantic_object=schema).parse(text)
    except OutputParserException:
        prompt = $CONVERSION_PROMPT.format(text=text)
        return schema.model_validate(model.with_structured_output(schema, method="function_calling").invoke(prompt))
'''

_APPLY_GUARDRAILS = '''
def $apply_guardrails(
    generate: Callable[[str], str],
    to_output: Callable[[str], $TaskOutput],
    guardrails: Sequence[Callable[[$TaskOutput], Any]],
    max_retries: int,
) -> $TaskOutput:
    """Return the first output that every guardrail accepts.

    Args:
        generate: returns an answer of the agent, given a suffix for its prompt.
        to_output: turns an answer into the output that guardrails check.
        guardrails: functions that return whether they accept an output, and a replacement or the reason for rejecting it.
        max_retries: how often the agent may try again for each guardrail.

    Raises:
        ValueError: A guardrail rejected every attempt.
    """
    output = to_output(generate(""))
    for guardrail in guardrails:
        for retries_left in reversed(range(max_retries + 1)):
            accepted, result = guardrail(output)
            if accepted:
                if isinstance(result, $TaskOutput):
                    output = result
                elif isinstance(result, str) and result != output.raw:
                    output = to_output(result)
                break
            if not retries_left:
                message = f"the task failed guardrail validation after {max_retries} retries. Last error: {result}"
                raise ValueError(message)
            output = to_output(generate($GUARDRAIL_FEEDBACK.format(attempt=output.raw, reason=result)))
    return output
'''

_JUDGE_OUTPUT = '''
class $Verdict(BaseModel):
    """A model's judgement of a text."""

    valid: bool
    feedback: str | None = None


def $judge_output(model: BaseChatModel, rule: str, output: $TaskOutput) -> tuple[bool, str]:
    """Let a model judge whether an output follows a rule; return the verdict, and the output or the reason."""
    prompt = $JUDGE_PROMPT.format(task=output.description, output=output.raw)
    messages: list[AnyMessage] = [SystemMessage($JUDGE_SYSTEM_PROMPT.format(rule=rule)), HumanMessage(prompt)]
    verdict = PydanticOutputParser(pydantic_object=$Verdict).parse(str(model.invoke(messages).text))
    return verdict.valid, output.raw if verdict.valid else verdict.feedback or "rejected without a reason"
'''

_WRITE_FILE = '''
def $write_file(path: str, text: str) -> None:
    """Write an output to a file."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
'''

_REVISE_WITH_FEEDBACK = '''
def $revise_with_feedback(generate: Callable[[str], str]) -> str:
    """Show each answer to a person and revise it, until the feedback is empty; return the last answer.

    Args:
        generate: returns an answer of the agent, given a suffix for its prompt.
    """
    answer = generate("")
    while feedback := str(interrupt({"answer": answer})).strip():
        answer = generate($HUMAN_FEEDBACK.format(attempt=answer, feedback=feedback))
    return answer
'''

_COWORKER_TOOLS = '''
def $build_coworker_tools(coworkers: Mapping[str, Callable[[str], str]]) -> list[BaseTool]:
    """Return the tools with which an agent delegates work to coworkers or asks them questions.

    Args:
        coworkers: functions by role that return a coworker's answer to a prompt.
    """
    roles = ", ".join(coworkers)

    def run_coworker(request: str, coworker: str, context: str) -> str:
        role = " ".join(coworker.strip("\\"'` ").split()).casefold()
        run = next((run for name, run in coworkers.items() if name.casefold() == role), None)
        if run is None:
            return $UNKNOWN_COWORKER.format(coworkers=roles)
        suffix = $COWORKER_CONTEXT.format(context=context) if context else ""
        return run($COWORKER_PROMPT.format(task=request) + suffix)

    def delegate(task: str, coworker: str, context: str = "") -> str:
        return run_coworker(task, coworker, context)

    def ask(question: str, coworker: str, context: str = "") -> str:
        return run_coworker(question, coworker, context)

    return [
        tool("delegate_work_to_coworker", description=$DELEGATE_DESCRIPTION.format(coworkers=roles))(delegate),
        tool("ask_question_to_coworker", description=$ASK_DESCRIPTION.format(coworkers=roles))(ask),
    ]
'''

_MESSAGES = ("AnyMessage", "HumanMessage", "SystemMessage")

_RECALL_MEMORIES = '''
def $recall_memories(task: str) -> str:
    """Return the memories relevant to a task, as a suffix for its prompt."""
    try:
        items = $MEMORY.search(("work",), query=task, limit=5)
    except Exception as error:  # noqa: BLE001 - a task runs without memories if the store or its embeddings fail
        logging.warning("the memory could not be searched: %s", error)
        return ""
    return "\\n\\n" + $MEMORY_PROMPT.format(memory="\\n".join(item.value["text"] for item in items)) if items else ""
'''

_STORE_MEMORIES = '''
class $Entity(BaseModel):
    """A person or thing that a result says something about."""

    name: str
    description: str = ""


class $Lessons(BaseModel):
    """What to remember about a task."""

    suggestions: list[str] = []
    entities: list[$Entity] = []


def $store_memories(model: BaseChatModel, task: str, expected_output: str, result: str) -> str:
    """Store a result with the lessons that the model draws from it; return the result."""
    prompt = $LESSONS_PROMPT.format(task=task, expected=expected_output, output=result)
    messages = [SystemMessage($LESSONS_SYSTEM_PROMPT), HumanMessage(prompt)]
    texts = [result]
    try:
        lessons = model.with_structured_output($Lessons, method="function_calling").invoke(messages)
        if isinstance(lessons, $Lessons):
            texts += [*lessons.suggestions, *(f"{entity.name}: {entity.description}" for entity in lessons.entities)]
        $MEMORY.batch([PutOp(("work",), str(uuid4()), {"text": text}) for text in texts])
    except Exception as error:  # noqa: BLE001 - the result is valid even if it cannot be stored
        logging.warning("the result could not be stored in the memory: %s", error)
    return result
'''

_SEARCH_KNOWLEDGE = '''
def $search_knowledge(
    model: BaseChatModel,
    task: str,
    stores: Sequence[Callable[[], InMemoryVectorStore]],
    limit: int = 5,
    min_score: float = 0.2,
) -> str:
    """Search the knowledge with a query that the model writes; return the passages, as a suffix for the prompt.

    Args:
        model: the model.
        task: the task.
        stores: functions that load the knowledge.
        limit: maximum number of passages per store.
        min_score: minimum cosine similarity of a passage.
    """
    messages = [SystemMessage($QUERY_SYSTEM_PROMPT), HumanMessage($QUERY_PROMPT.format(task=task))]
    query = str(model.invoke(messages).text).strip() or task
    passages = [
        document.page_content
        for store in stores
        for document, score in store().similarity_search_with_score(query, k=limit)
        if score >= min_score
    ]
    return "\\n\\n" + $KNOWLEDGE_PROMPT.format(found="\\n\\n".join(passages)) if passages else ""
'''

_SPLIT_TEXT = '''
def $split_text(text: str, size: int, overlap: int) -> list[str]:
    """Split a text into overlapping passages."""
    starts = range(0, max(len(text) - overlap, 1), size - overlap)
    return [passage for start in starts if (passage := text[start : start + size]).strip()]
'''


_FORMAT_PLAN = '''
def $format_plan(plan: str) -> str:
    """Return the plan for a task, as a suffix for its description."""
    return $PLAN_PROMPT.format(plan=plan) if plan else ""
'''

_PLAN_TASK = '''
def $plan_task(model: BaseChatModel, system: str, task: str, attempts: int = 10) -> str:
    """Let the model write and refine a plan until it calls it ready; return the plan, as a suffix for the prompt."""
    plan = str(model.invoke([SystemMessage(system), HumanMessage(task)]).text).strip()
    for _ in range(attempts - 1):
        if "READY" in plan and "NOT READY" not in plan:
            break
        prompt = task + "\\n\\n" + $REFINE_PLAN_PROMPT.format(plan=plan)
        plan = str(model.invoke([SystemMessage(system), HumanMessage(prompt)]).text).strip()
    return "\\n\\n" + $TASK_PLAN_PROMPT.format(plan=plan.removesuffix("READY").strip())
'''

_RUN_WITH_TIMEOUT = '''
def $run_with_timeout(function: Callable[[], str], seconds: float) -> str:
    """Return the result of a function.

    Raises:
        TimeoutError: The function takes longer; its thread continues to run.
    """
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return pool.submit(copy_context().run, function).result(timeout=seconds)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
'''


class HelperFunctions:
    """Writes the helper functions that nodes share.

    Args:
        sheet: the program.
        wording: the prompt texts by key.
    """

    def __init__(self, sheet: ProgramText, wording: Callable[[str], str]) -> None:
        self._sheet, self._wording = sheet, wording
        self.asks_without_system = False
        self.embeddings = ""
        """The constant of the memory's embeddings."""

        self.loop = AgentGraph()
        self._written = set[str]()

    def name(self, helper: str) -> str:
        """Return the name of a helper, which is then written at the end."""
        called = self._sheet.helper(helper)
        if called is None:
            called = self._sheet.names.new(helper)
            self._sheet.name_helper(helper, called)
        return called

    def write(self) -> None:
        """Write the helpers that are used."""
        written = {
            "build_coworker_tools": self._write_coworker_tools,
            "build_agent": self._write_agent,
            "ask_model": self._write_ask_model,
            "ask_model_for_json": lambda: self._write_ask_model_for_json(ASK_MODEL_FOR_JSON),
            "ask_model_for_strict_json": self._write_ask_model_for_strict_json,
            "revise_with_feedback": self._write_feedback,
            "join_outputs": lambda: self._put(_JOIN_OUTPUTS),
            "parse_output": self._write_parse_output,
            "apply_guardrails": self._write_guardrails,
            "judge_output": self._write_judge,
            "write_file": self._write_file,
            "recall_memories": self._write_memory,
            "search_knowledge": self._write_search,
            "split_text": lambda: self._put(_SPLIT_TEXT),
            "format_plan": self._write_plan_format,
            "plan_task": self._write_plan_task,
            "run_with_timeout": self._write_timeout,
        }
        for helper, write in written.items():
            if self._sheet.helper(helper) is not None:
                write()

    def _put(self, text: str, **words: str) -> None:
        names = {word: self.name(word) for word in re.findall(r"\$(\w+)", text) if word not in words}
        self._sheet.add(Template(text).substitute(**names, **words), _RANK)

    def _constant(self, name: str, text: str) -> None:
        self._sheet.add(f"{self.name(name)} = {string_literal(slot_template(text, _SLOTS))}", _RANK - 1)

    @property
    def _opening(self) -> str:
        first = "*([SystemMessage(system)] if system else [])" if self.asks_without_system else "SystemMessage(system)"
        return f"{first}, HumanMessage(prompt)"

    def _write_invoke_model(self) -> None:
        """Write the request to a model that agents with and without tools share."""
        sheet = self._sheet
        if "EMPTY_REPLY_PROMPT" in self._written:
            return
        self._written.add("EMPTY_REPLY_PROMPT")
        sheet.use("collections.abc", "Sequence")
        sheet.use("langchain_core.language_models", "BaseChatModel", "LanguageModelInput")
        sheet.use("langchain_core.messages", *_MESSAGES, "AIMessage")
        sheet.use("langchain_core.runnables", "Runnable", "RunnableConfig")
        self._constant("EMPTY_REPLY_PROMPT", self._wording("empty_reply"))
        self._put(INVOKE_MODEL)

    def _write_agent(self) -> None:
        self._write_invoke_model()
        for module, name in self.loop.imports:
            if name:
                self._sheet.use(module, name)
            else:
                self._sheet.module(module)
        self._constant("OUT_OF_STEPS_PROMPT", self._wording("force_final_answer"))
        for text in self.loop.agent():
            self._put(text)
        self._put(RUN_AGENT.replace("$opening", self._opening))

    def _write_ask_model(self) -> None:
        self._write_invoke_model()
        self._put(self.loop.plain(self._opening))

    def _write_ask_model_for_strict_json(self) -> None:
        self._sheet.use("langchain_core.utils.json_schema", "dereference_refs")
        self._write_ask_model_for_json(ASK_MODEL_FOR_STRICT_JSON)

    def _write_ask_model_for_json(self, text: str) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        self._sheet.use("langchain_core.runnables", "RunnableConfig")
        self._sheet.use("pydantic", "BaseModel", "ValidationError")
        self._sheet.use("typing", "Any", "cast")
        self._put(text.replace("$opening", self._opening))

    def _write_feedback(self) -> None:
        self._sheet.use("collections.abc", "Callable")
        self._sheet.use("langgraph.types", "interrupt")
        self._constant("HUMAN_FEEDBACK", self._wording("HUMAN_FEEDBACK"))
        self._put(_REVISE_WITH_FEEDBACK)

    def _write_coworker_tools(self) -> None:
        sheet = self._sheet
        sheet.use("collections.abc", "Callable", "Mapping")
        sheet.use("langchain_core.tools", "BaseTool", "tool")
        for name in (
            "COWORKER_PROMPT",
            "COWORKER_CONTEXT",
            "UNKNOWN_COWORKER",
            "DELEGATE_DESCRIPTION",
            "ASK_DESCRIPTION",
        ):
            self._constant(name, self._wording(name))
        self._put(_COWORKER_TOOLS)

    def _write_parse_output(self) -> None:
        self._sheet.use("langchain_core.exceptions", "OutputParserException")
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.output_parsers", "PydanticOutputParser")
        self._sheet.use("pydantic", "BaseModel")
        self._sheet.use("typing", "TypeVar")
        self._constant("CONVERSION_PROMPT", self._wording("conversion_text"))
        self._put(_PARSE_OUTPUT)

    def _write_guardrails(self) -> None:
        self._sheet.use("collections.abc", "Callable", "Sequence")
        self._sheet.use("typing", "Any")
        self._constant("GUARDRAIL_FEEDBACK", self._wording("validation_error"))
        self._put(_APPLY_GUARDRAILS)

    def _write_judge(self) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", *_MESSAGES)
        self._sheet.use("langchain_core.output_parsers", "PydanticOutputParser")
        self._sheet.use("pydantic", "BaseModel")
        self._constant("JUDGE_SYSTEM_PROMPT", self._wording("guardrail_system"))
        self._constant("JUDGE_PROMPT", self._wording("guardrail_text"))
        self._put(_JUDGE_OUTPUT)

    def _write_file(self) -> None:
        self._sheet.use("pathlib", "Path")
        self._put(_WRITE_FILE)

    def _write_memory(self) -> None:
        sheet = self._sheet
        sheet.module("logging")
        sheet.use("langchain_core.language_models", "BaseChatModel")
        sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        sheet.use("langgraph.store.base", "PutOp")
        sheet.use("langgraph.store.memory", "InMemoryStore")
        sheet.use("pydantic", "BaseModel")
        sheet.use("uuid", "uuid4")
        index = f'{{"dims": 1536, "embed": {self.embeddings}, "fields": ["text"]}}'
        message = '"""Memories, lost when the process ends; use a database store to keep them."""'
        sheet.add(f"{self.name('MEMORY')} = InMemoryStore(index={index})\n{message}", _RANK - 1)
        for name in ("MEMORY_PROMPT", "LESSONS_SYSTEM_PROMPT", "LESSONS_PROMPT"):
            self._constant(name, self._wording(name))
        self._put(_RECALL_MEMORIES)
        self._put(_STORE_MEMORIES)

    def _write_search(self) -> None:
        sheet = self._sheet
        sheet.use("collections.abc", "Callable", "Sequence")
        sheet.use("langchain_core.language_models", "BaseChatModel")
        sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        for name in ("QUERY_SYSTEM_PROMPT", "QUERY_PROMPT", "KNOWLEDGE_PROMPT"):
            self._constant(name, self._wording(name))
        self._put(_SEARCH_KNOWLEDGE)

    def _write_plan_format(self) -> None:
        self._constant("PLAN_PROMPT", self._wording("PLAN_PROMPT"))
        self._put(_FORMAT_PLAN)

    def _write_plan_task(self) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        for name in ("TASK_PLAN_PROMPT", "REFINE_PLAN_PROMPT"):
            self._constant(name, self._wording(name))
        self._put(_PLAN_TASK)

    def _write_timeout(self) -> None:
        self._sheet.use("collections.abc", "Callable")
        self._sheet.use("concurrent.futures", "ThreadPoolExecutor")
        self._sheet.use("contextvars", "copy_context")
        self._put(_RUN_WITH_TIMEOUT)
