"""The helper functions that nodes share, among them the agent; each is written only where it is used."""

import re
from collections.abc import Callable
from string import Template

from crewgraph_compat.eject.writing.agent_graph import ANSWERED, RUN_AGENT, STRUCTURED, AgentGraph
from crewgraph_compat.eject.writing.sheet import ProgramText, slot_template, string_literal

__all__ = ["HelperFunctions"]


_RANK = 6
_SLOTS: dict[str, str] = dict.fromkeys(
    (
        *("text", "rule", "task", "output", "attempt", "reason", "context", "coworkers", "feedback", "memory"),
        *("expected", "found", "plan"),
    ),
    "",
)


_JOINED = '''
def $joined(*texts: str) -> str:
    """Join the texts that are not empty."""
    return "\\n\\n----------\\n\\n".join(text for text in texts if text)
'''

_PARSED = '''
$Structure = TypeVar("$Structure", bound=BaseModel)


def $parsed(model: BaseChatModel, text: str, kind: type[$Structure]) -> $Structure:
    """Parse a text into a structure; if that fails, let the model convert it."""
    try:
        return PydanticOutputParser(pydantic_object=kind).parse(text)
    except OutputParserException:
        asked = $CONVERSION.format(text=text)
        return kind.model_validate(model.with_structured_output(kind, method="function_calling").invoke(asked))
'''

_GUARDED = '''
def $guarded(
    work: Callable[[str], str],
    shaped: Callable[[str], $TaskOutput],
    guardrails: Sequence[Callable[[$TaskOutput], Any]],
    retries: int,
) -> $TaskOutput:
    """Return the first output that every guardrail accepts; a rejected one goes back to the agent with the reason.

    Raises:
        ValueError: A guardrail rejected every attempt.
    """
    output = shaped(work(""))
    for guardrail in guardrails:
        for left in reversed(range(retries + 1)):
            accepted, said = guardrail(output)
            if accepted:
                if isinstance(said, $TaskOutput):
                    output = said
                elif isinstance(said, str) and said != output.raw:
                    output = shaped(said)
                break
            if not left:
                raise ValueError(f"the task failed guardrail validation after {retries} retries. Last error: {said}")
            output = shaped(work($REFUSED.format(attempt=output.raw, reason=said)))
    return output
'''

_JUDGED = '''
class $Verdict(BaseModel):
    """A model's judgement of a text."""

    valid: bool
    feedback: str | None = None


def $judged(model: BaseChatModel, rule: str, output: $TaskOutput) -> tuple[bool, str]:
    """Let a model judge whether an output follows a rule; return the verdict, and the output or the reason."""
    text = $JUDGED_TEXT.format(task=output.description, output=output.raw)
    asked: list[AnyMessage] = [SystemMessage($RULE.format(rule=rule)), HumanMessage(text)]
    verdict = PydanticOutputParser(pydantic_object=$Verdict).parse(str(model.invoke(asked).text))
    return verdict.valid, output.raw if verdict.valid else verdict.feedback or "refused without a reason"
'''

_SAVED = '''
def $saved(path: str, text: str) -> None:
    """Write a result to a file."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
'''

_REVIEWED = '''
def $reviewed(work: Callable[[str], str]) -> str:
    """Ask a person for feedback until there is none; return the accepted answer."""
    answer = work("")
    while said := str(interrupt({"answer": answer})).strip():
        answer = work($IMPROVED.format(attempt=answer, feedback=said))
    return answer
'''

_COWORKERS = '''
def $coworkers(team: Mapping[str, Callable[[str], str]]) -> list[BaseTool]:
    """Return the tools with which an agent delegates work to coworkers or asks them questions.

    Args:
        team: functions by role that return a coworker's answer.
    """
    roles = ", ".join(team)

    def handed(wanted: str, coworker: str, context: str) -> str:
        role = " ".join(coworker.strip("\\"'` ").split()).casefold()
        work = next((one for name, one in team.items() if name.casefold() == role), None)
        if work is None:
            return $NO_COWORKER.format(coworkers=roles)
        return work($HANDED.format(task=wanted) + ($KNOWN.format(context=context) if context else ""))

    def delegate(task: str, coworker: str, context: str = "") -> str:
        return handed(task, coworker, context)

    def ask(question: str, coworker: str, context: str = "") -> str:
        return handed(question, coworker, context)

    return [
        tool("delegate_work_to_coworker", description=$DELEGATE.format(coworkers=roles))(delegate),
        tool("ask_question_to_coworker", description=$ASK.format(coworkers=roles))(ask),
    ]
'''

_MESSAGES = ("AnyMessage", "HumanMessage", "SystemMessage")

