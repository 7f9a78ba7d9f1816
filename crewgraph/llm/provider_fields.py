"""Fields of a model's messages that its provider wants back unchanged: reasoning, its details and signatures.

LangChain's OpenAI models know none of them. `read_part` reads them from a message or from a chunk of one, `join_parts` puts
the parts of an answer together, and `add_fields` writes them into the messages of a request.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.core.messages import ToolRequest
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object
from crewgraph.text import extract_json

KEY = "provider_fields"
"""Where LangChain's `additional_kwargs`, and so `extra` of replies and messages, hold the fields."""

MESSAGE_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "extra_content")
"""DeepSeek and many others; vLLM, Groq and OpenRouter; OpenRouter and MiniMax; LiteLLM's proxy; Gemini."""

_CALL_FIELDS = ("extra_content", "provider_specific_fields")
"""Of each tool call: the signatures of Gemini, and of LiteLLM's proxy."""

_NAMES, _CALL_NAMES = frozenset(MESSAGE_FIELDS), frozenset(_CALL_FIELDS)

_REFUSING = "groq.com"
"""A provider that sends `reasoning`, and refuses requests of some of its models that contain it."""

_DEMANDING = re.compile("deepseek|kimi", re.IGNORECASE)
"""Models that refuse requests if a message with tool calls lacks its `reasoning_content`."""

_NOT_OWN = "The reasoning before these calls is not available."
"""Reasoning for a demanding model where the message is another's."""

_TEXTS = ("summary", "text", "thinking")
_PIECES = (*_TEXTS, "data")


def read_part(message: PlainDict) -> PlainDict | None:
    """Return the fields of a message or of a chunk; None if there are none."""
    requested: Sequence[Any] | None = message.get("tool_calls")
    if not requested and _NAMES.isdisjoint(message):
        return None
    own = {name: message[name] for name in MESSAGE_FIELDS if message.get(name)}
    calls: list[list[object]] = []
    for number, call in enumerate(requested or ()):
        if is_object(call) and not _CALL_NAMES.isdisjoint(call):
            found = {name: call[name] for name in _CALL_FIELDS if call.get(name)}
            calls.append([call.get("index", number), call.get("id"), found])
    return {"message": own, "calls": calls} if own or calls else None


UNPARSED = "\ufeff"
"""A prefix for the arguments of a tool call that are not a JSON object, such as a list. `json.loads` rejects it, so LangChain
passes the call on as invalid, with its text; it would fail on the list itself, and the request would be repeated."""

_WITHIN_NAME = re.compile(r"functions\.([\w-]+)(?::\d+)?")


def mend(message: PlainDict, *, whole: bool = True) -> PlainDict:
    """Return a message, or a chunk of one (not `whole`), as OpenAI writes it, from what other servers make of it."""
    legacy, calls = message.get("function_call"), message.get("tool_calls")
    if not calls and is_object(legacy) and (legacy.get("name") or legacy.get("arguments")):
        call_id = "call_0" if legacy.get("name") else None
        calls = [{"index": 0, "id": call_id, "type": "function", "function": legacy}]
    role = message.get("role") or ("assistant" if whole else None)
    if not calls:
        return {**message, "role": role}
    mended = [_mended_call(call, whole=whole) for call in calls]
    return {**message, "role": role, "function_call": None, "tool_calls": mended}


def _mended_call(call: PlainDict, *, whole: bool) -> PlainDict:
    function: PlainDict = call.get("function") or {}
    name, args = function.get("name"), function.get("arguments")
    if isinstance(name, str) and (within := _WITHIN_NAME.fullmatch(name)):
        name = within[1]
    if is_object(args):
        args = json.dumps(args)
    elif whole and args:
        args = _object_text(str(args))
    return {**call, "function": {**function, "name": name, "arguments": args}}


def _object_text(args: str) -> str:
    """Return arguments that are an object, perhaps encoded twice; others marked as unparsed."""
    try:
        value: object = json.loads(args)
    except ValueError:
        return args
    if isinstance(value, str) and is_object(extract_json(value)) and value.lstrip().startswith("{"):
        return value
    return args if value is None or is_object(value) else UNPARSED + args


