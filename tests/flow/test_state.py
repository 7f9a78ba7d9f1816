"""Mutable states: validated against their model, and stored with the method that changed them."""

import asyncio
import copy
import json
import pickle  # noqa: TID251 - users may
import warnings
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator
from waiting import wait_until

from crewgraph.definitions.flow.state import StateDict
from crewgraph.errors import DefinitionError, RunError, StorageError
from crewgraph.flow import Flow, and_, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import kickoff, resume


class Colour(Enum):
    RED = "red"


class Item(BaseModel):
    n: int = 0
    _seen: int = PrivateAttr(default=0)


@dataclass
class Box:
    weights: list[int] = field(default_factory=list[int])


class Basket(BaseModel):
    n: int = 0
    part: float = 0.5
    names: list[str] = []
    numbers: list[int] = []
    item: Item = Item()
    items: list[Item] = []
    box: Box = Box()
    colour: Colour = Colour.RED
    positive: int = Field(default=1, gt=0)
    always: list[int] = Field(default=[], frozen=True)


def put_text(state: Any) -> None:
    state.n = "many"


def append_number(state: Any) -> None:
    state.names.append(7)


def break_item(state: Any) -> None:
    state.item.n = "many"


def break_an_item(state: Any) -> None:
    state.items.append(Item())
    state.items[-1].n = "many"


def break_box(state: Any) -> None:
    state.box.weights.append("heavy")


def go_below(state: Any) -> None:
    state.positive = 0


TOLD = [
    (append_number, "`names` of `Basket` is [7]: Input should be a valid string"),
    (put_text, "`n` of `Basket` is 'many': Input should be a valid integer"),
    (go_below, "`positive` of `Basket` is 0: Input should be greater than 0"),
]
UNSEEN = [break_item, break_an_item, break_box]
"""Pydantic takes objects as they are."""


class Filling(Flow[Basket]):
    change: Any = None

    @start()
    def begin(self) -> None:
        self.state.n = 1

    @listen(begin)
    def fill(self) -> str:
        type(self).change(self.state)
        return "filled"

    @listen(fill)
    def after(self) -> int:
        return self.state.n


def test_a_value_of_another_type_is_kept_and_told_and_survives_a_resume(
    mode: Mode, saver: SqliteCheckpointer, monkeypatch: pytest.MonkeyPatch
):
    for change, told in [*TOLD, *((change, "") for change in UNSEEN)]:
        wanted = Basket()
        change(wanted)
        died: list[str] = []

        class Dying(Filling):
            @listen("fill")
            def after(self, change: Any = change, died: list[str] = died) -> Any:
                if not died:
                    died.append("once")
                    raise ConnectionError("after")
                return to_comparable(self.state)

        monkeypatch.setattr(Filling, "change", staticmethod(change))
        flow = Dying(checkpointer=saver)
        with warnings.catch_warnings(record=True) as heard, pytest.raises(ConnectionError):
            warnings.simplefilter("always")
            kickoff(mode, flow)
        messages = [str(warning.message) for warning in heard]
        assert any(told in message for message in messages) is bool(told) or not told, (change, messages)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted.n = "many" if change is put_text else 1  # pyright: ignore[reportAttributeAccessIssue]
            assert resume(mode, Dying(checkpointer=saver), flow.flow_id) == to_comparable(wanted), change


def to_comparable(state: Basket) -> Any:
    return [state.n, state.names, state.item.n, [item.n for item in state.items], state.box, state.positive]


def test_where_nothing_is_kept_fields_that_are_set_are_told(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Filling, "change", staticmethod(put_text))
    with pytest.warns(UserWarning, match="flow `Filling` has a value of another type, which is kept: `n` of `Basket`"):
        assert kickoff(mode, Filling(checkpointer=False)) == "many"


def test_what_could_be_read_as_the_right_type_is_kept_too(mode: Mode, saver: SqliteCheckpointer):
    class Loose(Flow[Basket]):
        @start()
        def put(self) -> None:
            state: Any = self.state
            state.n, state.part = "5", 1

        @listen(put)
        def reported(self) -> Any:
            return [self.state.n, self.state.part]

    for checkpointer in (saver, False):
        with pytest.warns(UserWarning, match="`n` of `Basket` is '5': it stands for 5"):
            assert kickoff(mode, Loose(checkpointer=checkpointer)) == ["5", 1]


