"""Annotated attributes of a flow class are fields: each object has its own values."""

from typing import Any, ClassVar

import pytest
from modes import Mode
from pydantic import Field, PrivateAttr

from crewgraph.errors import DefinitionError
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


def test_a_declared_field_without_a_value_is_named():
    class Bounded(Flow[Any]):
        limit: int = Field(gt=0)

        @start()
        def go(self) -> int:
            return self.limit

    with pytest.raises(DefinitionError, match=r"flow `Bounded` needs a value for `limit`: `Bounded\(limit=...\)`"):
        Bounded()
    assert Bounded(limit=2).kickoff() == 2
