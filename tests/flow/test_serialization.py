# pyright: basic
"""Serialization of values in checkpoints: plain data that is restored to the original objects."""

import datetime as dates
import enum
import json
import pathlib
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from modes import Mode
from pydantic import BaseModel, ConfigDict, Field

from crewgraph.compiler.flow.record import Classes, classes_of, from_record, to_record
from crewgraph.errors import StorageError
from crewgraph.flow import Flow, listen, persist, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from . import same_class_name
from .parts import kickoff, resume


class Colour(enum.Enum):
    RED = "red"
    PAIR = ("a", 1)


class Size(enum.IntEnum):
    SMALL = 1


class Word(enum.StrEnum):
    YES = "yes"


@dataclass
class Point:
    x: int
    y: int = 0
    inside: "Point | None" = None


@dataclass(frozen=True)
class Counted:
    names: tuple[str, ...]
    count: int = field(init=False, default=0)


class Leaf(BaseModel):
    name: str
    when: dates.date | None = None


class Tree(BaseModel):
    leaves: list[Leaf] = []
    by_name: dict[str, Leaf] = {}
    point: Point | None = None
    colour: Colour = Colour.RED


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: int = 0


class Aliased(BaseModel):
    inner: int = Field(alias="outer")


class Secret(BaseModel):
    """A class that no flow's table names."""

    name: str = ""


TABLE: dict[str, type[Any]] = {
    kind.__qualname__: kind for kind in (Colour, Size, Word, Point, Counted, Leaf, Tree, Open, Aliased)
}


def again(value: Any) -> Any:
    """A value that has been in a checkpoint."""
    plain = to_record(value, "here")
    assert json.loads(json.dumps(plain)) == plain
    return from_record(ormsgpack.unpackb(ormsgpack.packb(plain)), TABLE)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        "text",
        "",
        "half \ud800 of a pair",
        {"\udfff": "\ud800\udfff"},
        [],
        {},
        1 << 63,
        1 << 64,
        1 << 200,
        -(1 << 63),
        -(1 << 63) - 1,
        b"",
        b"\x00\xff",
        (1, 2),
        (),
        {1, 2},
        frozenset({"a"}),
        [(1, [2, {3}])],
        {"a": {"b": [1]}},
        {1: "int", None: "none", False: "bool"} | {(1, 2): "tuple", frozenset({3}): "set", 1.5: "float"},
        {dates.date(2024, 1, 2): 1, Colour.RED: 2},
        {"$type": "set", "$value": [1]},
        {"$type": "Leaf"},
        {"$gone": ["a"]},
        {"$": {"$$": 1}, "plain": 2},
        [{"$type": "dict", "$value": [["a", 1]]}],
        dates.datetime(2024, 1, 2, 3, 4, 5, 6),
        dates.datetime(2024, 1, 2, 3, 4, tzinfo=dates.UTC),
        dates.datetime(2024, 1, 2, tzinfo=dates.timezone(dates.timedelta(hours=-3, minutes=-30))),
        dates.date(2024, 2, 29),
        dates.time(23, 59, 59, 999999),
        dates.timedelta(days=-1, microseconds=1),
        dates.timedelta(days=3000, seconds=5),
        uuid.UUID(int=7),
        Decimal("1.10"),
        Decimal("-0E-7"),
        Decimal("Infinity"),
        Colour.RED,
        Colour.PAIR,
        Size.SMALL,
        Word.YES,
        Point(1),
        Point(1, 2, Point(3)),
        [Point(1), {"p": Point(2)}],
        Leaf(name="l"),
        Leaf(name="l", when=dates.date(2024, 1, 1)),
        Tree(leaves=[Leaf(name="a")], by_name={"$b": Leaf(name="b")}, point=Point(1), colour=Colour.PAIR),
        Open(known=1, other=Leaf(name="x")),  # pyright: ignore[reportCallIssue]
        Aliased(outer=3),
        Counted(("a", "b")),
    ],
    ids=lambda value: f"{type(value).__name__}-{value!r:.40}",
)
def test_a_value_comes_back_as_what_it_was(value: Any):
    found = again(value)
    assert found == value
    assert type(found) is type(value)


def test_a_number_of_more_digits_than_python_prints_comes_back(mode: Mode):
    large = 10**5000

    @persist
    class Counting(Flow):
        @start()
        def count(self):
            self.state["count"] = {"all": [large, -large]}
            return large

        @listen(count)
        def fail(self):
            if not repaired:
                raise OSError

    repaired: list[bool] = []
    flow = Counting()
    with pytest.raises(OSError):
        kickoff(mode, flow)
    repaired.append(True)
    again = Counting()
    resume(mode, again, flow.flow_id)
    assert again.state["count"] == {"all": [large, -large]}


def test_what_a_model_holds_beyond_its_fields_comes_back_too():
    leaf = Leaf(name="l")
    object.__setattr__(leaf, "id", "given")
    assert again(leaf).id == "given"


def test_fields_with_values_of_other_types_are_restored_as_they_were_with_a_warning():
    leaf = Leaf(name="l")
    leaf.name = 7  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.warns(UserWarning, match=r"a stored `Leaf` does not fit its class \(Input should be a valid string\)"):
        assert from_record(to_record(leaf, "here"), TABLE) == leaf


def test_what_is_alike_becomes_the_plain_form():
    class Text(str):
        pass

    assert to_record(pathlib.PurePosixPath("/a/b"), "here") == "/a/b"
    assert type(to_record(Text("a"), "here")) is str
    assert to_record(OrderedDict(a=1), "here") == {"a": 1}


