"""The agent of a program: a graph of a model and a `ToolNode`, with wrappers for tool calls."""

import json
import re
from collections.abc import Mapping

INVOKE_MODEL = '''
def $invoke_model(
    model: Runnable[LanguageModelInput, AIMessage],
    messages: Sequence[AnyMessage],
    config: RunnableConfig | None = None,
) -> AIMessage:
    """Return the reply of a model; if it is empty, ask again."""
    attempt = list(messages)
    for _ in range(3):
        reply = model.invoke(attempt, config)
        if reply.tool_calls or str(reply.text).strip():
            return reply
        attempt.append(HumanMessage($EMPTY_REPLY_PROMPT))
    raise ValueError("the model returned three empty replies in a row")
'''

_ASK_MODEL = '''
def $ask_model(model: BaseChatModel, system: str, prompt: str, config: RunnableConfig | None = None) -> str:
    """Return the answer of a model to a prompt."""
    return str($invoke_model(model, [$opening], config).text).strip()
'''

ASK_MODEL_FOR_JSON = '''
def $ask_model_for_json(
    model: BaseChatModel, schema: type[BaseModel], system: str, prompt: str, config: RunnableConfig | None = None
) -> str:
    """Return the structured answer of a model as JSON; an answer that does not match the schema is returned unchanged."""
    structured_model = model.with_structured_output(schema.model_json_schema(), include_raw=True)
    reply: dict[str, Any] = cast("Any", structured_model.invoke([$opening], config))
    text = str(reply["raw"].text).strip()
    try:
        if reply["raw"].tool_calls:
            return schema.model_validate(reply["parsed"]).model_dump_json()
        return schema.model_validate_json(text).model_dump_json()
    except ValidationError:
        return text
'''

ASK_MODEL_FOR_STRICT_JSON = '''
def $close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which every object has all of its fields and no others, as OpenAI's strict mode demands."""
    closed = {key: value for key, value in schema.items() if key not in ("$$defs", "default", "title")}
    if "items" in schema:
        closed["items"] = $close_objects(schema["items"])
    if "anyOf" in schema:
        closed["anyOf"] = [$close_objects(choice) for choice in schema["anyOf"]]
    if "properties" in schema:
        fields = {name: $close_objects(field) for name, field in schema["properties"].items()}
        closed |= {"properties": fields, "required": list(fields), "additionalProperties": False}
    return closed

''' + ASK_MODEL_FOR_JSON.replace("$ask_model_for_json", "$ask_model_for_strict_json").replace(
    "    structured_model = model.with_structured_output(schema.model_json_schema(), include_raw=True)\n",
    """\
    form = {**$close_objects(dereference_refs(schema.model_json_schema())), "title": schema.__name__}
    structured_model = model.with_structured_output(form, include_raw=True, strict=True)
""",
)

RUN_AGENT = '''
def $run_agent(agent: Runnable[Any, Any], system: str, prompt: str, config: RunnableConfig | None = None) -> str:
    """Return the answer of an agent to a prompt."""
    state = agent.invoke({"messages": [$opening]}, config)
    return str(state["messages"][-1].text).strip()
'''

_BUILD_AGENT = '''
def $build_agent(model: BaseChatModel, tools: Sequence[BaseTool], steps: int = 25) -> Runnable[Any, Any]:
    """Build a ReAct agent: a model that calls tools until it answers or has used up its steps."""
    bound_model = model.bind_tools(tools)

    def call_model(state: MessagesState, config: RunnableConfig) -> dict[str, list[AIMessage]]:
        messages = state["messages"]«ending»
        if sum(isinstance(message, AIMessage) for message in messages) < steps:
            return {"messages": [$invoke_model(bound_model, messages, config)]}
        reply = bound_model.invoke([*messages, HumanMessage($OUT_OF_STEPS_PROMPT)], config)
        return {"messages": [AIMessage(str(reply.text))]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=$describe_tool_error«wrapping»))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=False).with_config(recursion_limit=2 * steps + 3)
'''

