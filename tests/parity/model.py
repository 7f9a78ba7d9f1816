"""The scripted model of a program: replies are chosen by the request and the number of equal requests before.

A program ends with a literal, `script`: a text to look for in a request, to the replies it gets, the last one again and
again. The first text found counts, so the more special stand first; `"*"` stands for all others. A reply is

    "POST-1 about tides"                        the answer, in the form that the request asks for
    {"tool": ["search", {"q": "tides"}]}        a tool call: native where tools are offered, else in the text protocol
    {"tools": [["search", {...}], ...]}         several at once
    {"json": {"height": 6.5}, "else": "6.5"}    JSON where a form is asked for (a schema, or a tool that must be called),
                                                else the answer, else the JSON
    {"text": "Thought: ..."}                    exactly this text, whatever was asked for
    {"native": ["search", {...}]}               a native call, whatever was asked for
    {"status": 500}                             an HTTP error
    {"empty": True}                             an empty text
    {..., "delay": 0.2}                         any of these, after so many seconds

Another literal, `remembered`, is what the model fills in where it is asked for parts of memories (entities, statements,
scopes): texts to look for, to the fields they get; other fields get what is empty. `typed` is what somebody types for the
program; without it, nobody is there.
"""

import ast
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from servers.openai_api import Answer, Request, call, calls, error, text

__all__ = ["ScriptedModel", "literal", "marks", "plain_name"]

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
"""What each request is said to have used: the words of prompts differ, the sums need not."""

_EMPTY: dict[str, Any] = {
    "suggestions": [],
    "quality": 5,
    "entities": [],
    "memories": [],
    "suggested_scope": "/",
    "categories": [],
    "importance": 0.5,
    "extracted_metadata": {"entities": [], "dates": [], "topics": []},
    "keywords": [],
    "suggested_scopes": [],
    "complexity": "simple",
    "recall_queries": [],
    "time_filter": None,
    "actions": [],
    "insert_new": True,
    "insert_reason": "",
}
"""The fields that are asked for when something is remembered or recalled, as they are unless a program says more."""

_FIELD = re.compile(r'^  "(\w+)":', re.MULTILINE)
"""A field of a form that is shown to the model as text."""

_MARK = re.compile(r"\b[A-Z][A-Z]+-\d+\b")


def marks(reported: str) -> set[str]:
    """The marks in a text: capitals, a hyphen and a number, as in `FACT-1`."""
    return set(_MARK.findall(reported))


def plain_name(tool: str) -> str:
    """A tool's name in small letters: what models and events are told differs in that between the versions."""
    return re.sub("[^a-z0-9]+", "_", tool.lower()).strip("_")


