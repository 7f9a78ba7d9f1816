"""Reasoning of a model, told apart from its answer where it stands in the text, as local models write it.

What counts is the position. At the beginning of a reply everything between an opening and a closing mark is reasoning, several
times in a row too, and up to the end of the reply if it is not closed. Where the opening mark stood in the model's template,
everything before the first closing mark is reasoning. Once the answer has begun, such marks belong to it; only beside a tool
call, and around the labels of the text protocol before the answer, does a text hold none, so there they are reasoning, too.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from crewgraph.core.messages import Content, Reply
from crewgraph.llm.provider_fields import KEY
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object

_TAGS = "think|thinking|thought|reasoning"
_PAIRS = {
    **{f"<{tag}>": f"</{tag}>" for tag in _TAGS.split("|")},
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
}
"""Opening and closing marks, in lower case."""

_CHANNEL = r"(?:<\|start\|>[^<]*+)?<\|channel\|>(?P<channel>[^<]*+)(?:<\|constrain\|>[^<]*+)?<\|message\|>"
"""The beginning of a part of a reply in the format of gpt-oss."""

_ENDS_CHANNEL = r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)"

_MARK = re.compile(rf"</?(?:{_TAGS})>|<\|channel\|>|\[/?think\]|◁/?think▷", re.IGNORECASE)
_OPENING = re.compile(rf"{'|'.join(map(re.escape, _PAIRS))}|{_CHANNEL}", re.IGNORECASE)
_CLOSING = {  # a mark in backticks is one that the model writes about
    opening: re.compile(rf"(?<!`){re.escape(closing)}|{re.escape(closing)}(?!`)", re.IGNORECASE)
    for opening, closing in _PAIRS.items()
}
_CLOSING_CHANNEL = re.compile(_ENDS_CHANNEL)
_CLOSED = re.compile(rf"(?:{'|'.join(map(re.escape, _PAIRS.values()))}|<\|(?:end|return|call)\|>)\s*\Z", re.IGNORECASE)
_LATE = re.compile(
    rf"(?P<closing>{'|'.join(map(re.escape, _PAIRS.values()))})"
    r"|(?:<\|end\|>)?(?P<final>(?:<\|start\|>[^<]*+)?<\|channel\|>final)",
    re.IGNORECASE,
)
_IN_A_SENTENCE = re.compile(r"['\"`](?:\W|$)|[,.;:)]|[ \t]+\S")
_BLOCK = re.compile(  # an opening mark in backticks is one that the model writes about
    rf"(?<!`)(?:<(?P<tag>{_TAGS})>.*?(?:</(?P=tag)>|\Z)|\[think\].*?(?:\[/think\]|\Z)|◁think▷.*?(?:◁/think▷|\Z)"
    rf"|{_CHANNEL}.*?(?:{_ENDS_CHANNEL}|\Z))\s*+",
    re.IGNORECASE | re.DOTALL,
)
_OPENED = {tag: re.compile(rf"(?<!`)[<\[◁]{tag}\b", re.IGNORECASE) for tag in _TAGS.split("|")}
_FENCE = "```"
_LABEL = re.compile(r"^[ \t>*_#]*(?:Action|Final Answer)[ \t*_]*+[:\uff1a]", re.IGNORECASE | re.MULTILINE)
_LABEL_HERE = re.compile(_LABEL.pattern[1:], re.IGNORECASE)
_LINE_BEGINS = re.compile(r"\W*(?:\w+[ \t]*:\W*)?")
_OPENS_LINE = re.compile(rf"(?:{_OPENING.pattern})[ \t]*+\n", re.IGNORECASE)
_HELD = max(map(len, _PAIRS.values())) + 1
"""How many characters of an unclosed part are held back, as a closing mark may have begun in them."""

_LONGEST_HEADER = 200


class ReasoningSplitter:
    """Splits a reply that arrives in chunks into reasoning and answer.

    A late closing mark comes too late for what was passed on as an answer: see `split_reasoning` for the whole text.
    """

    found: bool = False
    """Whether the reply began with an opening mark."""

    def __init__(self) -> None:
        self._held: str = ""
        self._before: str = ""
        self._closing: re.Pattern[str] | None = None
        self._is_reasoning = self._has_begun = False

    def feed(self, text: str) -> Iterator[tuple[bool, str]]:
        """Take a chunk; yield texts that are complete, each with whether it is reasoning."""
        self._held += text
        return self._split(is_last=False)

    def end(self, text: str = "") -> Iterator[tuple[bool, str]]:
        """Take the last chunk; yield the rest."""
        self._held += text
        return self._split(is_last=True)

    def _split(self, *, is_last: bool) -> Iterator[tuple[bool, str]]:
        while self._held and not self._has_begun:
            if self._closing is None:
                if not self._open(is_last):
                    return
                continue
            text, begin = self._before + self._held, len(self._before)
            match = self._closing.search(text, begin)
            if match is not None and match.end() == len(text) and not is_last:
                match = None  # the next character tells whether the mark is quoted
            inside = text[begin : match.start()] if match else self._held if is_last else self._held[:-_HELD]
            self._before, self._held = (
                inside[-1:] or self._before,
                text[match.end() if match else begin + len(inside) :],
            )
            if match is not None:
                self._before, self._closing = "", None
            if inside:
                yield self._is_reasoning, inside
            if match is None:
                return
        if self._held:
            yield False, self._held
            self._held = ""

    def _open(self, is_last: bool) -> bool:
        """Read an opening mark, or see that the answer begins; return False if more text is needed to tell."""
        begun = self._held.lstrip()
        opening = _OPENING.match(begun)
        if opening is not None:
            channel: str | None = opening["channel"]
            self._closing = _CLOSING_CHANNEL if channel is not None else _CLOSING[opening[0].lower()]
            self._is_reasoning = channel is None or channel.strip().lower() != "final"
            self.found, self._held = True, begun[opening.end() :]
            return True
        if not is_last and _may_open(begun.lower()):
            return False
        self._has_begun = True
        if self.found:
            self._held = begun
        return True


def _may_open(text: str) -> bool:
    """Whether a text may be the beginning of an opening mark."""
    if text.startswith(("<|start|>", "<|channel|>")):
        return len(text) < _LONGEST_HEADER
    return any(mark.startswith(text) for mark in (*_PAIRS, "<|start|>", "<|channel|>"))


def split_reasoning(text: str, *, calls_tools: bool = False) -> tuple[str, str]:
    """Return the reasoning in the text of a reply, and the answer.

    Args:
        text: The whole text.
        calls_tools: Whether the reply has tool calls beside the text, which is no answer then.
    """
    if _MARK.search(text) is None:
        return "", text
    splitter = ReasoningSplitter()
    pieces = list(splitter.end(text))
    if not splitter.found and (late := _late_closing(text)) is not None:
        splitter = ReasoningSplitter()
        splitter.found = True
        start = late.end() if late["closing"] else late.start("final")
        pieces = [(True, text[: late.start()]), *splitter.end(text[start:])]
    reasoning = [piece for is_reasoning, piece in pieces if is_reasoning]
    answer = "".join(piece for is_reasoning, piece in pieces if not is_reasoning)
    answer = _without_blocks(answer, reasoning, calls_tools)
    return "\n".join(filter(None, map(str.strip, reasoning))), answer


def _late_closing(text: str) -> re.Match[str] | None:
    """Return the closing mark of reasoning whose opening mark is not in the text.

    One in a sentence, in code or in JSON is part of an answer, and so is one that closes a mark within the text.
    """
    openings: dict[str, re.Match[str] | None] = {}
    fences = counted = 0
    for mark in _LATE.finditer(text):
        if mark["final"]:
            return mark
        tag, start = mark[0].strip("<>[]◁▷/").lower(), mark.start()
        fences, counted = fences + text.count(_FENCE, counted, start), start
        if tag not in openings:
            openings[tag] = _OPENED[tag].search(text)
        opening = openings[tag]
        if fences % 2 or (opening is not None and opening.start() < start):
            continue
        if text[max(start - 1, 0) : start] in ("'", '"', "`", " ", "\t") and _IN_A_SENTENCE.match(text, mark.end()):
            continue
        return None if _is_json(text) else mark
    return None


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (RecursionError, ValueError):
        return False
    return True


def _without_blocks(text: str, reasoning: list[str], calls_tools: bool) -> str:
    """Return a text without the reasoning that stands where no answer does, which is appended to `reasoning`.

    That is before a label of the text protocol, and where the answer that it announces has not begun. A text beside tool calls
    is no answer anywhere.
    """
    labels = [*_LABEL.finditer(text)]
    starts = [label.start() for label in labels]
    kept: list[str] = []
    label: re.Match[str] | None = None  # the first one in what is kept
    taken = read = 0  # up to here, texts are kept or left out; labels and answers are looked for
    for block in _BLOCK.finditer(text):
        start, end = block.span()
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        if label is None and (known := bisect_left(starts, read)) < first:
            label = labels[known]
            read = label.end()
        is_closed = _CLOSED.search(block[0]) is not None or (block["channel"] is not None and end < len(text))
        line = text[max(taken, text.rfind("\n", taken, start) + 1) : start]
        if calls_tools:
            is_reasoning = True
        elif label is None:
            stands_alone = _LINE_BEGINS.fullmatch(line) or _OPENS_LINE.match(block[0])
            is_reasoning = first < len(starts) and bool(stands_alone or (is_closed and first == last))
        elif "final" in label[0].lower():
            is_reasoning = is_closed and not text[read:start].strip(" \t\r\n*_")
        else:
            is_reasoning = is_closed and first < last
        if not is_reasoning:
            continue
        reasoning.append(block[0].strip())
        if not (is_closed or calls_tools):
            return ""  # what was begun is not to be done
        kept += [text[taken:start], "\n" if line.strip() else ""]
        taken = read = end
        if label is None and (label := _LABEL_HERE.match(text, end)) is not None:
            read = label.end()
    return "".join([*kept, text[taken:]])


def without_reasoning(reply: Reply) -> Reply:
    """Return a reply whose content holds no reasoning; its field `reasoning` has it, for events."""
    content, calls_tools = reply["content"], bool(reply["tool_calls"])
    if isinstance(content, str):
        if not content or _MARK.search(content) is None:
            return reply
        reasoning, answer = split_reasoning(content, calls_tools=calls_tools)
    else:
        reasoning, answer = _split_blocks(content, calls_tools)
    if answer == content:
        return reply
    return {**reply, "content": answer, "reasoning": reasoning}


def _split_blocks(content: Sequence[str | PlainDict], calls_tools: bool) -> tuple[str, Content]:
    for number, block in enumerate(content):
        text = block if isinstance(block, str) else block.get("text")
        if isinstance(text, str) and text.strip():
            reasoning, answer = split_reasoning(text, calls_tools=calls_tools)
            kept = answer if isinstance(block, str) else {**block, "text": answer}
            return reasoning, [*content[:number], *([kept] if answer else []), *content[number + 1 :]]
    return "", list(content)


def message_reasoning(content: object, extra: PlainMapping) -> str:
    """Return the reasoning of a message, or of a chunk of one, that its provider sends apart from the text.

    Args:
        content: The content: a text, or blocks as LangChain's models have them.
        extra: LangChain's `additional_kwargs`, or what a message keeps of them.
    """
    fields: Any = extra.get(KEY)
    parts = fields if is_list(fields) else [fields] if fields else []
    texts = [_reasoning_text(_first_field(part["message"])) for part in parts] or [
        _reasoning_text(extra.get("reasoning_content"))
    ]
    if is_list(content):
        texts += [_reasoning_text(_first_field(block)) for block in content if is_object(block)]
    return "".join(texts)


_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "summary")


def _first_field(fields: PlainMapping) -> object:
    return next((fields[name] for name in _FIELDS if fields.get(name)), None)


def _reasoning_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if is_list(value):
        return "".join(map(_reasoning_text, value))
    if is_object(value):
        return _reasoning_text(value.get("text") or value.get("summary"))
    return ""