_DESCRIBE_TOOL_ERROR = '''
def $describe_tool_error(error: Exception) -> str:
    """Return the message that reports the error of a tool to the model."""
    return f"The tool failed: {type(error).__name__}: {error}"
'''

_FINAL_RESULT_CHECK = """
        if (result := $final_result(messages, tools)) is not None:
            return {"messages": [AIMessage(result)]}"""

_FINAL_RESULT = '''
def $final_result(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str | None:
    """Return the first result of the latest tool calls that is the final answer; None if there is none."""
    direct_tools = {tool.name for tool in tools if tool.return_direct}
    latest = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
    results = [message for message in latest if isinstance(message, ToolMessage) and message.status == "success"]
    return next((str(message.text) for message in reversed(results) if message.name in direct_tools), None)
'''

_RUN_TOOL_CALL = '''
def $run_tool_call(
    request: ToolCallRequest, execute: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
) -> ToolMessage | Command[Any]:
    """«summary»."""
    call = request.tool_call
«reuse»«limit»«invoke»
'''

_REUSE = """\
    messages: list[AnyMessage] = request.state["messages"]
    calls: dict[str | None, ToolCall] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls = {earlier["id"]: earlier for earlier in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.status == "success":
            earlier = calls.get(message.tool_call_id)
            if earlier and (earlier["name"], earlier["args"]) == (call["name"], call["args"])«condition»:
                marked = {**message.additional_kwargs, "from_cache": True}
                return message.model_copy(
                    update={"tool_call_id": call["id"], "id": None, "additional_kwargs": marked}
                )
"""

_LIMIT = """\
    if $TOOL_USES[call["name"]] == $MAX_TOOL_USES.get(call["name"]):
        message = f"{call['name']} has reached its usage limit. Continue without it."
        return ToolMessage(message, tool_call_id=call["id"] or "", name=call["name"], status="error")
    $TOOL_USES[call["name"]] += 1
"""

_INVOKE_ASYNC = """\
    if request.tool is None:
        return execute(request)
    result: ToolMessage = asyncio.run(request.tool.ainvoke({**call, "type": "tool_call"}))
    return result"""

_INVOKE_WITH_CONDITION = """\
    if request.tool is None:
        return execute(request)
    result: Any = «result»
    text = result if isinstance(result, str) else json.dumps(result, default=str)
    cacheable = call["name"] not in $CACHE_CONDITIONS or $CACHE_CONDITIONS[call["name"]](call["args"], result)
    return ToolMessage(
        text, tool_call_id=call["id"] or "", name=call["name"], additional_kwargs={"cacheable": bool(cacheable)}
    )"""


