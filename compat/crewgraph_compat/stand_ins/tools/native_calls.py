"""Parse and execute native tool calls, and describe tools as text."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast
from uuid import uuid4

from pydantic import BaseModel

from crewgraph.prompts.book import default_book
from crewgraph.schema import json_schema
from crewgraph.task import Task
from crewgraph.tools.base import BaseTool
from crewgraph.tools.cache import ToolCalling
from crewgraph.tools.structured import CrewStructuredTool, prompt_text
from crewgraph_compat.stand_ins.models.calls import LLMMessage
from crewgraph_compat.stand_ins.tools.fields import sanitize_tool_name
from crewgraph_compat.stand_ins.tools.usage import ToolUsage

__all__ = [
    "DELEGATION_TOOL_NAMES",
    "NativeToolCallResult",
    "build_schema_hint",
    "build_text_tool_calling_fallback_message",
    "build_tool_calls_assistant_message",
    "check_native_tool_support",
    "convert_tools_to_openai_schema",
    "execute_single_native_tool_call",
    "extract_tool_call_info",
    "format_description_for_llm",
    "format_native_tool_output_for_agent",
    "get_tool_names",
    "is_native_tool_calling_unsupported_error",
    "is_tool_call_list",
    "parse_tool_call_args",
    "parse_tools",
    "render_text_description_and_args",
    "setup_native_tools",
    "strip_composite_description_prefix",
    "to_langchain",
    "track_delegation_if_needed",
]


DELEGATION_TOOL_NAMES: Final = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""The delegation tools under CrewAI's names."""

_MISSING_TOOL = "Tool not found"
_UNSUPPORTED = ("not support", "unsupported", "not available", "unknown parameter", "unrecognized")


@dataclass
class NativeToolCallResult:
    """The result of a tool call."""

    call_id: str
    """The id of the call."""

    func_name: str
    """The name of the tool."""

    result: str
    """The text shown to the model."""

    from_cache: bool = False
    """Whether the result came from the cache."""

    result_as_answer: bool = False
    """Whether the result is the final answer."""

    tool_message: LLMMessage = field(default_factory=lambda: cast("LLMMessage", {}))
    """The result as a message."""


def parse_tools(tools: Sequence[Any]) -> list[CrewStructuredTool]:
    """Convert tools to `CrewStructuredTool` objects.

    Raises:
        ValueError: An entry is not a tool.
    """
    result: list[CrewStructuredTool] = []
    for tool in tools:
        if isinstance(tool, CrewStructuredTool):
            result.append(tool)
        elif isinstance(tool, BaseTool):
            result.append(tool.to_structured_tool())
        else:
            raise ValueError(f"{tool!r:.80} is not a tool; pass a `BaseTool`, or a function decorated with `@tool`")
    return result


def get_tool_names(tools: Sequence[Any]) -> str:
    """Return the names of tools as CrewAI shows them to models."""
    return ", ".join(sanitize_tool_name(tool.name) for tool in tools)


def render_text_description_and_args(tools: Sequence[Any]) -> str:
    """Return the descriptions and arguments of tools for a prompt."""
    return "\n".join(prompt_text(item.spec) for item in parse_tools(tools))


def build_text_tool_calling_fallback_message(tools_description: str, tools_names: str) -> str:
    """Return the tool instructions for a model without native tool calling."""
    return default_book().slice("tools", tools=tools_description, tool_names=tools_names)


def check_native_tool_support(llm: Any, original_tools: Sequence[Any] | None) -> bool:
    """Return whether there are tools and the model supports native tool calling."""
    supports = getattr(llm, "supports_function_calling", None)
    return bool(original_tools) and callable(supports) and bool(supports())


def is_native_tool_calling_unsupported_error(error: BaseException) -> bool:
    """Return whether a request failed because the model does not support native tool calling."""
    message = str(error).lower()
    return any(word in message for word in ("tool", "function")) and any(why in message for why in _UNSUPPORTED)


def is_tool_call_list(response: Sequence[Any]) -> bool:
    """Return whether a reply is a list of tool calls in any provider's format."""
    return bool(response) and extract_tool_call_info(response[0]) is not None


def extract_tool_call_info(tool_call: Any) -> tuple[str, str, dict[str, Any] | str] | None:
    """Return the id, tool name and arguments of a call in any provider's format, or None for other values."""
    call = _fields(tool_call)
    own = _fields(call.get("function") or call.get("function_call") or call)
    if not own.get("name"):
        return None
    values: dict[str, Any] | str = next(
        (own[name] for name in ("arguments", "args", "input") if own.get(name) is not None), cast("dict[str, Any]", {})
    )
    call_id = call.get("id") or call.get("toolUseId") or f"call_{uuid4().hex[:24]}"
    return call_id, sanitize_tool_name(own["name"]), values


def _fields(thing: Any) -> Mapping[str, Any]:
    if isinstance(thing, Mapping):
        return cast("Mapping[str, Any]", thing)
    return cast("dict[str, Any]", getattr(thing, "__dict__", {}))


def parse_tool_call_args(
    func_args: dict[str, Any] | str, func_name: str, call_id: str, original_tool: Any = None
) -> tuple[dict[str, Any], None] | tuple[None, dict[str, Any]]:
    """Return the parsed arguments and None, or None and the error result for the model."""
    if not isinstance(func_args, str):
        return func_args, None
    try:
        return json.loads(func_args), None
    except ValueError as error:
        message = f"`{func_name}` was not used: the arguments are no JSON object ({error}). Write them as one."
        refused = {"call_id": call_id, "func_name": func_name, "result": message, "from_cache": False}
        return None, {**refused, "original_tool": original_tool}


