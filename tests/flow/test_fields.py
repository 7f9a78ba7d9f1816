"""Annotated attributes of a flow class are fields: each object has its own values."""

from typing import Any, ClassVar

import pytest
from modes import Mode
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from crewgraph.deprecations import UnknownKeyword
from crewgraph.flow import Flow, start

from .parts import kickoff


class Counted(Flow[dict[str, Any]]):
    kinds: ClassVar[list[str]] = []
    names: list[str] = []
    limit: int = Field(default=3)
    seen: set[str] = Field(default_factory=set[str])
    where: "Nowhere"  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
    _known: dict[str, int] = PrivateAttr(default_factory=dict[str, int])

    @start()
    def add(self) -> Any:
        self.names.append("a")
        self.seen.add("a")
        self._known["a"] = self.limit
        return self.names, self.seen, self._known, self.state.get("topic")


def test_each_object_has_its_own_values_of_the_fields_that_its_class_declares(mode: Mode):
    assert kickoff(mode, Counted()) == (["a"], {"a"}, {"a": 3}, None)
    assert kickoff(mode, Counted(limit=5, names=["b"], topic="rain")) == (["b", "a"], {"a"}, {"a": 5}, "rain")
    assert (Counted().names, Counted.names, Counted.kinds) == ([], [], [])


def test_an_initializer_may_set_declared_fields_before_that_of_the_flow():
    class Filled(Counted):
        def __init__(self, names: list[str]) -> None:
            self.names = names
            super().__init__()

    given = ["x"]
    assert Filled(given).names is given


class Bounded(Flow[Any]):
    limit: int = Field(gt=0)
    port: str = "brest"

    @field_validator("port")
    @classmethod
    def titled(cls, port: str) -> str:
        return port.title()

    @start()
    def go(self) -> Any:
        return self.limit, self.port


class Deep(Bounded):
    port: str = "Cadiz"


@pytest.mark.parametrize(("wrong", "message"), [({}, "Field required"), ({"limit": 0}, "greater than 0")])
def test_values_of_declared_fields_are_validated_as_those_of_models(wrong: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=rf"1 validation error for Bounded\nlimit\n  .*{message}"):
        Bounded(**wrong)
    assert Bounded(limit="2", port="vigo").kickoff() == (2, "Vigo")
    assert Deep(limit=3).kickoff() == (3, "Cadiz")


class Report(BaseModel):
    topic: str = "none"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Reporting(Flow[Report]):
    limit: int = 3

    @start()
    def go(self) -> str:
        return self.state.topic


class Anything(Flow[Open]):
    @start()
    def go(self) -> dict[str, Any]:
        return self.state.model_dump()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"topics": "rain"},
            "`Reporting` has no keyword `topics`, and its state `Report` no such field; it has no effect. ",
        ),
        ({"topics": "rain"}, "Did you mean `topic`"),
        ({"limits": 4}, "Did you mean `limit`"),
        ({"state": Report(topic="rain")}, "`Reporting` has no keyword `state`"),
    ],
)
def test_a_value_for_which_there_is_no_field_is_named_and_has_no_effect(values: dict[str, Any], message: str):
    with pytest.warns(UnknownKeyword, match=message) as caught:
        flow = Reporting(**values)
    assert caught[0].filename == __file__
    assert flow.kickoff() == "none"


def test_a_state_that_takes_any_field_takes_any_value():
    assert Anything(topics="rain").kickoff() == {"topics": "rain"}


def test_the_constructor_sets_the_name_and_the_limit_of_calls_unless_the_state_has_such_a_field():
    class Named(BaseModel):
        name: str = ""

    class Greeting(Flow[Named]):
        @start()
        def go(self) -> str:
            return self.state.name

    flow = Reporting(name="Reports", max_method_calls=2, topic="rain")
    assert (flow.name, flow.flow_name, flow.max_method_calls, flow.kickoff()) == ("Reports", "Reports", 2, "rain")
    greeting = Greeting(name="Ada")
    assert (greeting.flow_name, greeting.kickoff()) == ("Greeting", "Ada")
    assert Counted(name="Counts").flow_name == "Counts"
