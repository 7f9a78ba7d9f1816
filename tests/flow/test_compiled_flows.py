"""Compiled flows run by other code: agent servers, parent graphs, LangGraph's own streams."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from modes import Mode, graph_of
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import RunError
from crewgraph.flow import Flow, and_, human_feedback, listen, persist, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import kickoff

MODULE = """
from crewgraph.flow import Flow, listen, router, start


class Count(Flow):
    @start()
    def first(self, n=1):
        self.state["seen"] = self.state.get("seen", 0) + 1
        return n

    @router(first)
    def way(self, n):
        return "on" if n else "off"

    @listen("on")
    def end(self):
        return self.state["seen"]


graph = Count().compile()
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The graph that a module of a program names, as a server imports it."""
    (tmp_path / "served_graphs.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("served_graphs").graph
    del sys.modules["served_graphs"]


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def with_saver(graph: Any, how: str) -> Any:
    """A server's two ways to give a graph its checkpointer."""
    if how == "copied":
        return graph.copy(update={"checkpointer": InMemorySaver(), "store": InMemoryStore()})
    graph.checkpointer = InMemorySaver()
    return graph


@pytest.mark.parametrize("how", ["copied", "set"])
def test_a_server_gives_a_graph_its_checkpointer(mode: Mode, graph: Any, how: str):
    served = with_saver(graph, how)
    assert mode.invoke(served, {"inputs": {"n": 2}}, at("a"))["output"] == 1
    assert mode.state(served, at("a")).values["progress"]["last"] == "end#1"


class Trip(BaseModel):
    id: str = ""
    port: str
    days: int = Field(default=1, description="How long it takes.")


class Sail(Flow[Trip]):
    initial_state = Trip(port="Brest")

    @start()
    def leave(self) -> str:
        return f"{self.state.port}, {self.state.days}"


@pytest.mark.parametrize("given", [{"port": "Rome"}, {"inputs": {"port": "Rome"}}], ids=["flat", "under inputs"])
def test_inputs_stand_alone_or_under_their_key(mode: Mode, given: dict[str, Any]):
    assert mode.invoke(Sail().compile(), given)["output"] == "Rome, 1"


def test_the_form_of_a_flow_has_the_fields_of_its_state():
    schema = Sail().compile().get_input_jsonschema()
    assert list(schema["properties"]) == ["port", "days"]
    assert (schema["required"], schema["properties"]["days"]["description"]) == (["port"], "How long it takes.")


@pytest.mark.parametrize("given", [{"harbour": "Rome"}, {"messages": []}, {"inputs": {"prot": "Rome"}}])
def test_what_no_field_or_method_reads_is_refused(mode: Mode, given: dict[str, Any]):
    with pytest.raises(RunError, match="is neither a field of the state `Trip` of flow `Sail`"):
        mode.invoke(Sail().compile(), given)


def test_what_a_server_shows_of_a_graph(graph: Any):
    drawn = graph.get_graph().to_json()
    assert [node["id"] for node in drawn["nodes"]] == ["__start__", "first", "way", "end", "__end__"]
    assert {(edge["source"], edge["target"], edge.get("data")) for edge in drawn["edges"]} == {
        *(("__start__", "first", None), ("first", "way", None), ("way", "end", "on"), ("end", "__end__", None))
    }
    assert asyncio.run(graph.aget_graph(xray=True)).to_json() == drawn
    assert list(graph.get_input_jsonschema()["properties"]) == ["inputs"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["state", "output"]


def test_events_of_a_graph_name_the_methods_and_no_machinery(graph: Any):
    async def reported() -> list[str]:
        events = graph.astream_events({"inputs": {}}, version="v2")
        return [
            f"{event['event']} {event['name']}" async for event in events if "langsmith:hidden" not in event["tags"]
        ]

    ended = [one for one in asyncio.run(reported()) if one.startswith("on_chain_end")]
    assert ended == [f"on_chain_end {name}" for name in ("first", "way", "end", "Flow: Count")]


def team(name: str) -> Crew:
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["high tide"], stream=True))
    return Crew(name=name, agents=[clerk], tasks=[Task(name="look", description="d", expected_output="e", agent=clerk)])


class Two(Flow[dict[str, Any]]):
    @start()
    def sea(self) -> str:
        return team("tides").kickoff().raw

    @start()
    async def moon(self) -> str:
        return (await team("phases").akickoff()).raw

    @listen(and_(sea, moon))
    def draft(self) -> str:
        return "a draft"


class Asks(Two):
    @listen(Two.draft)
    @human_feedback("Good?")
    def show(self, text: str) -> str:
        return text

    @listen(show)
    def end(self, said: Any) -> str:
        return f"end: {said.feedback}"


