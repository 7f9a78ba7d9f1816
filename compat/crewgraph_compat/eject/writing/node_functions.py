"""The helper functions that nodes share, among them the agent loop; each is written only where it is used."""

import json
import re
from collections.abc import Callable, Mapping
from string import Template

from crewgraph_compat.eject.writing.sheet import ProgramText, slot_template, string_literal

__all__ = ["HelperFunctions", "ToolLoop"]


_WORKED = '''
def $answered(
    model: BaseChatModel, system: str, task: str, tools: Sequence[BaseTool] = (), steps: int = 25
) -> str:
    """Run the agent loop: call tools until the model answers or the steps are used up."""
    messages: list[AnyMessage] = [$opening]
    bound_model = model.bind_tools(tools) if tools else model$cache
    empty = 0
    for _ in range(steps):
        reply = bound_model.invoke(messages)
        if reply.tool_calls:
            results = [$used(call, tools$cached) for call in reply.tool_calls]
            messages += [reply, *results]
            empty = 0$ending
        elif text := str(reply.text).strip():
            return text
        else:
            empty += 1
            if empty == 3:
                raise ValueError("the model replied with nothing, three times in a row")
            messages.append(HumanMessage($EMPTY_REPLY))
    messages.append(HumanMessage($OUT_OF_STEPS))
    return str(bound_model.invoke(messages).text).strip()
'''

_ENDING = """
            final = {tool.name for tool in tools if tool.return_direct}
            if answers := [result for result in results if result.name in final and result.status == "success"]:
                return str(answers[0].text)"""

_USED = '''
def $used(«parameters») -> ToolMessage:
    """Run a tool call«reusing»; errors are returned to the model, which can react to them."""
    selected = next((tool for tool in tools if tool.name == call["name"]), None)
    if selected is None:
        known = ", ".join(tool.name for tool in tools)
        message = f"There is no tool {call['name']}. There are: {known}."
        return ToolMessage(message, tool_call_id=call["id"] or "", status="error")
    «looking»«counting»try:
        «invoking»
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model may find another way
        message = f"The tool failed: {type(error).__name__}: {error}"
        return ToolMessage(message, tool_call_id=call["id"] or "", name=selected.name, status="error")
    «keeping»
'''

_LOOKING = """key = json.dumps([selected.name, call["args"]], sort_keys=True, default=str)
    if key in cache:
        return cache[key].model_copy(update={"tool_call_id": call["id"]})
    """

_COUNTING = """if $USES[selected.name] == $MOST_USES.get(selected.name):
        message = f"{selected.name} was used as often as it may be. Go on without it."
        return ToolMessage(message, tool_call_id=call["id"] or "", name=selected.name, status="error")
    $USES[selected.name] += 1
    """


class ToolLoop:
    """The properties of a program's tools that its agent loop depends on, and the source of that loop."""

    def __init__(self) -> None:
        self.uses_tools = False
        self.keeps_results = True
        self.ends_work = False
        """Whether the result of any tool is the final answer."""

        self.is_async = False
        """Whether any tool is a coroutine function."""

        self.not_kept: dict[str, None] = {}
        """Names of the tools whose results are never cached."""

        self.kept_if: dict[str, str] = {}
        """Tool names, each with the function that decides which of its results are cached."""

        self.most_uses: dict[str, int] = {}

    def answered(self, opening: str) -> str:
        """Return the template of the agent loop."""
        parts = {
            "opening": opening,
            "ending": _ENDING if self.ends_work else "",
            # Of one answer of an agent: runs of other threads and users never see it.
            "cached": ", cache" if self.keeps_results else "",
            "cache": "\n    cache: dict[str, ToolMessage] = {}" if self.keeps_results else "",
        }
        return re.sub(r"\$(opening|ending|cached|cache)\b", lambda match: parts[match[1]], _WORKED)

    def used(self) -> str:
        """Return the template of the function that runs a tool call, preceded by its constants."""
        parameters = "call: ToolCall, tools: Sequence[BaseTool]"
        parts = {
            "parameters": f"{parameters}, cache: dict[str, ToolMessage]" if self.keeps_results else parameters,
            "reusing": ", or reuse the result of an equal one" if self.keeps_results else "",
            "looking": _LOOKING if self.keeps_results else "",
            "counting": _COUNTING if self.most_uses else "",
            "invoking": self._invoking(),
            "keeping": self._keeping(),
        }
        text = re.sub(r"«(\w+)»", lambda match: parts[match[1]], _USED).rstrip()
        return "\n\n".join([*self._constants(), f"\n{text.strip()}"])

    def _invoking(self) -> str:
        method = "ainvoke" if self.is_async else "invoke"
        if not self._asks_functions:
            called = f'selected.{method}({{**call, "type": "tool_call"}})'
            called = f"asyncio.run({called})" if self.is_async else called
            return f"result: ToolMessage = {called}" if self.keeps_results else f"return {called}"
        called = f'selected.{method}(call["args"])'
        called = f"asyncio.run({called})" if self.is_async else called
        return f"given: Any = {called}"

    def _keeping(self) -> str:
        if not self.keeps_results:
            return ""
        lines: list[str] = []
        if self._asks_functions:
            lines += [
                "text = given if isinstance(given, str) else json.dumps(given, default=str)",
                'result = ToolMessage(text, tool_call_id=call["id"] or "", name=selected.name)',
                'if selected.name not in $KEPT_IF or $KEPT_IF[selected.name](call["args"], given):',
            ]
            if self.not_kept:
                lines[-1] = f"{lines[-1][:-1]} and selected.name not in $NOT_KEPT:"
                lines[-1] = lines[-1].replace("if selected", "if (selected").replace(", given)", ", given))")
        elif self.not_kept:
            lines.append("if selected.name not in $NOT_KEPT:")
        lines.append(f"{'    ' if lines else ''}cache[key] = result")
        return "\n    ".join([*lines, "return result"])

    @property
    def _asks_functions(self) -> bool:
        return self.keeps_results and bool(self.kept_if)

    def _constants(self) -> list[str]:
        results: list[str] = []
        if self.keeps_results:
            if self.not_kept:
                names = ", ".join(json.dumps(name) for name in self.not_kept)
                results.append(f'$NOT_KEPT = {{{names}}}\n"""Tools that look again each time."""')
            if self.kept_if:
                entries = _entries(self.kept_if)
                message = '"""Which results of these tools are kept, by their arguments and results."""'
                results.append(f"$KEPT_IF: dict[str, Callable[..., Any]] = {{{entries}}}\n{message}")
        if self.most_uses:
            results.append(
                f"$MOST_USES = {{{_entries(self.most_uses)}}}\n" + '"""How often these tools may be used."""'
            )
            results.append("$USES = Counter[str]()")
        return results

    @property
    def imports(self) -> list[tuple[str, str]]:
        """Return the imports of the source as (module, name) pairs; an empty name imports the module itself."""
        results = [("collections.abc", "Sequence"), ("langchain_core.tools", "BaseTool")]
        results += [("langchain_core.messages", name) for name in ("ToolCall", "ToolMessage")]
        results += [("json", "")] if self.keeps_results else []
        results += [("asyncio", "")] if self.is_async else []
        results += [("collections", "Counter")] if self.most_uses else []
        results += [("collections.abc", "Callable"), ("typing", "Any")] if self._asks_functions else []
        return results