def test_what_cannot_be_stored_fails_at_the_save(mode: Mode, saver: SqliteCheckpointer):
    class Lock(Flow[Basket]):
        @start()
        def put(self) -> None:
            self.state.n = object()  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(StorageError, match="`n` in the state of flow `Lock` holds a `object`, which cannot be stored"):
        kickoff(mode, Lock(checkpointer=saver))


def test_objects_of_classes_that_the_flow_does_not_know_stay_what_they_are(mode: Mode, saver: SqliteCheckpointer):
    class Wide(BaseModel):
        thing: Any = None

    class Putting(Flow[Wide]):
        @start()
        def put(self) -> None:
            self.state.thing = [strange()]

        @listen(put)
        def reported(self) -> str:
            return type(self.state.thing[0]).__qualname__

    assert kickoff(mode, Putting(checkpointer=saver)) == "Strange"


def strange() -> Any:
    return type("Strange", (BaseModel,), {"__module__": "elsewhere", "__annotations__": {"n": int}, "n": 1})()


def test_validators_of_a_model_are_asked_too(mode: Mode, saver: SqliteCheckpointer):
    class Range(BaseModel):
        low: int = 0
        high: int = 1

        @model_validator(mode="after")
        def ordered(self) -> "Range":
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    class Ranging(Flow[Range]):
        @start()
        def put(self) -> None:
            self.state.low, self.state.high = 5, 9

        @listen(put)
        def cross(self) -> None:
            self.state.low = 10

    flow = Ranging(checkpointer=saver)
    with pytest.warns(UserWarning, match="`low` of `Range` is 10: .*low is above high"):
        kickoff(mode, flow)
    assert flow.history()[-1].state["low"] == 10


def has_completed(flow: Flow[Any], method: str) -> bool:
    return method in [step.completed for step in flow.history(flow.flow_id)]


# What others have set


class Both(BaseModel):
    a: int = 0
    b: int = 0
    shared: int = 0
    seen: list[str] = []


dead: list[str] = []


class Beside(Flow[Any]):
    """`slow` begins with a change, and has not ended when `quick` is committed."""

    @start()
    def slow(self) -> None:
        self.put("a", 1)
        self.put("shared", 1)
        wait_until(lambda: has_completed(self, "quick"))
        if dead:
            raise ConnectionError("slow")

    @start()
    def quick(self) -> None:
        wait_until(lambda: self.get("shared"))
        self.put("b", 10)
        self.put("shared", 10)

    @listen(and_(slow, quick))
    def end(self) -> list[int]:
        return [self.get("a"), self.get("b"), self.get("shared")]

    def put(self, name: str, more: int) -> None:
        if isinstance(self.state, StateDict):
            self.state[name] = self.get(name) + more
        else:
            setattr(self.state, name, self.get(name) + more)

    def get(self, name: str) -> int:
        state: Any = self.state
        return int(state.get(name, 0)) if isinstance(state, StateDict) else getattr(state, name)


class BesideInModel(Beside, Flow[Both]):
    initial_state = Both


class BesideInDict(Beside, Flow[dict[str, Any]]):
    initial_state = dict


@pytest.mark.parametrize("kind", [BesideInModel, BesideInDict])
def test_what_a_method_in_flight_has_set_waits_for_it(mode: Mode, saver: SqliteCheckpointer, kind: type[Beside]):
    dead[:] = ["slow"]
    flow = kind(checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, flow)
    state = flow.history()[-1].state
    assert (state.get("a", 0), state["b"]) == (0, 10)
    dead.clear()
    # `shared` is what both have set: it is kept with the first, and `slow` adds to it once more.
    assert resume(mode, kind(checkpointer=saver), flow.flow_id) == [1, 10, 12]


@pytest.mark.parametrize("kind", [BesideInModel, BesideInDict])
def test_what_waited_is_kept_with_its_method(mode: Mode, saver: SqliteCheckpointer, kind: type[Beside]):
    flow = kind(checkpointer=saver)
    assert kickoff(mode, flow) == [1, 10, 11]
    assert flow.history()[-1].state["a"] == 1


