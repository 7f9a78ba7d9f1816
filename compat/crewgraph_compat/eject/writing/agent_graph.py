"""The agent of a program: a graph of a model and a `ToolNode`, with wrappers for tool calls."""

import json
import re
from collections.abc import Mapping

__all__ = ["ANSWERED", "RUN_AGENT", "STRUCTURED", "AgentGraph"]

ANSWERED = '''
def $replied(
    model: Runnable[LanguageModelInput, AIMessage],
    messages: Sequence[AnyMessage],
    config: RunnableConfig | None = None,
) -> AIMessage:
    """Return the reply of a model; if it is empty, ask again."""
    asked = list(messages)
    for _ in range(3):
        reply = model.invoke(asked, config)
        if reply.tool_calls or str(reply.text).strip():
            return reply
        asked.append(HumanMessage($EMPTY_REPLY))
    raise ValueError("the model replied with nothing, three times in a row")
'''

_PLAIN = '''
def $answered(model: BaseChatModel, system: str, task: str, config: RunnableConfig | None = None) -> str:
    """Return the answer of a model."""
    return str($replied(model, [$opening], config).text).strip()
'''

STRUCTURED = '''
def $structured(
    model: BaseChatModel, kind: type[BaseModel], system: str, task: str, config: RunnableConfig | None = None
) -> str:
    """Ask a model for a structure and return it as JSON; return any other answer unchanged."""
    asking = model.with_structured_output(kind.model_json_schema(), include_raw=True)
    asked: dict[str, Any] = cast("Any", asking.invoke([$opening], config))
    text = str(asked["raw"].text).strip()
    try:
        if asked["raw"].tool_calls:
            return kind.model_validate(asked["parsed"]).model_dump_json()
        return kind.model_validate_json(text).model_dump_json()
    except ValidationError:
        return text
'''

RUN_AGENT = '''
def $run_agent(agent: Runnable[Any, Any], system: str, task: str, config: RunnableConfig | None = None) -> str:
    """Return the answer of an agent."""
    state = agent.invoke({"messages": [$opening]}, config)
    return str(state["messages"][-1].text).strip()
'''

_AGENT = '''
def $agent(model: BaseChatModel, tools: Sequence[BaseTool], steps: int = 25) -> Runnable[Any, Any]:
    """Build an agent: a model that calls tools until it answers or has used up its steps."""
    bound_model = model.bind_tools(tools)

    def think(state: MessagesState, config: RunnableConfig) -> dict[str, list[AIMessage]]:
        messages = state["messages"]«ending»
        if sum(isinstance(message, AIMessage) for message in messages) < steps:
            return {"messages": [$replied(bound_model, messages, config)]}
        reply = bound_model.invoke([*messages, HumanMessage($OUT_OF_STEPS)], config)
        return {"messages": [AIMessage(str(reply.text))]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=$failed«wrapping»))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile(checkpointer=False).with_config(recursion_limit=2 * steps + 3)
'''

_FAILED = '''
def $failed(error: Exception) -> str:
    """Report the error of a tool to the model."""
    return f"The tool failed: {type(error).__name__}: {error}"
'''

_ENDING = """
        if (result := $final_result(messages, tools)) is not None:
            return {"messages": [AIMessage(result)]}"""

_FINAL_RESULT = '''
def $final_result(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str | None:
    """Return the first of the latest tool results that is the final answer; None if there is none."""
    final = {tool.name for tool in tools if tool.return_direct}
    last = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
    found = [message for message in last if isinstance(message, ToolMessage) and message.status == "success"]
    return next((str(message.text) for message in reversed(found) if message.name in final), None)
'''

_USED = '''
def $used(
    request: ToolCallRequest, execute: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
) -> ToolMessage | Command[Any]:
    """«summary»."""
    call = request.tool_call
«looking»«counting»«invoking»
'''

_LOOKING = """\
    messages: list[AnyMessage] = request.state["messages"]
    calls: dict[str | None, ToolCall] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls = {made["id"]: made for made in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.status == "success":
            made = calls.get(message.tool_call_id)
            if made and (made["name"], made["args"]) == (call["name"], call["args"])«kept»:
                return message.model_copy(update={"tool_call_id": call["id"], "id": None})
"""

_COUNTING = """\
    if $USES[call["name"]] == $MOST_USES.get(call["name"]):
        told = f"{call['name']} was used as often as it may be. Go on without it."
        return ToolMessage(told, tool_call_id=call["id"] or "", name=call["name"], status="error")
    $USES[call["name"]] += 1
"""

_ASYNC = """\
    if request.tool is None:
        return execute(request)
    done: ToolMessage = asyncio.run(request.tool.ainvoke({**call, "type": "tool_call"}))
    return done"""