class AgentGraph:
    """The properties of a program's tools on which the source of its agents depends."""

    def __init__(self) -> None:
        self.returns_directly = False
        """Whether the result of any tool is the final answer."""

        self.is_async = False
        """Whether any tool is a coroutine function."""

        self._reused: dict[str, bool] = {}
        """Tool names, each with whether results are reused."""

        self.cache_conditions: dict[str, str] = {}
        """Tool names, each with the function that decides which of its results may be reused."""

        self.max_uses: dict[str, int] = {}

    def reuse(self, tool: str, *, wanted: bool) -> None:
        """Note whether an agent's results of a tool are reused; those of a tool are only if all agents want it."""
        self._reused[tool] = wanted and self._reused.get(tool, True)

    @property
    def caches_results(self) -> bool:
        """Whether the results of any tool are reused."""
        return any(self._reused.values())

    def plain(self, opening: str) -> str:
        """Return the template of the function for an agent without tools.

        Args:
            opening: the messages that it begins with.
        """
        return _ASK_MODEL.replace("$opening", opening)

    def agent(self) -> list[str]:
        """Return the templates of the functions that build an agent, with their constants."""
        parts = {
            "ending": _FINAL_RESULT_CHECK if self.returns_directly else "",
            "wrapping": ", wrap_tool_call=$run_tool_call" if self._wraps else "",
        }
        results = [*self._constants(), _DESCRIBE_TOOL_ERROR]
        results += [_FINAL_RESULT] if self.returns_directly else []
        results += [self._run_tool_call()] if self._wraps else []
        return [*results, _filled(_BUILD_AGENT, parts)]

    @property
    def _wraps(self) -> bool:
        return self.caches_results or bool(self.max_uses) or self.is_async

    @property
    def _has_conditions(self) -> bool:
        return any(self._reused.get(name) for name in self.cache_conditions)

    def _run_tool_call(self) -> str:
        condition = ' and call["name"] in $REUSED_TOOLS'
        condition += ' and message.additional_kwargs.get("cacheable", True)' if self._has_conditions else ""
        reuse = _REUSE.replace("«condition»", condition)
        summary = (
            "Run a tool call, or reuse the result of an identical one" if self.caches_results else "Run a tool call"
        )
        parts = {
            "summary": summary,
            "reuse": reuse if self.caches_results else "",
            "limit": _LIMIT if self.max_uses else "",
            "invoke": self._invoke(),
        }
        return _filled(_RUN_TOOL_CALL, parts)

    def _invoke(self) -> str:
        if self._has_conditions:
            call = 'request.tool.invoke(call["args"])'
            if self.is_async:
                call = 'asyncio.run(request.tool.ainvoke(call["args"]))'
            return _INVOKE_WITH_CONDITION.replace("«result»", call)
        return _INVOKE_ASYNC if self.is_async else "    return execute(request)"

    def _constants(self) -> list[str]:
        results: list[str] = []
        if self.caches_results:
            names = ", ".join(json.dumps(name) for name, wanted in self._reused.items() if wanted)
            results.append(f'$REUSED_TOOLS = {{{names}}}\n"""Tools whose results are reused for the same arguments."""')
            if self._has_conditions:
                entries = _entries(self.cache_conditions)
                message = '"""Whether a result may be reused, by tool: functions of the arguments and the result."""'
                results.append(f"$CACHE_CONDITIONS: dict[str, Callable[..., Any]] = {{{entries}}}\n{message}")
        if self.max_uses:
            results.append(
                f"$MAX_TOOL_USES = {{{_entries(self.max_uses)}}}\n" + '"""The maximum number of calls by tool."""'
            )
            results.append("$TOOL_USES = Counter[str]()")
        return results

    @property
    def imports(self) -> list[tuple[str, str]]:
        """Return the imports of the source as (module, name) pairs; an empty name imports the module itself."""
        results = [("collections.abc", "Sequence"), ("langchain_core.tools", "BaseTool"), ("typing", "Any")]
        results += [("langgraph.graph", name) for name in ("START", "MessagesState", "StateGraph")]
        results += [("langgraph.prebuilt", name) for name in ("ToolNode", "tools_condition")]
        if self.returns_directly:
            results += [("itertools", "takewhile"), ("langchain_core.messages", "ToolMessage")]
        if self._wraps:
            results += [("collections.abc", "Callable"), ("langchain_core.messages", "ToolMessage")]
            results += [("langgraph.types", "Command"), ("langgraph.prebuilt.tool_node", "ToolCallRequest")]
        results += [("langchain_core.messages", "ToolCall")] if self.caches_results else []
        results += [("asyncio", "")] if self.is_async else []
        results += [("json", "")] if self._has_conditions else []
        results += [("collections", "Counter")] if self.max_uses else []
        return results


def _filled(text: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"«(\w+)»", lambda match: parts[match[1]], text)


def _entries(values: Mapping[str, object]) -> str:
    return ", ".join(f"{json.dumps(name)}: {value}" for name, value in values.items())