class Order(BaseModel):
    id: str = "x"
    order_id: str = Field(default="", alias="orderId")


class Ordering(Flow[Order]):
    @start()
    def read(self) -> str:
        return self.state.order_id


def test_inputs_name_fields_as_the_schema_does_or_as_the_class_does(mode: Mode):
    for name in ("orderId", "order_id"):
        assert kickoff(mode, Ordering(), {name: "7"}) == "7"
        graph: Any = Ordering().compile()
        assert mode.run(graph.invoke, graph.ainvoke, {name: "7"})["output"] == "7"
    assert "orderId" in Ordering().compile().get_input_jsonschema()["properties"]


def test_objects_do_not_share_the_id_that_their_model_gives_all():
    ids = {Ordering().flow_id, Ordering().flow_id, "x"}
    assert len(ids) == 3


def test_a_state_that_is_not_stored_is_none_to_start_from(mode: Mode):
    with pytest.warns(UserWarning, match="no state is stored under `nowhere`; the run starts afresh"):
        assert mode.run(Ordering().kickoff, Ordering().kickoff_async, restore_from_state_id="nowhere") == ""


def test_kickoff_may_be_awaited_where_a_loop_runs():
    async def both() -> list[Any]:
        flow: Any = Ordering()
        return [await flow.kickoff({"orderId": "1"}), Ordering().kickoff({"orderId": "2"})]

    assert asyncio.run(both()) == ["1", "2"]


def test_an_override_of_kickoff_async_is_given_what_the_caller_of_akickoff_gives():
    class Own(Flow[Any]):
        async def kickoff_async(self, inputs: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return inputs

    assert asyncio.run(Own().akickoff({"n": 1})) == {"n": 1}


def test_a_state_may_declare_its_id_without_a_default(mode: Mode):
    class Named(BaseModel):
        id: str
        n: int = 0

    class Plain(Flow[Named]):
        @start()
        def read(self) -> str:
            return self.state.id

    flow = Plain()
    assert kickoff(mode, flow) == flow.flow_id == flow.state.model_dump()["id"]
    assert kickoff(mode, Plain(), {"id": "mine"}) == "mine"


def test_states_are_what_they_seem(mode: Mode, saver: SqliteCheckpointer):
    class Plain(Flow[Both]):
        @start()
        def put(self) -> None:
            self.state.a = 1

    flow = Plain(checkpointer=saver)
    kickoff(mode, flow)
    state = flow.state
    assert type(state) is Both and state.model_dump(exclude={"id"}) == Both(a=1).model_dump()
    assert copy.deepcopy(state) == state and pickle.loads(pickle.dumps(state)) == state
    assert repr(state).startswith("Both(a=1, b=0, shared=0, seen=[]")

    class Loose(Flow[dict[str, Any]]):
        @start()
        def put(self) -> dict[str, Any]:
            self.state.update({"a": 1}, b=2)
            self.state |= {"c": [3]}
            self.state.setdefault("d", []).append(4)
            self.state["e"] = self.state.pop("b")
            return self.state

    other = Loose(checkpointer=saver)
    kickoff(mode, other)
    reported = {"id": other.flow_id, "a": 1, "c": [3], "d": [4], "e": 2}
    found = other.state
    assert (
        isinstance(found, dict)
        and found == reported
        and repr(found) == repr(reported)
        and json.loads(json.dumps(found)) == reported
    )
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found.copy(), {**found}):
        assert type(again) is dict and again == reported
    assert other.history()[-1].state == reported
    found.clear()
    assert found == {} and other.method_outputs[0] is found


def test_a_frozen_model_stays_frozen(mode: Mode, saver: SqliteCheckpointer):
    class Still(BaseModel):
        model_config = ConfigDict(frozen=True)
        names: list[str] = []

    class Standing(Flow[Still]):
        @start()
        def put(self) -> None:
            self.state.names.append("a")

        @listen(put)
        def fail(self) -> None:
            self.state.names = []

    flow = Standing(checkpointer=saver)
    with pytest.raises(ValueError, match="frozen"):
        kickoff(mode, flow)
    assert flow.history()[-1].state["names"] == ["a"]


