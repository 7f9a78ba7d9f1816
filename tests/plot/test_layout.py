"""The layout of methods and edges."""

from itertools import combinations
from typing import Any

import pytest

from crewgraph.flow import Flow, listen, start
from crewgraph.plot.layout import Box, Layout, assign_layers, compute_layout, spread_apart
from crewgraph.plot.picture import Picture, build_picture
from plot.flows import LoopFlow, MyFlow, crowd

FLOWS = [MyFlow, LoopFlow, *(crowd(100, seed) for seed in range(6)), crowd(5), crowd(300)]


def picture(flow: type[Flow[Any]]) -> Picture:
    return build_picture(flow.topology(), flow.__name__, "")


def drawn(flow: type[Flow[Any]]) -> tuple[Picture, Layout]:
    seen = picture(flow)
    return seen, compute_layout(seen)


def overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: f"{flow.__name__} {len(flow.topology().methods)}")
class TestEveryFlow:
    def test_nothing_overlaps(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        labels = [route.label for way, route in zip(seen.edges, layout.routes, strict=True) if way.labels]
        places = [*layout.boxes.items(), *((label, label) for label in labels)]
        both = [(one, other) for (one, a), (other, b) in combinations(places, 2) if overlap(a, b)]
        assert both == []

    def test_every_method_and_every_way_is_inside_the_drawing(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        assert set(layout.boxes) == {method.name for method in seen.nodes}
        assert len(layout.routes) == len(seen.edges)
        inside = [*layout.boxes.values(), *(box for route in layout.routes for box in route.extent())]
        assert all(layout.area.left <= box.left and box.right <= layout.area.right for box in inside)
        assert all(layout.area.top <= box.top and box.bottom <= layout.area.bottom for box in inside)

    def test_a_run_begins_on_the_left(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        first = {method.name for method in seen.nodes if method.begins}
        leftmost = max(layout.boxes[name].right for name in first)
        assert all(box.left > leftmost for name, box in layout.boxes.items() if name not in first)

    def test_ways_begin_and_end_at_their_methods(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        for way, route in zip(seen.edges, layout.routes, strict=True):
            for name, (x, y) in ((way.source, route.points[0]), (way.target, route.points[-1])):
                box = layout.boxes[name]
                assert box.left - 0.01 <= x <= box.right + 0.01 and box.top - 0.01 <= y <= box.bottom + 0.01

    def test_ways_lead_to_the_right_unless_they_close_a_loop(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        backwards = [way for way in seen.edges if layout.boxes[way.target].x <= layout.boxes[way.source].x]
        forwards = {(way.source, way.target) for way in seen.edges if way not in backwards}
        for way in backwards:
            assert way.source in reached(forwards, way.target)

    def test_curves_pass_alongside_methods(self, flow: type[Flow[Any]]):
        seen, layout = drawn(flow)
        near: dict[int, list[str]] = {}
        for name, box in layout.boxes.items():
            for stripe in range(int(box.left // 100), int(box.right // 100) + 1):
                near.setdefault(stripe, []).append(name)
        for way, route in zip(seen.edges, layout.routes, strict=True):
            for x, y in along(route.points):
                met = [name for name in near.get(int(x // 100), ()) if overlap(layout.boxes[name], Box(x, y, 0, 0))]
                assert set(met) <= {way.source, way.target}


def reached(edges: set[tuple[str, str]], begin: str) -> set[str]:
    found, todo = {begin}, [begin]
    while todo:
        name = todo.pop()
        for source, target in edges:
            if source == name and target not in found:
                found.add(target)
                todo.append(target)
    return found


def along(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points of a chain of cubic curves."""
    found: list[tuple[float, float]] = []
    for place in range(0, len(points) - 1, 3):
        a, b, c, d = points[place : place + 4]
        for part in (0.0, 0.2, 0.4, 0.6, 0.8):
            rest = 1 - part
            weights = (rest**3, 3 * rest**2 * part, 3 * rest * part**2, part**3)
            x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            found.append((x, y))
    return found


def test_the_ways_of_the_loop():
    assert [(way.source, way.target, way.labels, way.kind, way.joined) for way in picture(LoopFlow).edges] == [
        ("check", "generate", ("loop",), "router", False),
        ("once_more", "generate", ("loop",), "router", False),
        ("generate", "check", ("generated",), "or", False),
        ("check", "praise", ("success",), "router", False),
        ("check", "regret", ("too_late",), "router", False),
        ("both", "both", ("elsewhere",), "and", True),
        ("praise", "both", (), "and", True),
        ("regret", "both", (), "and", True),
        ("once_more", "once_more", ("again",), "router", False),
        ("both", "once_more", (), "or", False),
    ]


def test_the_order_of_definition_decides_the_order_of_branches():
    class Fan(Flow[dict[str, Any]]):
        @start()
        def begin(self):
            pass

        @listen(begin)
        def one(self):
            pass

        @listen(begin)
        def two(self):
            pass

        @listen(begin)
        def three(self):
            pass

    boxes = drawn(Fan)[1].boxes
    assert boxes["one"].y < boxes["two"].y < boxes["three"].y
    assert boxes["begin"].y == pytest.approx(boxes["two"].y, abs=0.5)


def test_a_chain_is_straight_and_ten_thousand_methods_long_chains_do_not_recurse():
    names = [f"n{number}" for number in range(10_000)]
    ranks, back = assign_layers(names, names[:1], [*zip(names, names[1:], strict=False), (names[-1], names[0])])
    assert ranks[names[-1]] == 9_999
    assert back == {(names[-1], names[0])}


def test_an_empty_picture_has_a_drawing():
    assert compute_layout(Picture("nothing", "", (), ())).area.width > 0


def test_numbers_are_spread_as_little_as_may_be():
    assert spread_apart([0, 0, 10], [0, 4, 8]) == [-2, 2, 10]
    assert spread_apart([5, 1], [0, 2]) == [2, 4]
