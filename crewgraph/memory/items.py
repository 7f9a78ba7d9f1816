"""What memories are given to keep.

Entities found in a text by rule, where no model finds them.
"""

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["EntityMemoryItem", "ExternalMemoryItem", "LongTermMemoryItem", "ShortTermMemoryItem", "entities_in"]


class ShortTermMemoryItem:
    """Something that was found out in a run."""

    def __init__(self, data: Any, agent: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.data, self.agent = data, agent
        self.metadata: dict[str, Any] = {} if metadata is None else metadata


class LongTermMemoryItem:
    """How well a task was done.

    Args:
        agent: the role of who did it.
        task: its description.
        expected_output: what was expected of it.
        datetime: when, in seconds since 1970, as a text.
        quality: from 0 to 10; None where nobody judged it.
        metadata: what else is known; `suggestions` are told to whoever does such a task again.
    """

    def __init__(
        self,
        agent: str,
        task: str,
        expected_output: str,
        datetime: str,
        quality: int | float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.task, self.agent, self.quality = task, agent, quality
        self.datetime, self.expected_output = datetime, expected_output
        self.metadata: dict[str, Any] = {} if metadata is None else metadata


class EntityMemoryItem:
    """Somebody or something that was met.

    Args:
        name: what it is called.
        type: what it is: a person, a place ...
        description: what was found out about it.
        relationships: how it stands to others.
    """

    def __init__(self, name: str, type: str, description: str, relationships: str) -> None:
        self.name, self.type, self.description = name, type, description
        self.metadata: dict[str, Any] = {"relationships": relationships}


class ExternalMemoryItem:
    """Something for a memory that lives elsewhere."""

    def __init__(self, value: Any, metadata: dict[str, Any] | None = None, agent: str | None = None) -> None:
        self.value, self.metadata, self.agent = value, metadata, agent


_MOST = 20
_DESCRIBED = 200
_LONGEST_NAME = 60

_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„\n]{2,60})[”\"»“]|[「『]([^」』\n]{1,60})[」』]")
_TITLE = re.compile(r"《([^》\n]{1,60})》")
_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = re.compile(rf"\b{_WORD}(?:[ \t]+(?:(?:of[ \t]+the|of|de|da|van|von)[ \t]+)?{_WORD})*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_COMMON = (
    "a about after all also although an and any are as at because before both but by can did do does each "
    "even every final first for from given had has have he her here his how however i if in into is it "
    "its last many may more most my next no not note now of on once one only or other our overall over "
    "please second she should since so some such summary than that the their them then there therefore "
    "these they third this those though thus to two under until up use used was we were what when where "
    "whether which while who why will with would yes yet you your"
)
_FIRST_WORDS = frozenset(_COMMON.split())


def entities_in(text: str, most: int = _MOST) -> list[EntityMemoryItem]:
    """Names and quoted terms in a text, each with the sentence that it first stands in.

    The rule: words that begin with a capital letter within a sentence, several in a row being one name; what stands in
    quotation marks; titles in 《》. Languages without capital letters give only what is marked.

    Args:
        text: the text.
        most: at most so many, the first.
    """
    found: dict[str, EntityMemoryItem] = {}
    for sentence in filter(None, (one.strip() for one in _SENTENCE.split(text))):
        for name, kind in _named(sentence):
            if name.casefold() not in found:
                found[name.casefold()] = EntityMemoryItem(name, kind, _short(sentence), "")
            if len(found) == most:
                return list(found.values())
    return list(found.values())


def _named(sentence: str) -> Iterator[tuple[str, str]]:
    rest = sentence
    for pattern, kind in ((_TITLE, "title"), (_QUOTED, "term")):
        for match in pattern.finditer(sentence):
            yield next(filter(None, match.groups())).strip(), kind
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    for match in _NAME.finditer(rest):
        name = _without_first_word(match[0], rest[: match.start()])
        if name and len(name) <= _LONGEST_NAME:
            yield name, "name"


def _without_first_word(name: str, before: str) -> str:
    """A name without the capital letter that only begins a sentence, or an item of a list."""
    words = name.split()
    at_start = not re.sub(r"[\W\d_]+", "", before)
    while words and words[0].casefold() in _FIRST_WORDS:
        words.pop(0)
    if not words or (len(words) == 1 and at_start and len(words) == len(name.split()) and not words[0].isupper()):
        return ""  # any word stands so at the beginning
    return " ".join(words) if len(words) > 1 or len(words[0]) > 1 else ""


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= _DESCRIBED else f"{sentence[: _DESCRIBED - 1]}…"
