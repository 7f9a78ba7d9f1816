import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
from langgraph.types import Command
from pydantic import BaseModel, SecretStr

from crewgraph.core.plain import NotPlain, plain


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Page(BaseModel):
    url: str
    when: date
    key: SecretStr = SecretStr("hidden")


@dataclass
class Hit:
    page: Page
    scores: tuple[float, ...] = (1.0, 0.5)
    tags: set[str] = field(default_factory=lambda: {"b", "a"})


class Talkative:
    def __str__(self) -> str:
        return "I am text"


class Point(NamedTuple):
    x: int
    y: int


DATA: list[tuple[Any, Any]] = [
    ("text", "text"),
    (None, None),
    (True, True),
    (3, 3),
    (2.5, 2.5),
    ((1, (2,)), [1, [2]]),
    ({"a": {1, 2}, 3: "x", None: 0}, {"a": [1, 2], "3": "x", "None": 0}),
    (OrderedDict(a=deque([1])), {"a": [1]}),
    (range(3), [0, 1, 2]),
    (Point(1, 2), [1, 2]),
    (Colour.RED, "red"),
    ({Colour.RED: Level.HIGH}, {"red": 3}),
    (datetime(2024, 1, 2, 3, tzinfo=UTC), "2024-01-02T03:00:00+00:00"),
    (date(2024, 1, 2), "2024-01-02"),
    (timedelta(hours=1), "1:00:00"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b"), "a/b"),
    (Decimal("1.10"), "1.10"),
    (1 << 70, str(1 << 70)),
    (Talkative(), "I am text"),
    (ValueError("bad"), "bad"),
    ("lone \udce9 half", "lone � half"),
    ("{x.__class__}", "{x.__class__}"),
    ({"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}, {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}),
]


@pytest.mark.parametrize(("value", "data"), DATA)
def test_values_become_plain_data(value: Any, data: Any):
    result = plain(value)
    assert result == data
    assert type(result) is type(data)


def test_models_and_dataclasses_become_dicts_and_keep_secrets():
    assert plain([Hit(Page(url="u", when=date(2024, 1, 2)))]) == [
        {"page": {"url": "u", "when": "2024-01-02", "key": "**********"}, "scores": [1.0, 0.5], "tags": ["a", "b"]}
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"x", "bytes"),
        ({"a": [bytearray(b"x")]}, "bytes"),
        (object(), "an object of type `object`"),
        ((n for n in range(3)), "of type `generator`"),
        (len, "of type `builtin_function_or_method`"),
        (Page, "of type `ModelMetaclass`"),
        ({1: "a", "1": "b"}, "keys that are the same once they are text"),
        (Command(goto="x"), "a LangGraph `Command`"),
    ],
)
def test_what_is_no_data_is_refused_with_what_it_is(value: Any, message: str):
    with pytest.raises(NotPlain, match=message):
        plain(value)