def join_parts(parts: Sequence[PlainMapping], requests: Sequence[ToolRequest]) -> PlainDict:
    """Return the fields of an answer, as `extra` of a message keeps them, from the parts in which they came.

    Args:
        parts: What `read_part` returned, in order.
        requests: The tool calls of the answer.
    """
    message: PlainDict = {}
    calls: dict[str, PlainDict] = {}
    for part in parts:
        for name, value in part["message"].items():
            message[name] = _joined_field(message[name], value) if name in message else value
        requested: list[tuple[int, str | None, PlainDict]] = part["calls"]
        for number, call_id, fields in requested:
            known = call_id or (requests[number]["id"] if number < len(requests) else "")
            calls[known] = {**calls.get(known, {}), **fields}
    return {"from": parts[0].get("from", []), "message": message, "calls": calls}


def _joined_field(known: object, value: object) -> object:
    if isinstance(known, str) and isinstance(value, str):
        return known + value
    if is_list(known) and is_list(value):
        return _with_pieces(known, value)
    return {**known, **value} if is_object(known) and is_object(value) else value


def _with_pieces(known: Sequence[PlainDict], pieces: Sequence[PlainDict]) -> list[PlainDict]:
    """Return a list whose elements are extended by the pieces of a chunk; pieces of others are appended."""
    joined = list(known)
    for piece in pieces:
        place = next((number for number in reversed(range(len(joined))) if _continues(piece, joined[number])), None)
        if place is None or ("index" not in piece and place != len(joined) - 1):
            joined.append(piece)
            continue
        element = joined[place] = dict(joined[place])
        for name, value in piece.items():
            is_text = name in _PIECES and isinstance(value, str) and isinstance(element.get(name), str)
            if value is not None:
                element[name] = element[name] + value if is_text else value
    return joined


def _continues(piece: PlainMapping, element: PlainMapping) -> bool:
    """Whether a piece belongs to an element: they have the same index; without one, it is a text that is not signed yet."""
    if piece.get("type") != element.get("type") or piece.get("index") != element.get("index"):
        return False
    if "index" in piece:
        return not (piece.get("id") and element.get("id") and piece["id"] != element["id"])
    return not element.get("signature") and (any(name in piece for name in _TEXTS) or "signature" in piece)


def add_fields(
    entries: Sequence[PlainDict], extras: Sequence[PlainMapping], model: str, origin: Callable[[], Sequence[str]]
) -> None:
    """Add to the messages of a request the fields that its model gave with them.

    Fields of another model at another address are left out, and so are all in a conversation without tool calls: no provider
    asks for them there, and some refuse them.

    Args:
        entries: The messages in OpenAI's format, which are changed.
        extras: What is kept with each of them: `extra`, or LangChain's `additional_kwargs`.
        model: The name of the model that is asked.
        origin: Returns this name and the address of the model's server.
    """
    requested = None
    for requested in entries:
        if "tool_calls" in requested:
            break
    if requested is None or "tool_calls" not in requested:
        return
    demands = _DEMANDING.search(model)
    for entry, extra in zip(entries, extras, strict=True):
        if entry["role"] != "assistant":
            continue
        fields: PlainMapping | None = extra.get(KEY)
        if fields is not None and _may_send(fields["from"], origin()):
            for name, value in fields["message"].items():
                entry.setdefault(name, value)
            for call in entry.get("tool_calls") or ():
                call.update(fields["calls"].get(call["id"], {}))
        if demands and entry.get("tool_calls") and _NAMES.isdisjoint(entry):
            entry["reasoning_content"] = _NOT_OWN


def _may_send(sender: Sequence[str], receiver: Sequence[str]) -> bool:
    """Whether fields go to a model: it has the name or the address of the one that gave them, or a program gave them."""
    if receiver[1].endswith(_REFUSING):
        return False
    return not sender or sender[0] == receiver[0] or sender[1] == receiver[1]
