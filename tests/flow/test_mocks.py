"""Programs that test their flows with `unittest.mock`: patched methods, on the class and on the object."""

from typing import Any
from unittest.mock import AsyncMock, patch

import pytest
from modes import Mode

from crewgraph.flow import Flow, listen, router, start

from .parts import kickoff


class Post(Flow[dict[str, Any]]):
    @start()
    def fetch(self) -> str:
        return "letter"

    @router(fetch)
    def sort(self, what: str) -> str:
        return "home" if what == "letter" else "abroad"

    @listen("home")
    async def deliver(self, where: str) -> str:
        return f"delivered {where}"

    @listen("abroad")
    def ship(self, where: str) -> str:
        return f"shipped {where}"


@pytest.mark.parametrize("of", ["class", "object"])
def test_a_patched_method_is_called_in_place_of_the_method(mode: Mode, of: str):
    flow = Post()
    with patch.object(Post if of == "class" else flow, "fetch", return_value="parcel") as fetch:
        assert kickoff(mode, flow) == "shipped abroad"
    fetch.assert_called_once_with()
    assert kickoff(mode, flow) == "delivered home"


@pytest.mark.parametrize("of", ["class", "object"])
def test_a_patched_router_routes(mode: Mode, of: str):
    flow = Post()
    with patch.object(Post if of == "class" else flow, "sort", return_value="abroad") as sort:
        assert kickoff(mode, flow) == "shipped abroad"
    sort.assert_called_once_with("letter")


def test_a_patched_coroutine_is_awaited(mode: Mode):
    flow = Post()
    with patch.object(Post, "deliver", return_value="lost") as deliver:
        assert kickoff(mode, flow) == "lost"
    assert isinstance(deliver, AsyncMock)
    deliver.assert_awaited_once_with("home")


def test_an_inherited_method_may_be_patched_in_the_base(mode: Mode):
    class Express(Post):
        @listen("abroad")
        def fly(self, where: str) -> None:
            self.state["flown"] = where

    with patch.object(Post, "fetch", return_value="parcel"):
        flow = Express()
        kickoff(mode, flow)
    assert flow.state["flown"] == "abroad"
