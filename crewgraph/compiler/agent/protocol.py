"""Parsing of model replies: native tool calls, the text protocol, or a mix of both.

The text protocol is `Thought:`, then `Action:` and `Action Input:`, then (from us) `Observation:`; at the end `Final Answer:`.
`parse` reads one reply of the text protocol the way CrewAI's parser does.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from crewgraph.core.messages import Content, Reply
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.errors import OutputInvalid
from crewgraph.schema import PlainDict, is_list, is_object
from crewgraph.text import extract_json


def _label_pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of a label at the start of a line, with the markup around its words.

    Possessive quantifiers: even a reply of endless blanks or stars is matched in linear time. The full-width colon is what
    models write in Chinese and Japanese.
    """
    return re.compile(rf"^(?P<before>[ \t>*_#]*){words}(?P<after>[ \t*_]*+)[:\uff1a]", re.IGNORECASE | re.MULTILINE)


_FINAL = _label_pattern("Final Answer")
_FINAL_WITHIN = re.compile(r"\b(?P<before>)Final Answer(?P<after>):")
_INPUT_WORDS = r"Action[ \t]*+\d*+[ \t]*+Input[ \t]*+\d*+"
_INPUT = _label_pattern(_INPUT_WORDS)
_INPUT_BEHIND = re.compile(rf"(?P<before>){_INPUT_WORDS}(?P<after>[ \t*_]*+)[:\uff1a](?:\*\*|__)?", re.IGNORECASE)
_NAME = (
    r"(?>(?:[ \t]*+\n\s*+(?!(?:Action|Observation|Thought|Final Answer)\b))?)"
    rf"(?P<name>(?>(?:(?!{_INPUT_WORDS}[ \t*_]*+[:\uff1a])[^\n])*))"
)
"""The rest of the line, up to an input on the same one; the line below where nothing follows the label."""

_ACTION = re.compile(_label_pattern(r"Action[ \t]*+\d*+").pattern + _NAME, re.IGNORECASE | re.MULTILINE)
_ACTION_WITHIN = re.compile(r"\bAction[ \t]*+\d*+:" + _NAME)
_OBSERVATION = _label_pattern("Observation")
_THOUGHT = _label_pattern("Thought")
_FENCE = re.compile(r"[ \t]*+(?P<mark>`{3,}+|~{3,}+)(?P<info>[^\n]*+)")
_FENCE_MARK = re.compile("`{3,}+")


@dataclass(frozen=True, kw_only=True)
class Action:
    """A request to call one tool."""

    tool: str
    args: PlainDict | str
    call_id: str | None = None
    """The id of a native tool call; None in the text protocol."""


@dataclass(frozen=True, kw_only=True)
class Actions:
    """A reply that requests tool calls."""

    actions: tuple[Action, ...]
    thought: str
    text: str
    """The reply without any observations the model invented."""


@dataclass(kw_only=True)
class FinalAnswer:
    """A reply that is the answer."""

    output: str
    thought: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Malformed:
    """A reply that is neither; `error` is the key of the prompt that explains the problem to the model."""

    error: str
    text: str