_REMEMBERED = '''
def $remembered(task: str) -> str:
    """Return the memories relevant to a task, as a suffix of its prompt."""
    try:
        found = $MEMORY.search(("work",), query=task, limit=5)
    except Exception as error:  # noqa: BLE001 - continue without memories
        logging.warning("the memory could not be searched: %s", error)
        return ""
    return "\\n\\n" + $REMEMBERED.format(memory="\\n".join(item.value["text"] for item in found)) if found else ""
'''

_REMEMBER = '''
class $Entity(BaseModel):
    """Who or what a result tells something about."""

    name: str
    description: str = ""


class $Lessons(BaseModel):
    """What is worth knowing of a piece of work."""

    suggestions: list[str] = []
    entities: list[$Entity] = []


def $remember(model: BaseChatModel, task: str, expected_output: str, result: str) -> str:
    """Store a result with the lessons that the model draws from it; return the result."""
    asked = [SystemMessage($LESSONS), HumanMessage($WORK_DONE.format(task=task, expected=expected_output, output=result))]
    texts = [result]
    try:
        lessons = model.with_structured_output($Lessons, method="function_calling").invoke(asked)
        if isinstance(lessons, $Lessons):
            texts += [*lessons.suggestions, *(f"{entity.name}: {entity.description}" for entity in lessons.entities)]
        $MEMORY.batch([PutOp(("work",), str(uuid4()), {"text": text}) for text in texts])
    except Exception as error:  # noqa: BLE001 - keep the result anyway
        logging.warning("the result could not be remembered: %s", error)
    return result
'''

_LOOKED_UP = '''
def $looked_up(
    model: BaseChatModel,
    task: str,
    stores: Sequence[Callable[[], InMemoryVectorStore]],
    limit: int = 5,
    least: float = 0.2,
) -> str:
    """Let the model write a query for a task; return the passages found, as a suffix of the prompt.

    Args:
        model: the model.
        task: the task.
        stores: functions that load the knowledge.
        limit: maximum number of passages per store.
        least: minimum cosine similarity of a passage.
    """
    query = str(model.invoke([SystemMessage($QUERY_RULES), HumanMessage($QUERY.format(task=task))]).text).strip() or task
    found = [
        document.page_content
        for store in stores
        for document, score in store().similarity_search_with_score(query, k=limit)
        if score >= least
    ]
    return "\\n\\n" + $PASSAGES.format(found="\\n\\n".join(found)) if found else ""
'''

_PASSAGES = '''
def $passages(text: str, size: int, overlap: int) -> list[str]:
    """Split a text into overlapping passages."""
    starts = range(0, max(len(text) - overlap, 1), size - overlap)
    return [passage for start in starts if (passage := text[start : start + size]).strip()]
'''


_HOW_TO = '''
def $how_to(plan: str) -> str:
    """Return the plan for a task, as a suffix of its description."""
    return $HOW_TO.format(plan=plan) if plan else ""
'''

_THOUGHT_OUT = '''
def $thought_out(model: BaseChatModel, system: str, task: str, attempts: int = 10) -> str:
    """Let the model plan a task until the plan is ready; return it as a suffix of the prompt."""
    plan = str(model.invoke([SystemMessage(system), HumanMessage(task)]).text).strip()
    for _ in range(attempts - 1):
        if "READY" in plan and "NOT READY" not in plan:
            break
        asked = task + "\\n\\n" + $BETTER_PLAN.format(plan=plan)
        plan = str(model.invoke([SystemMessage(system), HumanMessage(asked)]).text).strip()
    return "\\n\\n" + $PLANNED.format(plan=plan.removesuffix("READY").strip())
'''

