"""The items that memories save, and rule-based extraction of entities from a text."""

import re
from collections.abc import Iterator
from itertools import dropwhile

from crewgraph.schema import Metadata


class LongTermMemoryItem:
    """A record of how well a task was done.

    Args:
        agent: the agent's role.
        task: the task's description.
        expected_output: the expected output.
        datetime: seconds since 1970, as text.
        quality: from 0 to 10; None if it was not evaluated.
        metadata: further data; `suggestions` are passed to agents that do the task again.
    """

    def __init__(
        self,
        agent: str,
        task: str,
        expected_output: str,
        datetime: str,
        quality: int | float | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.task, self.agent, self.quality = task, agent, quality
        self.datetime, self.expected_output = datetime, expected_output
        self.metadata: Metadata = {} if metadata is None else metadata


class EntityMemoryItem:
    """A person, place or thing.

    Args:
        name: its name.
        type: its type: a person, a place ...
        description: its description.
        relationships: its relations to others.
    """

    def __init__(self, name: str, type: str, description: str, relationships: str) -> None:
        self.name, self.type, self.description = name, type, description
        self.metadata: Metadata = {"relationships": relationships}


_MAX_ENTITIES = 20
_MAX_DESCRIPTION = 200
_MAX_NAME_LENGTH = 60

_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„\n]{2,60})[”\"»“]|[「『]([^」』\n]{1,60})[」』]")
_TITLE = re.compile(r"《([^》\n]{1,60})》")
_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = re.compile(rf"\b{_WORD}(?:[ \t]+(?:(?:of[ \t]+the|of|de|da|van|von)[ \t]+)?{_WORD})*")
_LETTER = re.compile(r"[^\W\d_]")
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


def extract_entities(text: str, most: int = _MAX_ENTITIES) -> list[EntityMemoryItem]:
    """Names and quoted terms in a text, each with the first sentence that contains it.

    The rules: capitalized words within a sentence, where a sequence is one name; text in quotation marks; titles in 《》. In
    languages without capital letters only the latter two apply.

    Args:
        text: the text.
        most: the maximum number of entities.
    """
    entities: dict[str, EntityMemoryItem] = {}
    for sentence in filter(None, (part.strip() for part in _SENTENCE.split(text))):
        for name, kind in _names_in(sentence):
            if name.casefold() not in entities:
                entities[name.casefold()] = EntityMemoryItem(name, kind, _shortened(sentence), "")
            if len(entities) == most:
                return list(entities.values())
    return list(entities.values())


def _names_in(sentence: str) -> Iterator[tuple[str, str]]:
    rest = sentence
    for pattern, kind in ((_TITLE, "title"), (_QUOTED, "term")):
        for match in pattern.finditer(sentence):
            yield next(filter(None, match.groups())).strip(), kind
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    first_letter = _LETTER.search(rest)
    for match in _NAME.finditer(rest):
        at_start = first_letter is None or first_letter.start() >= match.start()
        name = _without_first_word(match[0], at_start)
        if name and len(name) <= _MAX_NAME_LENGTH:
            yield name, "name"


def _without_first_word(name: str, at_start: bool) -> str:
    """A name without the capitalized word that merely starts a sentence or a list item."""
    all_words = name.split()
    words = list(dropwhile(lambda word: word.casefold() in _FIRST_WORDS, all_words))
    if not words or (len(words) == 1 and at_start and len(words) == len(all_words) and not words[0].isupper()):
        return ""  # any word stands so at the beginning
    return " ".join(words) if len(words) > 1 or len(words[0]) > 1 else ""


def _shortened(sentence: str) -> str:
    return sentence if len(sentence) <= _MAX_DESCRIPTION else f"{sentence[: _MAX_DESCRIPTION - 1]}…"
