"""Parses the messages and tools that users pass to `call`, and writes messages in OpenAI's format."""

import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel
from typing_extensions import TypeIs

from crewgraph.core.files import is_file_mark
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Content, Message, ToolRequest, ToolSpec
from crewgraph.errors import ModelError
from crewgraph.extensions import extension
from crewgraph.llm.errors import InvalidMessage
from crewgraph.llm.provider_fields import KEY, join_parts, read_part
from crewgraph.schema import PlainDict, get_field, is_mapping, is_object

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "developer": "system",
    "function": "tool",
}


_INVALID = (
    "Message {number} is a `{kind}` without {missing}. "
    'Pass a string, or entries such as {{"role": "user", "content": "..."}}.'
)


def text_of(content: Content | None) -> str:
    """Return the text of message content, without other kinds of blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)


def parsed_arguments(arguments: object) -> dict[str, object] | str:
    """Parse the arguments of a tool call; return the text as is if it is not a JSON object."""
    if arguments is None or arguments == "":
        return {}
    if is_mapping(arguments):
        return {str(name): value for name, value in arguments.items()}
    try:
        parsed: object = json.loads(str(arguments))
    except ValueError:
        return str(arguments)
    return parsed if is_object(parsed) else str(arguments)


def read_messages(messages: object) -> list[Message]:
    """Parse the messages that a user passes to `call`.

    Args:
        messages: A prompt, one entry, or a list of entries: dicts with `role` and `content` (tool calls in OpenAI's
            or LangChain's format), LangChain messages, or pairs of role and content.

    Raises:
        InvalidMessage: An entry is none of these (also ValueError).
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Sequence):
        return [_read_message(entry, number) for number, entry in enumerate(cast("Sequence[object]", messages))]
    return [_read_message(messages, 0)]


def _read_message(entry: object, number: int) -> Message:
    if isinstance(entry, str):
        return {"role": "user", "content": entry}
    if _is_role_pair(entry):
        role, content = entry
        return {"role": _ROLES.get(role, role), "content": content}
    role = get_field(entry, "role") or get_field(entry, "type")
    if not isinstance(role, str):
        raise InvalidMessage(_INVALID.format(number=number, kind=type(entry).__name__, missing="a role"))
    content: Any = get_field(entry, "content")
    # A message without text but with tool calls is complete.
    if content is None and is_mapping(entry) and not {"content", "tool_calls"} & entry.keys():
        raise InvalidMessage(_INVALID.format(number=number, kind=type(entry).__name__, missing="content"))
    message: Message = {
        "role": _ROLES.get(role, role),
        "content": "" if content is None else content,
    }
    calls: Any = get_field(entry, "tool_calls") or []
    if requests := [_read_call(call) for call in calls]:
        message["tool_calls"] = requests
    if message["role"] == "assistant" and (extra := _extra(entry, calls, requests)):
        message["extra"] = extra
    for key in ("tool_call_id", "name"):
        if value := get_field(entry, key):
            message[key] = str(value)
    return message


def _extra(entry: object, calls: Sequence[object], requests: Sequence[ToolRequest]) -> PlainDict:
    """Return what a provider wants back with a message, as the program has it from its answer."""
    part = read_part({**entry}) if is_mapping(entry) else None
    return getattr(calls, "extra", {}) if part is None else {KEY: join_parts([part], requests)}


def _is_role_pair(entry: object) -> TypeIs[tuple[str, Content]]:
    return isinstance(entry, tuple) and list(map(type, cast("tuple[object, ...]", entry)))[:1] == [str]


def _read_call(call: object) -> ToolRequest:
    function = get_field(call, "function")
    holder = call if function is None else function
    arguments = get_field(holder, "args") if get_field(holder, "arguments") is None else get_field(holder, "arguments")
    return {
        "id": str(get_field(call, "id") or ""),
        "name": str(get_field(holder, "name") or ""),
        "args": parsed_arguments(arguments),
    }