_LIMITED = '''
def $limited(work: Callable[[], str], seconds: float) -> str:
    """Return the result of a function.

    Raises:
        TimeoutError: It takes longer than these seconds. It is not stopped.
    """
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return pool.submit(copy_context().run, work).result(timeout=seconds)
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
            "coworkers": self._coworkers,
            "agent": self._agent,
            "answered": self._answered,
            "structured": self._structured,
            "reviewed": self._reviewed,
            "joined": lambda: self._put(_JOINED),
            "parsed": self._parsed,
            "guarded": self._guarded,
            "judged": self._judged,
            "saved": self._saved,
            "remembered": self._remembered,
            "looked_up": self._looked_up,
            "passages": lambda: self._put(_PASSAGES),
            "how_to": self._how_to,
            "thought_out": self._thought_out,
            "limited": self._limited,
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
        return f"{first}, HumanMessage(task)"

    def _replied(self) -> None:
        """Write the request to a model that agents with and without tools share."""
        sheet = self._sheet
        if "EMPTY_REPLY" in self._written:
            return
        self._written.add("EMPTY_REPLY")
        sheet.use("collections.abc", "Sequence")
        sheet.use("langchain_core.language_models", "BaseChatModel", "LanguageModelInput")
        sheet.use("langchain_core.messages", *_MESSAGES, "AIMessage")
        sheet.use("langchain_core.runnables", "Runnable", "RunnableConfig")
        self._constant("EMPTY_REPLY", self._wording("empty_reply"))
        self._put(ANSWERED)

    def _agent(self) -> None:
        self._replied()
        for module, name in self.loop.imports:
            if name:
                self._sheet.use(module, name)
            else:
                self._sheet.module(module)
        self._constant("OUT_OF_STEPS", self._wording("force_final_answer"))
        for text in self.loop.agent():
            self._put(text)
        self._put(RUN_AGENT.replace("$opening", self._opening))

    def _answered(self) -> None:
        self._replied()
        self._put(self.loop.plain(self._opening))

    def _structured(self) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        self._sheet.use("langchain_core.runnables", "RunnableConfig")
        self._sheet.use("pydantic", "BaseModel", "ValidationError")
        self._sheet.use("typing", "Any", "cast")
        self._put(STRUCTURED.replace("$opening", self._opening))

    def _reviewed(self) -> None:
        self._sheet.use("collections.abc", "Callable")
        self._sheet.use("langgraph.types", "interrupt")
        self._constant("IMPROVED", self._wording("IMPROVED"))
        self._put(_REVIEWED)

    def _coworkers(self) -> None:
        sheet = self._sheet
        sheet.use("collections.abc", "Callable", "Mapping")
        sheet.use("langchain_core.tools", "BaseTool", "tool")
        for name in ("HANDED", "KNOWN", "NO_COWORKER", "DELEGATE", "ASK"):
            self._constant(name, self._wording(name))
        self._put(_COWORKERS)

    def _parsed(self) -> None:
        self._sheet.use("langchain_core.exceptions", "OutputParserException")
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.output_parsers", "PydanticOutputParser")
        self._sheet.use("pydantic", "BaseModel")
        self._sheet.use("typing", "TypeVar")
        self._constant("CONVERSION", self._wording("conversion_text"))
        self._put(_PARSED)

    def _guarded(self) -> None:
        self._sheet.use("collections.abc", "Callable", "Sequence")
        self._sheet.use("typing", "Any")
        self._constant("REFUSED", self._wording("validation_error"))
        self._put(_GUARDED)

    def _judged(self) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", *_MESSAGES)
        self._sheet.use("langchain_core.output_parsers", "PydanticOutputParser")
        self._sheet.use("pydantic", "BaseModel")
        self._constant("RULE", self._wording("guardrail_system"))
        self._constant("JUDGED_TEXT", self._wording("guardrail_text"))
        self._put(_JUDGED)

    def _saved(self) -> None:
        self._sheet.use("pathlib", "Path")
        self._put(_SAVED)

    def _remembered(self) -> None:
        sheet = self._sheet
        sheet.module("logging")
        sheet.use("langchain_core.language_models", "BaseChatModel")
        sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        sheet.use("langgraph.store.base", "PutOp")
        sheet.use("langgraph.store.memory", "InMemoryStore")
        sheet.use("pydantic", "BaseModel")
        sheet.use("uuid", "uuid4")
        index = f'{{"dims": 1536, "embed": {self.embeddings}, "fields": ["text"]}}'
        message = '"""Memories of this process; use a database store to keep them longer."""'
        sheet.add(f"{self.name('MEMORY')} = InMemoryStore(index={index})\n{message}", _RANK - 1)
        for name in ("REMEMBERED", "LESSONS", "WORK_DONE"):
            self._constant(name, self._wording(name))
        self._put(_REMEMBERED)
        self._put(_REMEMBER)

    def _looked_up(self) -> None:
        sheet = self._sheet
        sheet.use("collections.abc", "Callable", "Sequence")
        sheet.use("langchain_core.language_models", "BaseChatModel")
        sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        for name in ("QUERY_RULES", "QUERY", "PASSAGES"):
            self._constant(name, self._wording(name))
        self._put(_LOOKED_UP)

    def _how_to(self) -> None:
        self._constant("HOW_TO", self._wording("HOW_TO"))
        self._put(_HOW_TO)

    def _thought_out(self) -> None:
        self._sheet.use("langchain_core.language_models", "BaseChatModel")
        self._sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        for name in ("PLANNED", "BETTER_PLAN"):
            self._constant(name, self._wording(name))
        self._put(_THOUGHT_OUT)

    def _limited(self) -> None:
        self._sheet.use("collections.abc", "Callable")
        self._sheet.use("concurrent.futures", "ThreadPoolExecutor")
        self._sheet.use("contextvars", "copy_context")
        self._put(_LIMITED)
