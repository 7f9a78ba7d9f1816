"""The picture of a flow: methods and edges."""

import functools
from collections.abc import Callable
from typing import Any

from crewgraph.flow import Flow, and_, listen, or_, router, start
from crewgraph.plot.picture import Node, build_picture, calls_crew


def methods(flow: type[Flow[Any]]) -> dict[str, Node]:
    return {method.name: method for method in build_picture(flow.topology(), "f", "").nodes}


def always(context: dict[str, Any]) -> bool:
    return True


class Told(Flow[dict[str, Any]]):
    @start()
    def first(self):
        """Begin.

        At once.
        """

    @start(always)
    def maybe(self):
        pass

    @start("again")
    def later(self):
        pass

    @listen(and_(first, or_("maybe", "later")))
    async def work(self, result: list[int], more: str = "x") -> int:
        return 1

    @router(or_(work, "later"), emit=["again", "done"])
    def judge(self):
        return self.state["verdict"]

    @start()
    @router()
    def sort(self):
        return "again"


def test_signatures_conditions_labels_and_docstrings():
    drawn_methods = methods(Told)
    assert drawn_methods["work"].signature == "async def work(result: list[int], more: str = 'x') -> int"
    assert drawn_methods["work"].waits == "first and (maybe or later)"
    assert drawn_methods["judge"].waits == "work or later"
    assert drawn_methods["judge"].labels == ("again", "done")
    assert drawn_methods["first"].text == "Begin.\n\nAt once."
    assert drawn_methods["first"].waits == ""
    assert drawn_methods["maybe"].waits == "the function always, evaluated at the start"
    assert drawn_methods["later"].waits == "again"


def test_kinds():
    drawn_methods = methods(Told)
    assert {name: method.kind for name, method in drawn_methods.items()} == {
        "first": "start", "maybe": "start", "later": "start", "work": "listener", "judge": "router",
        "sort": "router",
    }  # fmt: skip
    assert {name for name, method in drawn_methods.items() if method.begins} == {"first", "maybe", "sort"}


def test_a_router_that_names_a_method_leads_to_its_listeners():
    class Named(Flow[dict[str, Any]]):
        @start()
        def begin(self):
            pass

        @router(begin)
        def decide(self):
            return "skipped" if self.state else "other"

        @listen("other")
        def skipped(self):
            pass

        @listen(skipped)
        def close(self):
            pass

    ways = {(way.source, way.target): way.labels for way in build_picture(Named.topology(), "f", "").edges}
    assert ways[("decide", "close")] == ("skipped",)
    assert ways[("skipped", "close")] == ()


def test_labels_are_read_from_conditional_expressions():
    class Branches(Flow[dict[str, Any]]):
        @start()
        @router()
        def choose(self):
            return "left" if self.state else "right"

        @start()
        @router()
        def compute(self):
            return self.state.get("way") or "left"

    drawn_methods = methods(Branches)
    assert drawn_methods["choose"].labels == ("left", "right")
    assert drawn_methods["compute"].labels == ()


def plain(self: Any) -> Any:
    return self.crew.kickoff()


async def awaited(self: Any) -> Any:
    return await self.crew.kickoff_async(inputs={})


def nested(self: Any) -> Any:
    return [crew.akickoff() for crew in self.crews]


def several(self: Any) -> Any:
    return self.crew.kickoff_for_each([])


def neither(self: Any) -> Any:
    kickoff = self.state
    return kickoff, "kickoff"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args)

    return around


def test_a_crew_is_called_where_the_code_says_so():
    assert [calls_crew(one) for one in (plain, awaited, nested, several, wrapped(plain))] == [True] * 5
    assert [calls_crew(one) for one in (neither, wrapped(neither), len)] == [False] * 3