def words(parts: list[Any]) -> set[tuple[str, str, str]]:
    """The pieces of answers among the parts of a stream, with their methods and crews."""
    found = [part[-1] for part in parts if part[-2] == "messages"]
    return {(piece.content, about["method"], about["crew_name"]) for piece, about in found if piece.content}


WORDS = {(text, *whose) for text in ("high", " tide") for whose in (("sea", "tides"), ("moon", "phases"))}


@pytest.mark.parametrize("subgraphs", [True, False])
@pytest.mark.parametrize("stored", [True, False])
def test_words_of_crews_in_methods_arrive_as_messages_with_their_method(mode: Mode, stored: bool, subgraphs: bool):
    graph = Two().compile(checkpointer=InMemorySaver() if stored else None)
    modes = ["updates", "messages", "custom"]
    parts = mode.stream(graph, {"inputs": {}}, at("t") if stored else None, stream_mode=modes, subgraphs=subgraphs)
    assert words(parts) == (WORDS if subgraphs else set())
    updated = [name for part in parts if part[-2] == "updates" for name in part[-1]]
    assert {"sea", "moon", "draft"} <= set(updated)


class Page(TypedDict, total=False):
    inputs: dict[str, Any]
    state: dict[str, Any]
    output: Any
    after: Any


def after(state: Page) -> Page:
    return {"after": f"<{state.get('output')}>"}


def parent(**wishes: Any) -> Any:
    return graph_of(Page, {"flow": Asks().compile(), "after": after}, **wishes)


def test_a_question_inside_a_flow_is_answered_through_the_parent(mode: Mode):
    graph = parent(checkpointer=InMemorySaver())
    parts = mode.stream(graph, {"inputs": {}}, at("t"), stream_mode=["updates", "messages"], subgraphs=True)
    assert words(parts) == WORDS
    found = mode.state(graph, at("t"))
    assert found.next == ("flow",)
    (asked,) = found.interrupts
    assert asked.value["questions"][0]["message"] == "Good?"
    assert mode.invoke(graph, Command(resume={asked.id: "fine"}), at("t"))["after"] == "<end: fine>"


class OfServer(JsonPlusSerializer):
    """The serializer of an agent server's own saver, such as that of `langgraph dev`."""


@pytest.mark.parametrize("persisted", [False, True])
def test_a_flow_in_a_method_runs_and_resumes_in_the_storage_of_a_server(mode: Mode, persisted: bool):
    done, is_down = list[str](), [True]

    class Inner(Flow):
        @start()
        def first(self):
            done.append("first")

        @listen(first)
        def second(self):
            if is_down[0]:
                raise OSError("mail server down")
            return "sent"

    inner = persist(Inner) if persisted else Inner

    class Outer(Flow):
        @start()
        async def send(self):
            return await inner().akickoff()

    class SyncOuter(Flow):
        @start()
        def send(self):
            return inner().kickoff()

    flow = Outer() if mode.asynchronous else SyncOuter()
    graph = flow.compile().copy(update={"checkpointer": InMemorySaver(serde=OfServer())})
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(OSError, match="mail server down"):
        mode.invoke(graph, {"inputs": {}}, config)
    is_down[0] = False
    assert mode.invoke(graph, None, config)["output"] == "sent"
    assert done == ["first"]


class Reply(Flow[dict[str, Any]]):
    """Two outcomes that an inbox can name by its buttons."""

    @start()
    @human_feedback("Send this reply?", emit=["approved", "rejected"], default_outcome="rejected")
    def write(self) -> str:
        return "a draft"

    @listen("approved")
    def send(self, result: Any) -> str:
        return f"sent, {result.feedback}"

    @listen("rejected")
    def discard(self, result: Any) -> str:
        return f"discarded, {result.feedback}"


class Letter(Flow[dict[str, Any]]):
    """Feedback without outcomes."""

    @start()
    @human_feedback("Will it do?")
    def write(self) -> str:
        return "a draft"

    @listen(write)
    def end(self, result: Any) -> str:
        return f"<{result.feedback}>"


def waiting_at(mode: Mode, flow: Flow[Any]) -> tuple[Any, Any]:
    graph = flow.compile(checkpointer=InMemorySaver())
    (asked,) = mode.invoke(graph, {}, at("a"))["__interrupt__"]
    return graph, asked.value


def test_feedback_says_what_inboxes_read(mode: Mode):
    _, value = waiting_at(mode, Reply())
    args = {"output": "a draft", "outcomes": ["approved", "rejected"]}
    assert value["action_requests"] == [{"name": "write", "args": args, "description": "Send this reply?"}]
    assert value["review_configs"] == [{"action_name": "write", "allowed_decisions": ["approve", "reject", "respond"]}]
    assert value["action_request"] == {"action": "write", "args": args}
    assert value["config"] == {"allow_accept": True, "allow_edit": False, "allow_respond": True, "allow_ignore": True}
    assert value["questions"][0]["message"] == value["description"] == "Send this reply?"


