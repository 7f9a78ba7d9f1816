"""The small functions that nodes share, as text; each is written only where something uses it."""

import re
from collections.abc import Callable
from string import Template

from crewgraph.eject.loop import Loop
from crewgraph.eject.sheet import Sheet
from crewgraph.eject.texts import literal, template

__all__ = ["Pieces"]

_RANK = 6
_SLOTS: dict[str, str] = dict.fromkeys(
    ("text", "rule", "task", "output", "attempt", "reason", "context", "coworkers", "feedback"), ""
)


_ANSWERED = '''
def $answered(model: BaseChatModel, system: str, task: str) -> str:
    """What the model replies; it is asked again where that is nothing."""
    messages: list[AnyMessage] = [$opening]
    for _ in range(3):
        if text := str(model.invoke(messages).text).strip():
            return text
        messages.append(HumanMessage($EMPTY_REPLY))
    raise ValueError("the model replied with nothing, three times in a row")
'''

_JOINED = '''
def $joined(*texts: str) -> str:
    """Texts as one, those that are empty left out."""
    return "\\n\\n----------\\n\\n".join(text for text in texts if text)
'''

_PARSED = '''
$Structure = TypeVar("$Structure", bound=BaseModel)


def $parsed(model: BaseChatModel, text: str, kind: type[$Structure]) -> $Structure:
    """The structure in a text; where there is none that fits, the model makes one of it."""
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
    """The first output that every guardrail accepts; a refused one goes back to the agent with the reason.

    Raises:
        ValueError: a guardrail refused every attempt.
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
    """What a model says of a text."""

    valid: bool
    feedback: str | None = None


def $judged(model: BaseChatModel, rule: str, output: $TaskOutput) -> tuple[bool, str]:
    """Whether a text keeps to a rule, by a model's judgement, and if not, why."""
    text = $JUDGED_TEXT.format(task=output.description, output=output.raw)
    asked: list[AnyMessage] = [SystemMessage($RULE.format(rule=rule)), HumanMessage(text)]
    verdict = PydanticOutputParser(pydantic_object=$Verdict).parse(str(model.invoke(asked).text))
    return verdict.valid, output.raw if verdict.valid else verdict.feedback or "refused without a reason"
'''

_SAVED = '''
def $saved(path: str, text: str) -> None:
    """Write a result to its file."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
'''

_REVIEWED = '''
def $reviewed(work: Callable[[str], str]) -> str:
    """The answer that a person accepts, by saying nothing; what they say goes back to the agent."""
    answer = work("")
    while said := str(interrupt({"answer": answer})).strip():
        answer = work($IMPROVED.format(attempt=answer, feedback=said))
    return answer
'''

_COWORKERS = '''
def $coworkers(team: Mapping[str, Callable[[str], str]]) -> list[BaseTool]:
    """The tools with which an agent hands work to others, or asks them something.

    Args:
        team: by role, what gives the answer of a coworker.
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


class Pieces:
    """Writes the functions that nodes share.

    Args:
        sheet: the program.
        wording: by key, a text of the prompts.
    """

    def __init__(self, sheet: Sheet, wording: Callable[[str], str]) -> None:
        self._sheet, self._wording = sheet, wording
        self.asks_without_system = False
        self.loop = Loop()

    def name(self, helper: str) -> str:
        """What a helper is called; it is written at the end."""
        called = self._sheet.helper(helper)
        if called is None:
            called = self._sheet.names.new(helper)
            self._sheet.name_helper(helper, called)
        return called

    def write(self) -> None:
        """Write those that are used."""
        written = {
            "coworkers": self._coworkers,
            "answered": self._answered,
            "reviewed": self._reviewed,
            "joined": lambda: self._put(_JOINED),
            "parsed": self._parsed,
            "guarded": self._guarded,
            "judged": self._judged,
            "saved": self._saved,
        }
        for helper, write in written.items():
            if self._sheet.helper(helper) is not None:
                write()

    def _put(self, text: str, **words: str) -> None:
        names = {word: self.name(word) for word in re.findall(r"\$(\w+)", text) if word not in words}
        self._sheet.add(Template(text).substitute(**names, **words), _RANK)

    def _constant(self, name: str, text: str) -> None:
        self._sheet.add(f"{self.name(name)} = {literal(template(text, _SLOTS))}", _RANK - 1)

    def _answered(self) -> None:
        sheet = self._sheet
        sheet.use("langchain_core.language_models", "BaseChatModel")
        sheet.use("langchain_core.messages", *_MESSAGES)
        self._constant("EMPTY_REPLY", self._wording("empty_reply"))
        first = "*([SystemMessage(system)] if system else [])" if self.asks_without_system else "SystemMessage(system)"
        opening = f"{first}, HumanMessage(task)"
        if not self.loop.uses_tools:
            self._put(_ANSWERED, opening=opening)
            return
        for module, name in self.loop.imports:
            if name:
                sheet.use(module, name)
            else:
                sheet.module(module)
        self._constant("OUT_OF_STEPS", self._wording("force_final_answer"))
        self._put(self.loop.used())
        self._put(self.loop.answered(opening))

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
