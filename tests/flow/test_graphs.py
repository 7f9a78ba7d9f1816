"""Flows as LangGraph graphs: nodes of other graphs, breakpoints, edits, drawings."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START
from langgraph.types import Command
from modes import Mode, graph_of
from typing_extensions import TypedDict

from crewgraph.errors import CompileError, RunError
from crewgraph.flow import Flow, and_, listen, router, start

done: list[str] = []


@pytest.fixture(autouse=True)
def clear_calls() -> None:
    done.clear()


class Sums(Flow[dict[str, Any]]):
    @start()
    def first(self) -> str:
        done.append("first")
        self.state["x"] = self.state.get("x", 0) + 1
        return "A"

    @listen(first)
    def twice(self, value: str) -> str:
        done.append("twice")
        self.state["y"] = self.state["x"] * 2
        return value + "B"

    @listen(first)
    def beside(self, value: str) -> str:
        done.append("beside")
        return value + "C"

    @listen(and_(twice, beside))
    def last(self) -> int:
        done.append("last")
        return self.state["y"]


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    state: dict[str, Any]
    output: Any
    after: Any


def after(state: Outer) -> Outer:
    return {"after": [state.get("output")]}


def around(flow: "Flow[Any]", checkpointer: Any = None) -> Any:
    return graph_of(Outer, {"flow": flow.compile(), "after": after}, checkpointer=checkpointer)


CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


def test_a_compiled_flow_is_given_inputs_and_gives_state_and_output(mode: Mode):
    given = mode.invoke(Sums().compile(), {"inputs": {"x": 4, "id": "mine"}})
    assert given == {"state": {"id": "mine", "x": 5, "y": 10}, "output": 10}


@pytest.mark.parametrize("stored", [True, False])
def test_a_flow_is_a_node_of_another_graph(mode: Mode, stored: bool):
    graph = around(Sums(), InMemorySaver() if stored else None)
    given = mode.invoke(graph, {"inputs": {"x": 1}}, CONFIG)
    assert (given["output"], given["after"], given["state"]["x"]) == (4, [4], 2)
    assert sorted(done) == ["beside", "first", "last", "twice"]


def test_a_run_stops_before_a_method_and_continues_with_another_state(mode: Mode):
    graph = Sums().compile(checkpointer=InMemorySaver(), interrupt_before=["last"])
    mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)
    found = mode.state(graph, CONFIG)
    assert found.next == ("last",) and found.values["state"]["y"] == 10
    edited = mode.run(graph.update_state, graph.aupdate_state, CONFIG, {"state": {"y": 99}})
    assert mode.invoke(graph, None, edited)["output"] == 99
    assert sorted(done) == ["beside", "first", "last", "twice"]


def test_an_edit_of_the_state_gives_the_fields_that_change(mode: Mode):
    graph = Sums().compile(checkpointer=InMemorySaver())
    mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)
    with pytest.raises(RunError, match="`state` is 5; an edit gives a dict of the fields that change"):
        mode.run(graph.update_state, graph.aupdate_state, CONFIG, {"state": 5})


def test_a_method_may_be_answered_for(mode: Mode):
    class Broken(Sums):
        def last(self) -> int:
            raise ConnectionError("last")

    graph = Broken().compile(checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)
    edited = mode.run(graph.update_state, graph.aupdate_state, CONFIG, {"output": "by hand"}, "last")
    found = mode.state(graph, edited).values
    assert (found["progress"]["last"], found["state"]["y"], found["output"]) == ("last#1", 10, "by hand")


def test_a_thread_without_a_run_has_nothing_to_edit(mode: Mode):
    graph = Sums().compile(checkpointer=InMemorySaver())
    for values in (None, {}, {"state": {"x": 1}}, {"output": 1}):
        for as_node in (None, "first", START):
            with pytest.raises(
                RunError, match=r"^the thread holds no run of flow `Sums` to edit; invoke the graph first$"
            ):
                mode.run(graph.update_state, graph.aupdate_state, CONFIG, values, as_node)
    assert mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)["output"] == 10


def test_an_edit_as_what_is_no_method_is_refused(mode: Mode):
    graph = Sums().compile(checkpointer=InMemorySaver())
    mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)
    with pytest.raises(InvalidUpdateError, match="Node lost does not exist"):
        mode.run(graph.update_state, graph.aupdate_state, CONFIG, {"state": {"y": 1}}, "lost")


def test_a_graph_serves_many_and_tells_none_of_another(mode: Mode):
    class Guest(Flow[dict[str, Any]]):
        @start()
        def greet(self) -> list[str]:
            self.state["seen"].append(self.state.get("name", "nobody"))
            return self.state["seen"]

    flow = Guest(initial_state={"seen": ["host"]})
    for saver in (None, InMemorySaver()):
        graph = flow.compile(checkpointer=saver)
        given = [{"name": "Ada"}, {}, {"name": "Bob"}, {}]
        reported = [
            mode.invoke(graph, {"inputs": inputs}, {"configurable": {"thread_id": str(n)}})
            for n, inputs in enumerate(given)
        ]
        assert [one["output"] for one in reported] == [["host", who] for who in ("Ada", "nobody", "Bob", "nobody")]
        assert len({one["state"]["id"] for one in reported} | {flow.flow_id}) == 5
    assert flow.state == {"id": flow.flow_id, "seen": ["host"]}


def test_a_second_run_in_a_thread_does_not_take_over_a_question(mode: Mode):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def greet(self) -> str:
            return self.ask(f"How are you, {self.state['name']}?")

        @start()
        def beside(self) -> None:
            pass

    graph = Asks().compile(checkpointer=InMemorySaver())
    for name in ("Ada", "Bob"):
        stopped = mode.invoke(graph, {"inputs": {"name": name}}, CONFIG)
        asked = [question["message"] for question in stopped["__interrupt__"][0].value["questions"]]
        assert asked == [f"How are you, {name}?"]
    assert mode.invoke(graph, Command(resume="fine"), CONFIG)["output"] == "fine"


class Whole(Sums):
    granularity = "flow"


@pytest.mark.parametrize("compiled", [lambda: Whole().kickoff(), lambda: Sums().compile(granularity="flow")])
def test_a_flow_in_one_node_is_refused_with_what_to_write_instead(compiled: Any):
    with pytest.raises(CompileError, match="each method is a node: leave it out"):
        compiled()


def test_a_drawing_shows_the_flow_and_not_its_machinery():
    class Loop(Flow[dict[str, Any]]):
        @start("again")
        def work(self) -> str:
            return "done"

        @router(work)
        def judge(self) -> str:
            return "again" if self.state.get("n") else "enough"

        @listen("enough")
        def end(self) -> str:
            return "end"

    drawn = Loop().compile().get_graph()
    assert [name for name in drawn.nodes] == ["__start__", "work", "judge", "end", "__end__"]
    edges = {(edge.source, edge.target, edge.data) for edge in drawn.edges}
    assert edges == {
        ("__start__", "work", None), ("work", "judge", None), ("judge", "work", "again"),
        ("judge", "end", "enough"), ("end", "__end__", None),
    }  # fmt: skip
    inside = around(Loop()).get_graph(xray=True)
    assert "flow:judge" in inside.nodes and not any("wait" in name for name in inside.nodes)


def test_the_schemas_show_what_a_user_gives_and_gets():
    graph = Sums().compile()
    assert list(graph.get_input_jsonschema()["properties"]) == ["inputs"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["state", "output"]


def test_what_methods_change_is_streamed_as_it_happens(mode: Mode):
    reported = [list(update) for update in mode.stream(Sums().compile(), {"inputs": {}}, stream_mode="updates")]
    assert reported[0] == ["first"] and reported[-1] == ["last"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_failed_run_in_a_graph_continues_where_it_stopped(mode: Mode, durability: Any):
    class Trip(Flow[dict[str, Any]]):
        @start()
        def pack(self) -> str:
            done.append("pack")
            self.state["bag"] = len(done)
            return "packed"

        @listen(pack)
        def sail(self, value: str) -> str:
            done.append("sail")
            if done.count("sail") == 1:
                raise ConnectionError("waves")
            return f"{value}, sailed with bag {self.state['bag']}"

    graph = around(Trip(), InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {}}, CONFIG, durability=durability)
    assert mode.invoke(graph, None, CONFIG, durability=durability)["output"] == "packed, sailed with bag 1"
    assert done == ["pack", "sail", "sail"]


def test_a_flow_with_a_dict_as_state_takes_any_inputs_under_inputs_in_a_custom_node(mode: Mode):
    class Trip(Flow[dict[str, Any]]):
        @start()
        def sail(self) -> str:
            return f"to {self.state['port']}"

    trip = Trip().compile()

    def sailed(state: Sailed, config: RunnableConfig) -> Sailed:
        return {"reported": trip.invoke({"inputs": {"port": state.get("town")}}, config)["output"]}

    async def asailed(state: Sailed, config: RunnableConfig) -> Sailed:
        return {"reported": (await trip.ainvoke({"inputs": {"port": state.get("town")}}, config))["output"]}

    graph = graph_of(Sailed, {"sailed": asailed if mode.asynchronous else sailed})
    assert mode.invoke(graph, {"town": "Brest"})["reported"] == "to Brest"


@pytest.mark.parametrize("goto", ["last", "first", "__wait__"])
def test_a_command_cannot_go_to_a_method_that_is_not_due(mode: Mode, goto: str):
    graph = Sums().compile(checkpointer=InMemorySaver())
    with pytest.raises(RunError, match="no run in this thread"):
        mode.invoke(graph, Command(goto=goto), CONFIG)
    mode.invoke(graph, {"inputs": {"x": 4}}, CONFIG)
    done.clear()
    with pytest.raises(RunError, match=f"`{goto}` has nothing to do at this point of the run"):
        mode.invoke(graph, Command(goto=goto), CONFIG)
    assert done == []
    assert mode.invoke(graph, {"inputs": {"x": 1}}, CONFIG)["output"] == 4


class Sailed(TypedDict, total=False):
    town: str
    reported: str