def literal(program: Path, name: str) -> Any:
    """The value of a program's last assignment of a literal to a name; None where it has none."""
    found = None
    for node in ast.parse(program.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            found = node.value
    return None if found is None else ast.literal_eval(found)


@dataclass
class ScriptedModel:
    """Answers requests by a script, and records them without their wording."""

    script: dict[str, list[Any]]
    known: set[str]
    """The marks to look for in requests."""

    remembered: dict[str, dict[str, Any]] | None = None
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _counts: Counter[str] = field(default_factory=Counter[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Answer:
        messages = cast("list[dict[str, Any]]", request.body.get("messages") or [])
        whole = "\n".join(_content(message) for message in messages)
        if self.remembered is not None and (expected := _fields(request.body, messages) & set(_EMPTY)):
            return self._filled(expected, request.body, whole)
        with self._lock:
            key = next((key for key in self.script if key == "*" or key in whole), None)
            position = self._counts[str(key)]
            self._counts[str(key)] += 1
            self.asked.append(_noted(request.body, key, messages, self.known & marks(whole)))
        if key is None:
            return error(400, "no script for this request")
        replies = self.script[key]
        return _reply(replies[min(position, len(replies) - 1)], request.body, whole)

    def _filled(self, expected: set[str], body: dict[str, Any], whole: str) -> Answer:
        """The parts of memories that are asked for, in whatever way."""
        with self._lock:
            seen = sorted(self.known & marks(whole))
            self.asked.append({"for": "memory", "model": body.get("model"), "roles": [], "marks": seen})
        reported = (self.remembered or {}).items()
        given = next((fields for text, fields in reported if text == "*" or text in whole), dict[str, Any]())
        filled = {name: given.get(name, _EMPTY[name]) for name in sorted(expected)}
        form = body.get("tool_choice") or body.get("response_format")
        return replace(_formed({"json": filled}, body, whole) if form else text(json.dumps(filled)), usage=USAGE)


def _fields(body: dict[str, Any], messages: list[dict[str, Any]]) -> set[str]:
    """The fields of the form that a request asks for: with a tool, a format, or in the words of its first message."""
    forced: Any = body.get("tool_choice")
    if isinstance(forced, dict):
        name = cast("dict[str, Any]", forced)["function"]["name"]
        forms = [tool["function"]["parameters"] for tool in body["tools"] if tool["function"]["name"] == name]
    elif body.get("response_format"):
        forms = [body["response_format"].get("json_schema", {}).get("schema", {})]
    else:
        return set(_FIELD.findall(_content(messages[0]))) if messages else set()
    return {name for form in forms for name in form.get("properties", {})}


def _content(message: dict[str, Any]) -> str:
    content: Any = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in cast("list[dict[str, Any]]", content))
    return f"{content or ''} {json.dumps(message['tool_calls']) if message.get('tool_calls') else ''}"


def _noted(body: dict[str, Any], key: str | None, messages: list[dict[str, Any]], seen: set[str]) -> dict[str, Any]:
    reported: dict[str, Any] = {
        "for": key,
        "model": body.get("model"),
        "roles": [message.get("role") for message in messages],
        "marks": sorted(seen),
    }
    if body.get("tools"):
        reported["tools"] = [plain_name(tool["function"]["name"]) for tool in body["tools"]]
    if body.get("response_format"):
        reported["format"] = body["response_format"].get("type")
    for name in ("temperature", "max_tokens", "stream", "top_p", "seed"):
        if body.get(name) is not None and body.get(name) is not False:
            reported[name] = body[name]
    return reported


def _reply(reply: Any, body: dict[str, Any], whole: str) -> Answer:
    if isinstance(reply, str):
        return replace(_said(reply, body, whole), usage=USAGE)
    expected = cast("dict[str, Any]", reply)
    if "status" in expected:
        return error(expected["status"])
    if "empty" in expected:
        answer = text("")
    elif "json" in expected:
        answer = _formed(expected, body, whole)
    elif "text" in expected:
        answer = text(expected["text"])
    elif "native" in expected:
        answer = call(*expected["native"])
    else:
        answer = _called([expected["tool"]] if "tool" in expected else expected["tools"], body)
    return replace(answer, usage=USAGE, delay=expected.get("delay", 0.0))


def _said(answer: str, body: dict[str, Any], whole: str) -> Answer:
    """Return a text answer in the requested form."""
    obeys = "Final Answer:" in whole and not body.get("tools")
    return text(f"Thought: I know it.\nFinal Answer: {answer}" if obeys else answer)


def _formed(expected: dict[str, Any], body: dict[str, Any], whole: str) -> Answer:
    """Return an answer as JSON if that is requested."""
    forced: Any = body.get("tool_choice")
    if isinstance(forced, dict):
        return call(cast("dict[str, Any]", forced)["function"]["name"], expected["json"])
    given = json.dumps(expected["json"])
    if body.get("response_format"):
        return text(given)
    return _said(expected.get("else", given), body, whole)


def _called(expected: list[Any], body: dict[str, Any]) -> Answer:
    if body.get("tools"):
        return calls(*((name, args) for name, args in expected))
    name, args = expected[0]
    given = args if isinstance(args, str) else json.dumps(args)
    return text(f"Thought: a tool helps.\nAction: {name}\nAction Input: {given}")