_ASKING = """\
    if request.tool is None:
        return execute(request)
    given: Any = «given»
    text = given if isinstance(given, str) else json.dumps(given, default=str)
    keeps = call["name"] not in $KEPT_IF or $KEPT_IF[call["name"]](call["args"], given)
    return ToolMessage(
        text, tool_call_id=call["id"] or "", name=call["name"], additional_kwargs={"is_kept": bool(keeps)}
    )"""


class AgentGraph:
    """The properties of a program's tools on which the source of its agents depends."""

    def __init__(self) -> None:
        self.keeps_results = True
        self.ends_work = False
        """Whether the result of any tool is the final answer."""

        self.is_async = False
        """Whether any tool is a coroutine function."""

        self.not_kept: dict[str, None] = {}
        """Names of the tools whose results are never kept."""

        self.kept_if: dict[str, str] = {}
        """Tool names, each with the function that decides which of its results are kept."""

        self.most_uses: dict[str, int] = {}

    def plain(self, opening: str) -> str:
        """Return the template of the function for an agent without tools.

        Args:
            opening: the messages that it begins with.
        """
        return _PLAIN.replace("$opening", opening)

    def agent(self) -> list[str]:
        """Return the templates of the functions that build an agent, with their constants."""
        parts = {
            "ending": _ENDING if self.ends_work else "",
            "wrapping": ", wrap_tool_call=$used" if self._wraps else "",
        }
        results = [*self._constants(), _FAILED]
        results += [_FINAL_RESULT] if self.ends_work else []
        results += [self._used()] if self._wraps else []
        return [*results, _filled(_AGENT, parts)]

    @property
    def _wraps(self) -> bool:
        return self.keeps_results or bool(self.most_uses) or self.is_async

    @property
    def _asks_functions(self) -> bool:
        return self.keeps_results and bool(self.kept_if)

    def _used(self) -> str:
        kept = ' and call["name"] not in $NOT_KEPT' if self.not_kept else ""
        kept += ' and message.additional_kwargs.get("is_kept", True)' if self._asks_functions else ""
        looking = _LOOKING.replace("«kept»", kept)
        summary = (
            "Run a tool call, or reuse the result of an identical one" if self.keeps_results else "Run a tool call"
        )
        parts = {
            "summary": summary,
            "looking": looking if self.keeps_results else "",
            "counting": _COUNTING if self.most_uses else "",
            "invoking": self._invoking(),
        }
        return _filled(_USED, parts)

    def _invoking(self) -> str:
        if self._asks_functions:
            call = 'request.tool.invoke(call["args"])'
            if self.is_async:
                call = 'asyncio.run(request.tool.ainvoke(call["args"]))'
            return _ASKING.replace("«given»", call)
        return _ASYNC if self.is_async else "    return execute(request)"

    def _constants(self) -> list[str]:
        results: list[str] = []
        if self.keeps_results:
            if self.not_kept:
                names = ", ".join(json.dumps(name) for name in self.not_kept)
                results.append(f'$NOT_KEPT = {{{names}}}\n"""Tools whose results are not reused."""')
            if self.kept_if:
                entries = _entries(self.kept_if)
                message = '"""Whether a result may be reused, by tool: functions of the arguments and the result."""'
                results.append(f"$KEPT_IF: dict[str, Callable[..., Any]] = {{{entries}}}\n{message}")
        if self.most_uses:
            results.append(
                f"$MOST_USES = {{{_entries(self.most_uses)}}}\n" + '"""The maximum number of uses by tool."""'
            )
            results.append("$USES = Counter[str]()")
        return results

    @property
    def imports(self) -> list[tuple[str, str]]:
        """Return the imports of the source as (module, name) pairs; an empty name imports the module itself."""
        results = [("collections.abc", "Sequence"), ("langchain_core.tools", "BaseTool"), ("typing", "Any")]
        results += [("langgraph.graph", name) for name in ("START", "MessagesState", "StateGraph")]
        results += [("langgraph.prebuilt", name) for name in ("ToolNode", "tools_condition")]
        if self.ends_work:
            results += [("itertools", "takewhile"), ("langchain_core.messages", "ToolMessage")]
        if self._wraps:
            results += [("collections.abc", "Callable"), ("langchain_core.messages", "ToolMessage")]
            results += [("langgraph.types", "Command"), ("langgraph.prebuilt.tool_node", "ToolCallRequest")]
        results += [("langchain_core.messages", "ToolCall")] if self.keeps_results else []
        results += [("asyncio", "")] if self.is_async else []
        results += [("json", "")] if self._asks_functions else []
        results += [("collections", "Counter")] if self.most_uses else []
        return results


def _filled(text: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"«(\w+)»", lambda match: parts[match[1]], text)


def _entries(values: Mapping[str, object]) -> str:
    return ", ".join(f"{json.dumps(name)}: {value}" for name, value in values.items())