def convert_tools_to_openai_schema(
    tools: Sequence[Any],
) -> tuple[list[dict[str, Any]], dict[str, Callable[..., Any]], dict[str, Any]]:
    """Return the tools in OpenAI format, their functions by name, and the tools by name."""
    schemas: list[dict[str, Any]] = []
    functions: dict[str, Callable[..., Any]] = {}
    named: dict[str, Any] = {}
    for tool in tools:
        name = sanitize_tool_name(tool.name)
        parameters = json_schema(tool.args_schema)
        function = {"name": name, "description": tool.description, "parameters": parameters}
        schemas.append({"type": "function", "function": function})
        functions[name] = tool.run if isinstance(tool, BaseTool) else tool.func
        named[name] = tool
    return schemas, functions, named


def setup_native_tools(
    original_tools: Sequence[Any],
) -> tuple[list[dict[str, Any]], dict[str, Callable[..., Any]], dict[str, Any]]:
    """Alias of `convert_tools_to_openai_schema`."""
    return convert_tools_to_openai_schema(original_tools)


def build_tool_calls_assistant_message(
    tool_calls: Sequence[Any],
) -> tuple[LLMMessage | None, list[dict[str, Any]]]:
    """Return the assistant message with the tool calls and the calls in that format, or None without calls."""
    infos = [info for call in tool_calls if (info := extract_tool_call_info(call)) is not None]
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": values if isinstance(values, str) else json.dumps(values)},
        }
        for call_id, name, values in infos
    ]
    return ({"role": "assistant", "content": None, "tool_calls": calls} if calls else None), calls


def format_native_tool_output_for_agent(tool: Any, raw_result: Any) -> str:
    """Return a tool result as it is shown to the model."""
    formatter: Any = getattr(tool, "format_output_for_agent", None)
    return str(formatter(raw_result) if callable(formatter) else raw_result)


def execute_single_native_tool_call(
    tool_call: Any,
    *,
    available_functions: Mapping[str, Callable[..., Any]],
    original_tools: Sequence[Any],
    structured_tools: Sequence[Any] | None = None,
    tools_handler: Any = None,
    agent: Any = None,
    task: Any = None,
    crew: Any = None,
    event_source: Any = None,
    printer: Any = None,
    verbose: bool = False,
    **more: Any,
) -> NativeToolCallResult:
    """Execute a tool call.

    Args:
        tool_call: the call, in the form of any provider.
        available_functions: used only for names that are not among the tools.
        original_tools: the tools.
        structured_tools: additional tools.
        tools_handler: holds the cache of results.
        agent: for events.
        task: for events.
        crew: not used.
        event_source: not used.
        printer: not used.
        verbose: not used.
        more: arguments of later releases; not used.
    """
    info = extract_tool_call_info(tool_call)
    if info is None:
        return _call_result("", "unknown", "this is not a tool call")
    call_id, name, values = info
    arguments, refused = parse_tool_call_args(values, name, call_id)
    if arguments is None:
        return _call_result(call_id, name, str((refused or {}).get("result")))
    tools = {sanitize_tool_name(tool.name): tool for tool in (*(structured_tools or ()), *original_tools)}
    if name not in tools:
        function = available_functions.get(name)
        return _call_result(call_id, name, _MISSING_TOOL if function is None else str(function(**arguments)))
    usage = ToolUsage(tools_handler, [tools[name]], task, None, agent)
    calling = ToolCalling(tool_name=tools[name].name, arguments=arguments)
    return _call_result(call_id, name, usage.use(calling, name), usage.is_answer(calling))


def track_delegation_if_needed(tool_name: str, tool_args: Mapping[str, Any], task: Any) -> None:
    """Count a delegation call on the task; runs count their own."""
    if isinstance(task, Task) and sanitize_tool_name(tool_name) in DELEGATION_TOOL_NAMES:
        task.increment_delegations(tool_args.get("coworker"))


def _call_result(call_id: str, name: str, text: str, is_answer: bool = False) -> NativeToolCallResult:
    message: LLMMessage = {"role": "tool", "tool_call_id": call_id, "name": name, "content": text}
    return NativeToolCallResult(call_id, name, text, result_as_answer=is_answer, tool_message=message)


_MARK = "Tool Description: "


def build_schema_hint(args_schema: type[BaseModel]) -> str:
    """Describe a tool's arguments for an error message."""
    schema = json_schema(args_schema)
    properties, required = json.dumps(schema.get("properties", {})), json.dumps(schema.get("required", []))
    return f"\nExpected arguments: {properties}\nRequired: {required}"


def format_description_for_llm(name: str, args_schema: type[BaseModel] | None, description: str) -> str:
    """Return the name, arguments and description of a tool."""
    parameters_text = json.dumps(json_schema(args_schema), indent=2) if args_schema is not None else "{}"
    return f"Tool Name: {sanitize_tool_name(name)}\nTool Arguments: {parameters_text}\n{_MARK}{description}"


def strip_composite_description_prefix(description: str) -> str:
    """Return the plain description from such a text; other texts are returned unchanged."""
    return description.rpartition(_MARK)[2] if description.startswith("Tool Name:") else description


def to_langchain(tools: Sequence[Any]) -> list[CrewStructuredTool]:
    """Convert tools to `CrewStructuredTool` objects, like CrewAI's function of this name.

    Raises:
        ValueError: An entry is not a tool.
    """
    return parse_tools(tools)
