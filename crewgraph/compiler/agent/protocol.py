"""Reading a model's reply: what it wants done, in native tool calls or in the text protocol, or any mix of both.

The text protocol: `Thought:`, then `Action:` and `Action Input:`, then (from us) `Observation:`; in the end `Final Answer:`.

CrewAI's way to read one reply of the text protocol.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from crewgraph.core.messages import Content, Reply
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.errors import OutputInvalid

__all__ = [
    "FINAL_ANSWER_ACTION",
    "Action",
    "Actions",
    "FinalAnswer",
    "Malformed",
    "OutputParserError",
    "final_text",
    "parse",
    "parse_reply",
    "reply_text",
]


# Possessive repetitions: a model that falls into writing blanks or stars without end is still read in linear time. The
# full-width colon is how models write in Chinese and Japanese.
_FINAL = re.compile(r"^[ \t>*_#]*Final Answer[ \t*_]*+[:\uff1a][ \t*_]*", re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(
    r"^[ \t>*_#]*Action[ \t]*+\d*+[ \t*_]*+[:\uff1a][ \t*_]*+(?P<name>[^\n]*+)", re.IGNORECASE | re.MULTILINE
)
_INPUT = re.compile(
    r"^[ \t>*_#]*Action[ \t]*+\d*+[ \t]*+Input[ \t]*+\d*+[ \t*_]*+[:\uff1a][ \t*_]*", re.IGNORECASE | re.MULTILINE
)
_OBSERVATION = re.compile(r"^[ \t>*_#]*Observation[ \t*_]*+[:\uff1a]", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(r"^[ \t>*_#]*Thought[ \t*_]*+[:\uff1a][ \t*_]*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Action:
    """One wish to use a tool."""

    tool: str
    args: dict[str, Any] | str
    call_id: str | None = None
    """The id of a native call; None in the text protocol."""


@dataclass(frozen=True, kw_only=True)
class Actions:
    """The reply asks for tools."""

    actions: tuple[Action, ...]
    thought: str
    text: str
    """The reply without what the model made up beyond its request."""


@dataclass(frozen=True, kw_only=True)
class FinalAnswer:
    """The reply is the result."""

    output: str
    thought: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Malformed:
    """The reply is neither; `error` is the key of the text that tells the model why."""

    error: str
    text: str


def reply_text(content: Content) -> str:
    """The text in a message's content."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") == "text":
            texts.append(str(block.get("text", "")))
    return "".join(texts)


def parse_reply(reply: Reply, *, tools_offered: bool) -> Actions | FinalAnswer | Malformed:
    """What a reply wants."""
    text = reply_text(reply["content"])
    if reply["tool_calls"]:
        native = tuple(Action(tool=call["name"], args=call["args"], call_id=call["id"]) for call in reply["tool_calls"])
        return Actions(actions=native, thought=_thought(text), text=text)
    if not text.strip():
        return Malformed(error="empty_reply", text=text)
    final, action = _FINAL.search(text), _ACTION.search(text) if tools_offered else None
    if final and (action is None or final.start() < action.start()):
        return FinalAnswer(output=text[final.end() :].strip(), thought=_thought(text[: final.start()]), text=text)
    if action:
        return _actions(text, action)
    if tools_offered and _THOUGHT.match(text.lstrip()):
        return Malformed(error="thought_only", text=text)
    return FinalAnswer(output=text.strip(), thought="", text=text)


def final_text(reply: Reply) -> str:
    """The result in a reply that had to be the last one, whatever its form."""
    wanted = parse_reply(reply, tools_offered=False)
    if isinstance(wanted, FinalAnswer):
        return wanted.output
    return wanted.text.strip()


def _actions(text: str, first: re.Match[str]) -> Actions | Malformed:
    made_up = _OBSERVATION.search(text, first.end())
    kept = text[: made_up.start()].rstrip() if made_up else text.rstrip()
    starts = [first, *_ACTION.finditer(kept, first.end())]
    actions: list[Action] = []
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        stop = _end(kept, start.end(), after.start() if after else len(kept))
        name = start["name"].strip(" \t\r*_").strip().strip("`\"'[]")
        given = _INPUT.search(kept, start.end(), stop)
        actions.append(Action(tool=name, args=_input(kept[given.end() : stop]) if given else ""))
    if not all(action.tool for action in actions):
        return Malformed(error="no_action_name", text=kept)
    return Actions(actions=tuple(actions), thought=_thought(kept[: first.start()]), text=kept)


def _end(text: str, start: int, stop: int) -> int:
    """Where an action's text ends: at the next thought or at an answer made up beyond it."""
    found = [m.start() for m in (_THOUGHT.search(text, start, stop), _FINAL.search(text, start, stop)) if m]
    return min(found, default=stop)


def _input(text: str) -> str:
    text = text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    return text


def _thought(text: str) -> str:
    return _THOUGHT.sub("", text, count=1).strip()


FINAL_ANSWER_ACTION = "Final Answer:"
"""What an answer stands behind."""


class OutputParserError(OutputInvalid):
    """A reply is neither an action nor an answer."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error
        """What is wrong with it."""


def parse(text: str) -> AgentAction | AgentFinish:
    """What a reply wants: its first action, or its answer.

    Raises:
        OutputParserError: it wants neither.
    """
    wanted = parse_reply({"content": text, "tool_calls": [], "usage": None, "extra": {}}, tools_offered=True)
    if isinstance(wanted, Actions):
        first = wanted.actions[0]
        given = first.args if isinstance(first.args, str) else json.dumps(first.args, ensure_ascii=False)
        return AgentAction(thought=wanted.thought, tool=first.tool, tool_input=given, text=wanted.text)
    if isinstance(wanted, FinalAnswer) and wanted.output != text.strip():
        return AgentFinish(thought=wanted.thought, output=wanted.output, text=wanted.text)
    raise OutputParserError(
        f"the reply {text[:200]!r} holds neither `Action:` with `Action Input:`, nor `Final Answer:`. Ask the model to write "
        "one of them."
    )