# Texts that UTF-8 has no bytes for

HALF = "half of a pair: \ud800"


def test_half_a_surrogate_pair_comes_back(mode: Mode, saver: SqliteCheckpointer):
    class Odd(Flow[dict[str, Any]]):
        broken: bool = True

        @start()
        def read(self, reported: str) -> str:
            self.state["text"] = HALF
            self.state["names"] = {HALF: [HALF]}
            return reported + HALF

        @listen(read)
        def write(self, text: str) -> Any:
            if self.broken:
                raise OSError("disk")
            return [text, self.state["text"], self.state["names"]]

    flow = Odd(checkpointer=saver)
    with pytest.raises(OSError, match="disk"):
        kickoff(mode, flow, {"reported": HALF})
    other = Odd(checkpointer=saver)
    other.broken = False
    assert resume(mode, other, flow.flow_id) == [HALF + HALF, HALF, {HALF: [HALF]}]


@pytest.mark.parametrize("name", [HALF, "$gone", 7])
def test_what_is_no_name_of_a_field_is_reported(mode: Mode, saver: SqliteCheckpointer, name: Any):
    class Odd(Flow[dict[str, Any]]):
        @start()
        def read(self) -> None:
            self.state[name] = 1

    with pytest.raises(StorageError, match=r"the state of flow `Odd` has a field ('half of a pair|'\$gone'|7)"):
        kickoff(mode, Odd(checkpointer=saver))


def test_a_flow_that_keeps_nothing_has_nothing_to_continue_with(mode: Mode):
    with pytest.raises(RunError, match="flow `Filling` does not store its runs"):
        resume(mode, Filling(checkpointer=False), "any")


class Outline(BaseModel):
    title: str


class Unchecked(BaseModel):
    outline: Outline = None  # pyright: ignore[reportAssignmentType]  - as programs write it
    notes: list[str] = None  # pyright: ignore[reportAssignmentType]
    count: int = 0


@pytest.mark.parametrize("inputs", [None, {"count": 3}, {"outline": {"title": "Tides"}}])
def test_a_default_that_its_type_forbids_is_no_input(mode: Mode, inputs: dict[str, Any] | None):
    failures = [RuntimeError("once")]

    class Writing(Flow[Unchecked]):
        @start()
        def begin(self) -> None:
            self.state.count += 1

        @listen(begin)
        def end(self) -> Any:
            if failures:
                raise failures.pop()
            return self.state.outline, self.state.notes, self.state.count

    flow = Writing(checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="once"):
        kickoff(mode, flow, inputs)
    outline = Outline(title="Tides") if inputs and "outline" in inputs else None
    again = Writing(checkpointer=flow.checkpointer)
    assert resume(mode, again, flow.flow_id) == (outline, None, 4 if inputs and "count" in inputs else 1)


def test_an_input_that_does_not_fit_is_told_alongside_such_a_default(mode: Mode):
    class Writing(Flow[Unchecked]):
        @start()
        def begin(self) -> None: ...

    with pytest.raises(DefinitionError, match="count"):
        kickoff(mode, Writing(), {"count": "many"})
    with pytest.raises(DefinitionError, match="outline"):
        kickoff(mode, Writing(), {"outline": None})


def test_a_running_flow_refuses_another_state_in_place_of_its_own(mode: Mode):
    class Replacing(Flow[Basket]):
        @start()
        def begin(self) -> None:
            self.state = Basket(n=5)

    flow = Replacing()
    with pytest.raises(AttributeError, match=r"`self\.state` of flow `Replacing` cannot be replaced while it runs"):
        kickoff(mode, flow)
    flow.state = Basket(n=6)
    assert flow.state.n == 6


def test_a_state_without_a_model_says_how_its_fields_are_read():
    class Report(Flow[dict[str, Any]]):
        @start()
        def write(self):
            state: Any = self.state
            return state.topic

    with pytest.raises(AttributeError, match=r"write `state\['topic'\]`, or give the flow a model"):
        Report().kickoff()