def reply_text(content: Content) -> str:
    """Return the text in a message's content."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") == "text":
            texts.append(str(block.get("text", "")))
    return "".join(texts)


def parse_reply(reply: Reply, *, tools_offered: bool, natively: bool = False) -> Actions | FinalAnswer | Malformed:
    """Parse a reply into tool calls, a final answer, or neither.

    Args:
        reply: the reply.
        tools_offered: whether the request offered any tools.
        natively: whether they were offered as native tool calls; a thought without an action is then an answer.
    """
    text = reply_text(reply["content"])
    if reply["tool_calls"]:
        native = tuple(Action(tool=call["name"], args=call["args"], call_id=call["id"]) for call in reply["tool_calls"])
        return Actions(actions=native, thought=_thought(text), text=text)
    if not text.strip():
        return Malformed(error="empty_reply", text=text)
    final, action = _FINAL.search(text), _ACTION.search(text) if tools_offered else None
    if final and (action is None or final.start() < action.start()):
        return FinalAnswer(output=_answer(final), thought=_thought(text[: final.start()]), text=text)
    if action:
        return _actions(text, action)
    if not natively and (within := _within_a_line(text, tools_offered=tools_offered)):
        return within
    if tools_offered and not natively and _THOUGHT.match(text.lstrip()):
        return Malformed(error="thought_only", text=text)
    return FinalAnswer(output=text.strip(), thought="", text=text)


def calls_in_text(reply: Reply) -> bool:
    """Whether a reply writes a call of a tool, with its input, though no tools were offered; the model is then told so."""
    text = reply_text(reply["content"])
    action = _ACTION.search(text)
    return action is not None and _INPUT.search(text, action.end()) is not None


def _within_a_line(text: str, *, tools_offered: bool) -> Actions | FinalAnswer | Malformed | None:
    """Parse a reply whose labels follow other words on their line; an action counts only with its input."""
    action = _ACTION_WITHIN.search(text) if tools_offered else None
    if action and (_INPUT_BEHIND.match(text, action.end()) or _INPUT.search(text, action.end())):
        return _actions(text, action)
    if final := _FINAL_WITHIN.search(text):
        return FinalAnswer(output=_answer(final), thought=_thought(text[: final.start()]), text=text)
    return None


_WRITTEN = re.compile(r"<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=|```|[{\[]")
_MARKS = re.compile(r"</?tool_call>|\[TOOL_CALLS\]|<\|\w+\|>|```(?:json)?")
_FUNCTION = re.compile(r"<function=([^>\s]+)>((?:(?!<function=).)*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?((?:(?!<parameter=).)*?)\n?</parameter>", re.DOTALL)


def written_calls(text: str) -> Actions | None:
    """Return the native tool calls at the end of a text, where a server passes on what a local model wrote; else None."""
    start = _WRITTEN.search(text)
    if start is None or (start[0][0] in "{[`" and text[: start.start()].strip() and start[0] != "[TOOL_CALLS]"):
        return None
    written = _MARKS.sub(" ", text[start.start() :])
    actions: list[Action | None] = []
    while written := written.strip(" \n\r\t;,"):
        if function := _FUNCTION.match(written):
            args: object = dict(_PARAMETER.findall(function[2])) or extract_json(function[2]) or {}
            actions.append(_written_call({"name": function[1], "arguments": args}))
            written = written[function.end() :]
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(written)
        except (RecursionError, ValueError):
            return None
        actions += [_written_call(call) for call in (value if is_list(value) else [value])]
        written = written[end:]
    found = tuple(action for action in actions if action)
    complete = bool(found) and len(found) == len(actions)
    return Actions(actions=found, thought=text[: start.start()].strip(), text=text) if complete else None


def _written_call(value: object) -> Action | None:
    call: Any = value.get("function", value) if is_object(value) else {}
    args: object = call.get("arguments", call.get("parameters")) if is_object(call) else None
    name: object = call.get("name") if is_object(call) else None
    return (
        Action(tool=name, args=args) if isinstance(name, str) and (isinstance(args, str) or is_object(args)) else None
    )


def final_text(reply: Reply) -> str:
    """Return the answer in a reply that had to be the last one, whatever its form."""
    parsed = parse_reply(reply, tools_offered=False)
    if isinstance(parsed, FinalAnswer):
        return parsed.output
    return parsed.text.strip()


def _actions(text: str, first: re.Match[str]) -> Actions | Malformed:
    invented = _OBSERVATION.search(text, first.end())
    own_text = text[: invented.start()].rstrip() if invented else text.rstrip()
    starts = [first, *_ACTION.finditer(own_text, first.end())]
    actions: list[Action] = []
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        stop = _action_end(own_text, start.end(), after.start() if after else len(own_text))
        label = _INPUT_BEHIND.match(own_text, start.end(), stop) or _INPUT.search(own_text, start.end(), stop)
        args = _clean_input(_labelled(label, own_text[label.end() : stop])) if label else ""
        actions.append(Action(tool=_tool_name(start["name"]), args=args))
    if not all(action.tool for action in actions):
        return Malformed(error="no_action_name", text=own_text)
    return Actions(actions=tuple(actions), thought=_thought(own_text[: first.start()]), text=own_text)


def _action_end(text: str, start: int, stop: int) -> int:
    """Return where an action's text ends: at the next thought, or at an answer invented after it."""
    ends = [m.start() for m in (_THOUGHT.search(text, start, stop), _FINAL.search(text, start, stop)) if m]
    return min(ends, default=stop)


def _clean_input(text: str) -> str:
    text = text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    return text


def _tool_name(text: str) -> str:
    return text.strip(" \t\r*\u3000").strip("`\"'[]")


def _thought(text: str) -> str:
    label = _THOUGHT.search(text)
    return text.strip() if label is None else (text[: label.start()] + _labelled(label, text[label.end() :])).strip()


def _answer(label: re.Match[str]) -> str:
    return _without_stray_fence(_labelled(label, label.string[label.end() :]))


def _labelled(label: re.Match[str], text: str) -> str:
    """Return the text after a label, without closing markup whose opening part precedes the label, as in `**Thought:** why`."""
    text = text.strip()
    opened = label["before"][len(label["before"].rstrip("*_")) :]
    closing = opened[::-1]
    if not opened or label["after"].strip() == closing:
        return text
    if text.startswith(closing):
        return text.removeprefix(closing).lstrip()
    return text.removesuffix(closing).rstrip() if text.count(closing) % 2 else text


def _without_stray_fence(answer: str) -> str:
    """Return an answer without an unmatched code fence at its end, whose opening fence precedes the answer."""
    if not answer.endswith("```"):
        return answer
    *lines, last = answer.splitlines()
    if _opens_block(lines) or len(_FENCE_MARK.findall(last)) % 2 == 0:
        return answer
    return answer.rstrip("`").rstrip()


def _opens_block(lines: Iterable[str]) -> bool:
    """Whether these lines of Markdown end inside a block of code."""
    opened = ""
    for line in lines:
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not opened:
            opened = "" if "`" in fence["info"] else fence["mark"]
        elif fence["mark"].startswith(opened) and not fence["info"].strip():
            opened = ""
    return bool(opened)


FINAL_ANSWER_ACTION = "Final Answer:"
"""The label of an answer in the text protocol."""


class OutputParserError(OutputInvalid):
    """A reply is neither an action nor an answer."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error
        """The reason."""


def parse(text: str) -> AgentAction | AgentFinish:
    """Parse a reply of the text protocol into its first action, or its answer.

    Raises:
        OutputParserError: the reply is neither.
    """
    parsed = parse_reply({"content": text, "tool_calls": [], "usage": None, "extra": {}}, tools_offered=True)
    if isinstance(parsed, Actions):
        first = parsed.actions[0]
        args = first.args if isinstance(first.args, str) else json.dumps(first.args, ensure_ascii=False)
        return AgentAction(thought=parsed.thought, tool=first.tool, tool_input=args, text=parsed.text)
    if isinstance(parsed, FinalAnswer) and parsed.output != text.strip():
        return AgentFinish(thought=parsed.thought, output=parsed.output, text=parsed.text)
    raise OutputParserError(
        f"the reply {text[:200]!r} holds neither `Action:` with `Action Input:`, nor `Final Answer:`. Ask the model to write "
        "one of them."
    )