def read_tools(tools: Sequence[object] | None) -> list[ToolSpec]:
    """Parse the tools that a user passes to `call`.

    Args:
        tools: Functions in OpenAI's format, bare or wrapped; Anthropic's (`input_schema`); or objects with
            `name`, `description` and `args_schema`.

    Raises:
        ModelError: A tool is none of these.
    """
    return [_read_tool(tool) for tool in tools or ()]


def _read_tool(tool: object) -> ToolSpec:
    function = get_field(tool, "function")
    holder = tool if function is None or callable(function) else function
    name = get_field(holder, "name")
    if not isinstance(name, str):
        raise ModelError(
            f"A `{type(tool).__name__}` is not a tool. "
            'Pass {"type": "function", "function": {"name", "description", "parameters"}}, '
            "or an object with a `name`."
        )
    return {
        "name": name,
        "description": str(get_field(holder, "description") or ""),
        "parameters": _schema(
            get_field(holder, "parameters") or get_field(holder, "input_schema") or get_field(holder, "args_schema")
        ),
    }


def _schema(schema: object) -> dict[str, object]:
    if is_mapping(schema):
        return dict(schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    return {"type": "object", "properties": {}}


def openai_tool(spec: ToolSpec) -> dict[str, object]:
    """Return a tool in OpenAI's format; one of a provider as it is."""
    if "native" in spec:
        return spec["native"]
    return {"type": "function", "function": {name: value for name, value in spec.items() if name != "extras"}}


def openai_messages(messages: Sequence[Message]) -> list[PlainDict]:
    """Return messages as OpenAI's dicts, including tool calls and their results."""
    return list(map(_openai_message, messages))


def _openai_message(message: Message) -> dict[str, object]:
    entry: dict[str, object] = {"role": message["role"], "content": message["content"]}
    if requests := message.get("tool_calls"):
        entry["tool_calls"] = openai_tool_calls(requests)
    if "tool_call_id" in message:
        entry["tool_call_id"] = message["tool_call_id"]
    if "name" in message:
        entry["name"] = message["name"]
    return entry


def openai_tool_calls(requests: Sequence[ToolRequest]) -> list[PlainDict]:
    """Return tool calls in OpenAI's format."""
    return [
        {
            "id": request["id"],
            "type": "function",
            "function": {"name": request["name"], "arguments": _written_arguments(request)},
        }
        for request in requests
    ]


def plain_messages(messages: Sequence[Message]) -> list[Message]:
    """Return messages with role and content only, for models without native tool calls.

    Tool calls and their results are written in the text protocol (`Action:`, `Observation:`).
    """
    plain: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            plain.append({"role": "user", "content": f"Observation: {text_of(message['content'])}"})
        elif requests := message.get("tool_calls"):
            actions = [f"Action: {r['name']}\nAction Input: {_written_arguments(r)}" for r in requests]
            written = "\n".join([text for text in (text_of(message["content"]),) if text] + actions)
            plain.append({"role": message["role"], "content": written})
        else:
            plain.append({"role": message["role"], "content": message["content"]})
    return plain


def _written_arguments(request: ToolRequest) -> str:
    args = request["args"]
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


def expanded(messages: Sequence[Message]) -> Sequence[Message]:
    """Return a conversation with its file marks replaced by the files' content, as OpenAI content blocks. Reads the files.

    Raises:
        FileChanged: a file is gone or has changed.
    """
    return extension("files.expand")(messages) if _has_files(messages) else messages


async def aexpanded(messages: Sequence[Message]) -> Sequence[Message]:
    """Async version of `expanded`; reads the files in a thread."""
    return await in_thread(extension("files.expand"), messages) if _has_files(messages) else messages


def _has_files(messages: Sequence[Message]) -> bool:
    for message in messages:
        content = message["content"]
        if isinstance(content, list) and any(map(is_file_mark, content)):
            return True
    return False
