"""What agents do with tools, as text: the loop around a model, and how a call is carried out."""

import json
import re
from collections.abc import Mapping

__all__ = ["Loop"]

_WORKED = '''
def $answered(
    model: BaseChatModel, system: str, task: str, tools: Sequence[BaseTool] = (), steps: int = 25
) -> str:
    """The answer of an agent, which uses its tools until it has one, or until it has used up its steps."""
    messages: list[AnyMessage] = [$opening]
    able = model.bind_tools(tools) if tools else model
    empty = 0
    for _ in range(steps):
        reply = able.invoke(messages)
        if reply.tool_calls:
            results = [$used(call, tools) for call in reply.tool_calls]
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
    return str(able.invoke(messages).text).strip()
'''

_ENDING = """
            final = {tool.name for tool in tools if tool.return_direct}
            if answers := [result for result in results if result.name in final and result.status == "success"]:
                return str(answers[0].text)"""

_USED = '''
def $used(call: ToolCall, tools: Sequence[BaseTool]) -> ToolMessage:
    """What came of a call; what goes wrong is told to the model, which can do better."""
    found = next((tool for tool in tools if tool.name == call["name"]), None)
    if found is None:
        known = ", ".join(tool.name for tool in tools)
        told = f"There is no tool {call['name']}. There are: {known}."
        return ToolMessage(told, tool_call_id=call["id"] or "", status="error")
    «looking»«counting»try:
        «invoking»
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model may find another way
        told = f"The tool failed: {type(error).__name__}: {error}"
        return ToolMessage(told, tool_call_id=call["id"] or "", name=found.name, status="error")
    «keeping»
'''

_LOOKING = """key = json.dumps([found.name, call["args"]], sort_keys=True, default=str)
    if key in $RESULTS:
        return $RESULTS[key].model_copy(update={"tool_call_id": call["id"]})
    """

_COUNTING = """if $USES[found.name] == $MOST_USES.get(found.name):
        told = f"{found.name} was used as often as it may be. Go on without it."
        return ToolMessage(told, tool_call_id=call["id"] or "", name=found.name, status="error")
    $USES[found.name] += 1
    """


class Loop:
    """What is known of the tools of a program, and the functions that use them."""

    def __init__(self) -> None:
        self.uses_tools = False
        self.keeps_results = True
        self.ends_work = False
        """Whether the result of one of them is the answer."""

        self.is_async = False
        """Whether one of them is a coroutine function."""

        self.not_kept: dict[str, None] = {}
        """Those that are used each time, though results are kept."""

        self.kept_if: dict[str, str] = {}
        """By their names, the functions that say which of their results are kept."""

        self.most_uses: dict[str, int] = {}

    def answered(self, opening: str) -> str:
        """The loop, as a template."""
        return _WORKED.replace("$opening", opening).replace("$ending", _ENDING if self.ends_work else "")

    def used(self) -> str:
        """How a call is carried out, as a template, after the constants that it needs."""
        parts = {
            "looking": _LOOKING if self.keeps_results else "",
            "counting": _COUNTING if self.most_uses else "",
            "invoking": self._invoking(),
            "keeping": self._keeping(),
        }
        text = re.sub("«(.*?)»", lambda found: parts[found[1]], _USED).rstrip()
        return "\n\n".join([*self._constants(), f"\n{text.strip()}"])

    def _invoking(self) -> str:
        method = "ainvoke" if self.is_async else "invoke"
        if not self._asks_functions:
            called = f'found.{method}({{**call, "type": "tool_call"}})'
            called = f"asyncio.run({called})" if self.is_async else called
            return f"result: ToolMessage = {called}" if self.keeps_results else f"return {called}"
        called = f'found.{method}(call["args"])'
        called = f"asyncio.run({called})" if self.is_async else called
        return f"given: Any = {called}"

    def _keeping(self) -> str:
        if not self.keeps_results:
            return ""
        lines: list[str] = []
        if self._asks_functions:
            lines += [
                "text = given if isinstance(given, str) else json.dumps(given, default=str)",
                'result = ToolMessage(text, tool_call_id=call["id"] or "", name=found.name)',
                'if found.name not in $KEPT_IF or $KEPT_IF[found.name](call["args"], given):',
            ]
            if self.not_kept:
                lines[-1] = f"{lines[-1][:-1]} and found.name not in $NOT_KEPT:"
                lines[-1] = lines[-1].replace("if found", "if (found").replace(", given)", ", given))")
        elif self.not_kept:
            lines.append("if found.name not in $NOT_KEPT:")
        lines.append(f"{'    ' if lines else ''}$RESULTS[key] = result")
        return "\n    ".join([*lines, "return result"])

    @property
    def _asks_functions(self) -> bool:
        return self.keeps_results and bool(self.kept_if)

    def _constants(self) -> list[str]:
        found: list[str] = []
        if self.keeps_results:
            told = '"""What tools gave, by their names and arguments: an equal call is answered with it."""'
            found.append(f"$RESULTS: dict[str, ToolMessage] = {{}}\n{told}")
            if self.not_kept:
                names = ", ".join(json.dumps(name) for name in self.not_kept)
                found.append(f'$NOT_KEPT = {{{names}}}\n"""Tools that look again each time."""')
            if self.kept_if:
                entries = _entries(self.kept_if)
                told = '"""Which results of these tools are kept, by their arguments and results."""'
                found.append(f"$KEPT_IF: dict[str, Callable[..., Any]] = {{{entries}}}\n{told}")
        if self.most_uses:
            found.append(f"$MOST_USES = {{{_entries(self.most_uses)}}}\n" + '"""How often these tools may be used."""')
            found.append("$USES = Counter[str]()")
        return found

    @property
    def imports(self) -> list[tuple[str, str]]:
        """What its text needs: modules, and a name of each, empty for the module itself."""
        found = [("collections.abc", "Sequence"), ("langchain_core.tools", "BaseTool")]
        found += [("langchain_core.messages", name) for name in ("ToolCall", "ToolMessage")]
        found += [("json", "")] if self.keeps_results else []
        found += [("asyncio", "")] if self.is_async else []
        found += [("collections", "Counter")] if self.most_uses else []
        found += [("collections.abc", "Callable"), ("typing", "Any")] if self._asks_functions else []
        return found


def _entries(values: Mapping[str, object]) -> str:
    return ", ".join(f"{json.dumps(name)}: {value}" for name, value in values.items())