@pytest.mark.parametrize(
    ("reply", "with_outcomes", "without"),
    [
        ({"decisions": [{"type": "approve"}]}, "sent, approved", "<>"),
        ([{"type": "accept", "args": None}], "sent, approved", "<>"),
        ({"decisions": [{"type": "reject", "message": "too long"}]}, "discarded, too long", "<too long>"),
        ({"decisions": [{"type": "reject"}]}, "discarded, rejected", "<reject>"),
        ([{"type": "ignore", "args": None}], "discarded, rejected", "<reject>"),
        ([{"type": "response", "args": "approved"}], "sent, approved", "<approved>"),
        ({"decisions": [{"type": "respond", "message": "rejected"}]}, "discarded, rejected", "<rejected>"),
        ("approved", "sent, approved", "<approved>"),
    ],
)
def test_feedback_is_given_in_the_forms_of_inboxes(mode: Mode, reply: Any, with_outcomes: str, without: str):
    for flow, expected in ((Reply(), with_outcomes), (Letter(), without)):
        graph, _ = waiting_at(mode, flow)
        assert mode.invoke(graph, Command(resume=reply), at("a"))["output"] == expected


def test_outcomes_that_no_button_names_are_answered_with_a_text(mode: Mode):
    class Ship(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Where to?", emit=["north", "south"])
        def choose(self) -> str:
            return "a ship"

        @listen("south")
        def sail(self) -> str:
            return "to the south"

    graph, value = waiting_at(mode, Ship())
    assert value["review_configs"][0]["allowed_decisions"] == ["respond"]
    assert value["config"]["allow_accept"] is False
    refused = mode.invoke(graph, Command(resume={"decisions": [{"type": "approve"}]}), at("a"))
    assert "`approve` is none of `north`, `south`" in refused["__interrupt__"][0].value["description"]
    done = mode.invoke(graph, Command(resume=[{"type": "response", "args": "south"}]), at("a"))
    assert done["output"] == "to the south"


def test_a_stored_flow_is_resumed_with_the_reply_of_an_inbox(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        flow = Reply(checkpointer=saver)
        waiting = mode.run(flow.kickoff, flow.kickoff_async)
        answer = {"decisions": [{"type": "approve"}]}
        again = Reply(checkpointer=saver)
        assert mode.run(again.resume, again.aresume, waiting.flow_id, answer) == "sent, approved"


class Curious(Flow[dict[str, Any]]):
    @start()
    def look(self) -> str | None:
        return self.ask("Where?")


class Asked(TypedDict, total=False):
    output: Any


def _kicks_off(state: Asked) -> Asked:
    return {"output": Curious(checkpointer=False).kickoff()}


async def _akicks_off(state: Asked) -> Asked:
    return {"output": await Curious(checkpointer=False).kickoff_async()}


def _invokes(state: Asked) -> Asked:
    return {"output": Curious().compile().invoke({})["output"]}


def _around(node: Any, checkpointer: Any = None) -> Any:
    return graph_of(Asked, {"node": node}, checkpointer=checkpointer)


def test_a_question_that_cannot_wait_is_answered_with_what_helps_where_the_flow_runs(mode: Mode):
    compiled = "no terminal. Compile the flow, or the graph around it, with a checkpointer"
    in_node = r"no terminal. In a node, invoke the compiled flow, as in `flow.compile\(\).invoke\(inputs\)`"
    alone = "no terminal. Decorate the flow with `@persist`"
    kicks_off = _akicks_off if mode.asynchronous else _kicks_off
    for graph, advice in (
        (Curious().compile(), compiled),
        (_around(Curious().compile()), compiled),
        (_around(Curious().compile(checkpointer=False), InMemorySaver()), compiled),
        (_around(kicks_off), in_node),
        (_around(kicks_off, InMemorySaver()), in_node),
    ):
        with pytest.raises(RunError, match=f"^method `look` asks `Where\\?`, but there is {advice}"):
            mode.invoke(graph, {}, {"configurable": {"thread_id": "t"}})
    with pytest.raises(RunError, match=alone):
        kickoff(mode, Curious(checkpointer=False))


def test_the_question_of_a_compiled_flow_in_the_code_of_a_node_waits_in_the_graph_of_the_node():
    graph, config = _around(_invokes, InMemorySaver()), {"configurable": {"thread_id": "t"}}
    stopped = graph.invoke({}, config)
    assert stopped["__interrupt__"][0].value["questions"][0]["message"] == "Where?"
    assert graph.invoke(Command(resume="here"), config)["output"] == "here"