_plain = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters()),
        st.binary(max_size=20),
        st.dates(),
        st.datetimes(),
        st.times(),
        st.timedeltas(),
        st.uuids(),
        st.decimals(allow_nan=False),
        st.sampled_from([Colour.RED, Colour.PAIR, Size.SMALL, Word.YES]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.dates())), inner, max_size=4),
        st.sets(st.one_of(st.integers(), st.text(), st.dates()), max_size=4),
        st.builds(lambda name, when: Leaf(name=name, when=when), st.text(), st.none() | st.dates()),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(_plain)
def test_any_value_comes_back_as_what_it_was(value: Any):
    assert again(value) == value


# What cannot be kept


class Connection:
    pass


@pytest.mark.parametrize("value", [Connection(), {"a": [Connection()]}, Point(1, Connection()), {1: {2: Connection()}}])  # pyright: ignore[reportArgumentType]
def test_what_cannot_be_kept_is_an_error_that_names_the_place_and_the_class(value: Any):
    with pytest.raises(
        StorageError, match="`client` in the state of flow `F` holds a `Connection`, which cannot be stored"
    ):
        to_record(value, "`client` in the state of flow `F`")


def test_what_contains_itself_is_an_error():
    value: list[Any] = []
    value.append(value)
    with pytest.raises(StorageError, match="here holds data that is nested more than 200 deep, or contains itself"):
        to_record(value, "here")


def test_a_state_that_cannot_be_kept_stops_a_kept_flow_and_names_the_field(mode: Mode):
    @persist
    class Keeping(Flow):
        @start()
        def begin(self):
            self.state["client"] = Connection()

    with pytest.raises(StorageError, match="`client` in the state of flow `Keeping` holds a `Connection`"):
        kickoff(mode, Keeping())


def test_a_result_that_cannot_be_kept_names_the_method(mode: Mode):
    @persist
    class Keeping(Flow):
        @start()
        def begin(self):
            return Connection()

        @listen(begin)
        def then(self, given):
            pass

    with pytest.raises(StorageError, match="the result of method `begin` of flow `Keeping` holds a `Connection`"):
        kickoff(mode, Keeping())


def test_flows_that_are_not_kept_hold_whatever_they_like(mode: Mode):
    class Free(Flow):
        @start()
        def begin(self):
            self.state["client"] = Connection()
            return self.state["client"]

        @listen(begin)
        def then(self, given):
            return given is self.state["client"]

    assert kickoff(mode, Free()) is True


# Which classes


class Held(BaseModel):
    leaf: Leaf | None = None


class Holding(Flow[Held]):
    @start()
    def begin(self) -> Point:
        return Point(1)


def test_classes_are_those_that_the_flow_knows():
    found = classes_of(Holding.topology(), Holding, Held)
    assert {found.get(name) for name in ("Held", "Leaf", "Point", "Colour")} == {Held, Leaf, Point, Colour}
    assert found.get(Flow.__name__) is None
    assert found.get("Connection") is None


def test_classes_of_a_function_around_the_flow_are_known_too():
    class Local(BaseModel):
        n: int = 1

    class Here(Flow):
        @start()
        def begin(self):
            return Local(n=2)

    found = classes_of(Here.topology(), Here, None)
    assert from_record(to_record(Local(n=3), "here"), found) == Local(n=3)


def test_a_class_that_is_not_in_the_table_comes_as_its_fields():
    assert from_record(to_record(Secret(name="s"), "here"), TABLE) == {"name": "s"}
    assert from_record({"$type": "os.system", "$value": "rm"}, TABLE) == "rm"
    assert from_record({"$type": "Popen", "$value": {"args": ["rm"]}}, TABLE) == {"args": ["rm"]}


# Classes of one name


class Fish(BaseModel):
    length: str = ""


broken: list[str] = []


def test_of_two_classes_with_one_name_each_comes_back_as_itself(mode: Mode, tmp_path: pathlib.Path):
    kinds = (Fish, same_class_name.Fish)

    class Catching(Flow):
        @start()
        def begin(self):
            self.state["fish"] = [kinds[0](length="long"), kinds[1](length=1)]

        @listen(begin)
        def tell(self, theirs: same_class_name.Fish | None = None):
            if broken:
                raise ConnectionError("torn")
            return self.state["fish"]

    broken.append("net")
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        flow = Catching(checkpointer=saver)
        with pytest.raises(ConnectionError):
            kickoff(mode, flow)
        broken.clear()
        fish = resume(mode, Catching(checkpointer=saver), flow.flow_id)
    assert [type(one) for one in fish] == [Fish, same_class_name.Fish]
    assert fish == [Fish(length="long"), same_class_name.Fish(length=1)]


def test_a_name_that_has_become_ambiguous_is_an_error():
    plain = to_record(Fish(length="long"), "here", Classes([Fish]).tag)
    assert from_record(plain, Classes([Fish])) == Fish(length="long")
    with pytest.raises(
        StorageError,
        match=r"holds a `Fish`, and the flow has several .*test_serialization.Fish`, `.*same_class_name.Fish`",
    ):
        from_record(plain, Classes([Fish, same_class_name.Fish]))
    both = Classes([Fish, same_class_name.Fish])
    assert from_record(
        to_record(same_class_name.Fish(length=2), "here", both.tag), Classes([same_class_name.Fish])
    ) == same_class_name.Fish(length=2)
    assert from_record(to_record(same_class_name.Fish(length=2), "here", both.tag), Classes([Fish])) == {"length": 2}


def test_a_class_may_be_called_as_a_builtin_one_is():
    named = type("set", (BaseModel,), {"__module__": __name__, "__annotations__": {"n": int}})
    classes = Classes([named])
    value = named(n=1)
    assert from_record(to_record(value, "here", classes.tag), classes) == value
