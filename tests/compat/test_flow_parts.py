from collections import deque
from pathlib import Path
from typing import Any, Literal

import pytest
from crewgraph_compat.stand_ins.flows.structure import (
    build_ancestor_dict,
    build_flow_structure,
    build_parent_children_dict,
    calculate_execution_paths,
    calculate_node_levels,
    count_outgoing_edges,
    get_child_index,
    get_possible_return_constants,
    is_ancestor,
    is_flow_condition_dict,
    is_flow_condition_list,
    is_flow_method,
    is_flow_method_callable,
    is_flow_method_name,
    is_simple_flow_condition,
    method_calls_crew,
    plot_flow,
    process_router_paths,
)
from crewgraph_compat.stand_ins.projects.files import list_files, safe_path_join, validate_path_exists

from crewgraph.flow import Flow, and_, listen, or_, router, start


class Trip(Flow[dict[str, Any]]):
    @start()
    def plan(self) -> int:
        return 1

    @router(plan)
    def choose(self) -> Literal["far", "near", "again"]:
        return "far"

    @listen("far")
    def fly(self) -> None:
        self.crew.kickoff()  # type: ignore[attr-defined]

    @listen(or_(and_("near", plan), fly))
    def walk(self) -> None: ...

    @start("again")
    def wait(self) -> None: ...


def test_a_flow_is_reported_as_nodes_and_edges():
    structure = build_flow_structure(Trip)
    assert structure == build_flow_structure(Trip())
    assert structure.get("start_methods") == ["plan", "wait"]
    assert structure.get("router_methods") == ["choose"]
    nodes = structure.get("nodes", {})
    assert nodes["plan"] == {"type": "start", "class_name": "Trip"}
    assert nodes["choose"].get("router_events") == ["again", "far", "near"]
    assert nodes["walk"].get("trigger_condition") == {
        "type": "OR",
        "conditions": [{"type": "AND", "conditions": ["near", "plan"]}, "fly"],
    }
    assert nodes["walk"].get("trigger_methods") == ["near", "plan", "fly"]
    edges = [tuple(edge.values()) for edge in structure.get("edges", [])]
    assert edges == [
        ("plan", "choose", "OR", False),
        ("choose", "fly", None, True, "far"),
        ("choose", "walk", None, True, "near"),
        ("plan", "walk", "AND", False),
        ("fly", "walk", "OR", False),
        ("choose", "wait", None, True, "again"),
    ]


def test_ways_through_a_flow_are_counted():
    # by choose: fly and walk, walk, wait; by plan: walk; and wait by itself
    assert calculate_execution_paths(build_flow_structure(Trip)) == 5


def test_methods_are_ranked_and_related():
    flow = Trip()
    assert calculate_node_levels(flow) == {"plan": 0, "wait": 0, "choose": 1, "walk": 1, "fly": 2}
    children = build_parent_children_dict(flow)
    assert children == {"plan": ["choose", "walk"], "choose": ["fly", "wait", "walk"], "fly": ["walk"]}
    assert get_child_index("choose", "walk", children) == 2
    assert count_outgoing_edges(flow) == {"plan": 2, "choose": 3, "fly": 1, "walk": 0, "wait": 0}
    ancestors = build_ancestor_dict(flow)
    assert ancestors["fly"] == {"plan", "choose"}
    assert is_ancestor("walk", "plan", ancestors)
    assert not is_ancestor("plan", "walk", ancestors)
    levels, queue = {"choose": 1}, deque[str]()
    process_router_paths(flow, "choose", 1, levels, queue)
    assert (levels, list(queue)) == ({"choose": 1, "fly": 2, "wait": 2, "walk": 2}, ["fly", "wait", "walk"])


def test_what_a_method_returns_and_calls():
    assert get_possible_return_constants(Trip.choose) == ["again", "far", "near"]
    assert get_possible_return_constants(Trip.fly) is None
    assert method_calls_crew(Trip().fly)
    assert not method_calls_crew(Trip().plan)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (or_("a", "b"), "condition"),
        ({"type": "OR", "methods": ["a"]}, "condition"),
        ({"type": "AND", "conditions": ["a"]}, "condition"),
        ({"type": "X"}, ""),
        (["a", "b"], "list"),
        (("OR", ["a"]), "simple"),
        (("OR", [1]), ""),
        ("a", "name"),
        (Trip.plan, "method callable"),
        (3, ""),
    ],
)
def test_what_a_condition_is(given: Any, reported: str):
    kinds = {
        "condition": is_flow_condition_dict,
        "list": is_flow_condition_list,
        "simple": is_simple_flow_condition,
        "name": is_flow_method_name,
        "method": is_flow_method,
        "callable": is_flow_method_callable,
    }
    assert " ".join(name for name, question in kinds.items() if question(given)) == reported


def test_a_flow_is_drawn_under_the_older_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    plot_flow(Trip(), "trip")
    assert "fly" in (tmp_path / "trip.html").read_text()


def test_paths_stay_in_their_folder(tmp_path: Path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b").mkdir()
    assert safe_path_join("b", "c.txt", root=tmp_path) == str(tmp_path.resolve() / "b" / "c.txt")
    for out in ("../x", "/etc/passwd"):
        with pytest.raises(ValueError, match="is outside"):
            safe_path_join(out, root=tmp_path)
    assert validate_path_exists(tmp_path / "b", "directory") == str(tmp_path.resolve() / "b")
    with pytest.raises(ValueError, match="is not a file"):
        validate_path_exists(tmp_path / "b")
    with pytest.raises(ValueError, match="does not exist"):
        validate_path_exists(tmp_path / "x")
    assert list_files(tmp_path) == [str(tmp_path.resolve() / "a.txt")]