def _entries(values: Mapping[str, object]) -> str:
    return ", ".join(f"{json.dumps(name)}: {value}" for name, value in values.items())


_RANK = 6
_SLOTS: dict[str, str] = dict.fromkeys(
    ("text", "rule", "task", "output", "attempt", "reason", "context", "coworkers", "feedback", "memory"), ""
)


_ANSWERED = '''
def $answered(model: BaseChatModel, system: str, task: str) -> str:
    """Return the reply of the model, which is asked again if it is empty."""
    messages: list[AnyMessage] = [$opening]
    for _ in range(3):
        if text := str(model.invoke(messages).text).strip():
            return text
        messages.append(HumanMessage($EMPTY_REPLY))
    raise ValueError("the model replied with nothing, three times in a row")
'''

_JOINED = '''
def $joined(*texts: str) -> str:
    """Join the texts that are not empty."""
    return "\\n\\n----------\\n\\n".join(text for text in texts if text)
'''

_PARSED = '''
$Structure = TypeVar("$Structure", bound=BaseModel)


def $parsed(model: BaseChatModel, text: str, kind: type[$Structure]) -> $Structure:
    """Parse a text into a structure; if that fails, have the model convert it."""
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
    """Have a model judge whether a text follows a rule; return the verdict and the reason if it does not."""
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
    """Return the answer that a person accepts by giving no feedback; feedback goes back to the agent."""
    answer = work("")
    while said := str(interrupt({"answer": answer})).strip():
        answer = work($IMPROVED.format(attempt=answer, feedback=said))
    return answer
'''

_COWORKERS = '''
def $coworkers(team: Mapping[str, Callable[[str], str]]) -> list[BaseTool]:
    """Return the tools with which an agent delegates work to coworkers or asks them questions.

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

_REMEMBERED = '''
def $remembered(task: str) -> str:
    """Return what is remembered of earlier work and bears on a task, as the end of what is asked."""
    found = $MEMORY.search(("work",), query=task, limit=5)
    return "\\n\\n" + $REMEMBERED.format(memory="\\n".join(item.value["text"] for item in found)) if found else ""
'''

_REMEMBER = '''
def $remember(text: str) -> None:
    """Keep the result of a task for later work."""
    $MEMORY.put(("work",), str(uuid4()), {"text": text})
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
        self.embedder = ""
        """The embedding model of the memory."""

        self.loop = ToolLoop()

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
            "answered": self._answered,
            "reviewed": self._reviewed,
            "joined": lambda: self._put(_JOINED),
            "parsed": self._parsed,
            "guarded": self._guarded,
            "judged": self._judged,
            "saved": self._saved,
            "remembered": self._remembered,
        }
        for helper, write in written.items():
            if self._sheet.helper(helper) is not None:
                write()

    def _put(self, text: str, **words: str) -> None:
        names = {word: self.name(word) for word in re.findall(r"\$(\w+)", text) if word not in words}
        self._sheet.add(Template(text).substitute(**names, **words), _RANK)

    def _constant(self, name: str, text: str) -> None:
        self._sheet.add(f"{self.name(name)} = {string_literal(slot_template(text, _SLOTS))}", _RANK - 1)

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

    def _remembered(self) -> None:
        self._sheet.use("langchain_openai", "OpenAIEmbeddings")
        self._sheet.use("langgraph.store.memory", "InMemoryStore")
        self._sheet.use("uuid", "uuid4")
        embed = f'OpenAIEmbeddings(model="{self.embedder}", check_embedding_ctx_length=False)'
        index = f'{{"dims": 1536, "embed": {embed}, "fields": ["text"]}}'
        message = '"""What is remembered while the process lives; a store of a database keeps it longer."""'
        self._sheet.add(f"{self.name('MEMORY')} = InMemoryStore(index={index})\n{message}", _RANK - 1)
        self._constant("REMEMBERED", self._wording("REMEMBERED"))
        self._put(_REMEMBERED)
        self._put(_REMEMBER)
