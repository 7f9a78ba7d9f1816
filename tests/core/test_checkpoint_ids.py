"""Processes whose clocks differ: on every saver, a run continues from the checkpoint written last."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypedDict
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base import id as source
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from modes import Mode, graph_of
from servers.postgres import Postgres

from crewgraph import Agent, Crew, PendingCrew, ScriptedLLM, Task, ToolUse
from crewgraph.core.pregel import InlineGraph, move_past
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.claims.owned_graph import OwnedGraph
from crewgraph.tools import tool

_HOURS = 3_600
_MONTHS = st.integers(-90 * 24 * _HOURS, 90 * 24 * _HOURS)
OFFSETS = st.lists(st.one_of(st.sampled_from([-0.5, 0.5, -2 * _HOURS, 2 * _HOURS]), _MONTHS), min_size=2, max_size=6)


class Elsewhere:
    """What a process with another clock sees: an offset in seconds, and no ids made before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch, self._now = monkeypatch, time.time_ns

    def begin(self, offset: float) -> None:
        self._monkeypatch.setattr(source, "_last_v6_timestamp", None)
        self._monkeypatch.setattr(time, "time_ns", lambda: self._now() + int(offset * 1e9))


@pytest.fixture
def process() -> Iterator[Elsewhere]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Elsewhere(monkeypatch)


@pytest.fixture(params=["ours", "in memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "in memory":
        yield InMemorySaver()
        return
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as opened:
        yield opened


def test_the_installed_langgraph_makes_ids_as_expected():
    with patch.object(source, "_last_v6_timestamp", None):
        first = source.uuid6(clock_seq=3)
        move_past(str(first))
        assert vars(source)["_last_v6_timestamp"] == first.time
        far = source.UUID(int=(first.time + 10**12 >> 12) << 80 | (first.time + 10**12 & 0xFFF) << 64, version=6)
        move_past(str(far))
        assert str(source.uuid6(clock_seq=3)) > str(far)
        move_past(str(first))
        assert str(source.uuid6(clock_seq=3)) > str(far)


@pytest.mark.parametrize("other", ["", "1", "not-a-uuid", "x" * 36, "1f0c8e0e-5b7e-4f2c-8000-0123456789ab", None])
def test_ids_of_another_form_are_left_alone(other: str | None):
    before = vars(source)["_last_v6_timestamp"]
    move_past(other)
    assert vars(source)["_last_v6_timestamp"] == before


def paid() -> tuple[Any, list[str]]:
    calls: list[str] = []

    @tool("Pay", once=True)
    def pay(to: str) -> str:
        """Pay somebody."""
        calls.append(to)
        return f"paid {to}"

    return pay, calls


@pytest.mark.parametrize("offset", [-0.5, -3 * _HOURS, 3 * _HOURS])
def test_a_run_resumed_under_another_clock_repeats_nothing(mode: Mode, saver: Any, process: Elsewhere, offset: float):
    pay, calls = paid()
    llm = ScriptedLLM([ToolUse("Pay", {"to": "anna"}), "paid", ConnectionError("down"), ConnectionError("down"), "end"])
    worker = Agent(role="Clerk", goal="pay", backstory="pays", llm=llm, tools=[pay], max_retry_limit=0)
    tasks = [Task(name=name, description=name, expected_output="text", agent=worker) for name in ("pay", "report")]
    crew = Crew(agents=[worker], tasks=tasks, name="office")
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, thread_id="t", checkpointer=saver)
    process.begin(offset)
    with pytest.raises(ConnectionError):
        mode.resume(crew, "t", checkpointer=saver)
    assert mode.resume(crew, "t", checkpointer=saver).raw == "end"
    assert mode.resume(crew, "t", checkpointer=saver).raw == "end"
    assert calls == ["anna"]


@given(offsets=OFFSETS)
def test_each_kickoff_of_a_thread_returns_its_own_output(offsets: list[float]):
    with pytest.MonkeyPatch.context() as monkeypatch, closing(SqliteCheckpointer(":memory:")) as ours:
        process = Elsewhere(monkeypatch)
        for saver in (ours, InMemorySaver()):
            llm = ScriptedLLM([f"answer {number}" for number in range(len(offsets))])
            worker = Agent(role="Clerk", goal="answer", backstory="answers", llm=llm)
            crew = Crew(agents=[worker], tasks=[Task(description="answer", expected_output="text", agent=worker)])
            for number, offset in enumerate(offsets):
                process.begin(offset)
                assert crew.kickoff(thread_id="t", checkpointer=saver).raw == f"answer {number}"
                process.begin(-offset)
                assert crew.resume("t", checkpointer=saver).raw == f"answer {number}"
            ids = [item.checkpoint["id"] for item in saver.list({"configurable": {"thread_id": "t"}})]
            parents = {
                item.checkpoint["id"]: (item.parent_config or {}).get("configurable", {}).get("checkpoint_id", "")
                for item in saver.list({"configurable": {"thread_id": "t"}})
            }
            assert ids == sorted(ids, reverse=True)
            assert all(parent < child for child, parent in parents.items())


class State(TypedDict):
    steps: int


class _Graph(OwnedGraph, InlineGraph):
    """A graph of ours."""


def step(state: State) -> State:
    return {"steps": state["steps"] + 1}


def counting(saver: Any) -> Any:
    return _Graph(**vars(graph_of(State, {"step": step}, checkpointer=saver)))


AT: Any = {"configurable": {"thread_id": "t"}}


def test_an_edit_and_a_fork_under_another_clock_are_the_latest(mode: Mode, saver: Any, process: Elsewhere):
    graph = counting(saver)
    mode.invoke(graph, {"steps": 0}, AT)
    first = list(graph.get_state_history(AT))[-1].config
    process.begin(-_HOURS)
    mode.run(graph.update_state, graph.aupdate_state, AT, {"steps": 10})
    assert mode.state(graph, AT).values == {"steps": 10}
    process.begin(-2 * _HOURS)
    mode.invoke(graph, {"steps": 20}, first)
    assert mode.state(graph, AT).values == {"steps": 21}
    process.begin(-3 * _HOURS)
    mode.run(graph.update_state, graph.aupdate_state, first, {"steps": 30})
    assert mode.state(graph, AT).values == {"steps": 30}


def test_plain_langgraph_graphs_on_our_saver_follow_the_latest(process: Elsewhere, tmp_path: Path):
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        compiled = graph_of(State, {"step": step}, checkpointer=saver)
        for number, offset in enumerate([0, -_HOURS, _HOURS, -2 * _HOURS]):
            process.begin(offset)
            compiled.invoke({"steps": number * 10}, AT)
            assert compiled.get_state(AT).values == {"steps": number * 10 + 1}


def test_our_saver_returns_what_was_written_last_by_whoever_never_read(process: Elsewhere, tmp_path: Path):
    from langgraph.checkpoint.base import empty_checkpoint

    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        top: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        written: list[str] = []
        for offset in (0, -_HOURS, -2 * _HOURS, _HOURS):
            process.begin(offset)
            checkpoint = empty_checkpoint()
            saver.put(top, checkpoint, {"source": "input", "step": -1, "parents": {}}, {})
            written.append(checkpoint["id"])
            stored = saver.get_tuple(top)
            assert stored is not None
            assert stored.checkpoint["id"] == written[-1]
            assert next(iter(saver.list(top))).checkpoint["id"] == written[-1]
            assert [item.checkpoint.checkpoint["id"] for item in saver.latest()] == [written[-1]]
        process.begin(-3 * _HOURS)
        checkpoint = empty_checkpoint()
        saver.put(top, checkpoint, {"source": "input", "step": -1, "parents": {}}, {})
        saver.prune(["t"], count=2)
        assert {item.checkpoint["id"] for item in saver.list(top)} == {checkpoint["id"], max(written)}
        stored = saver.get_tuple(top)
        assert stored is not None
        assert stored.checkpoint["id"] == checkpoint["id"]


def test_an_answer_under_another_clock_reaches_the_waiting_run(mode: Mode, saver: Any, process: Elsewhere):
    pay, calls = paid()
    approved = pay.model_copy(update={"require_approval": True})
    llm = ScriptedLLM([ToolUse("Pay", {"to": "anna"}), "done"])
    worker = Agent(role="Clerk", goal="pay", backstory="pays", llm=llm, tools=[approved])
    crew = Crew(agents=[worker], tasks=[Task(description="pay", expected_output="text", agent=worker)], name="office")
    waiting = mode.kickoff(crew, thread_id="t", checkpointer=saver)
    assert isinstance(waiting, PendingCrew)
    process.begin(-_HOURS)
    assert mode.resume(crew, "t", answer="approve", checkpointer=saver).raw == "done"
    process.begin(-2 * _HOURS)
    assert mode.resume(crew, "t", checkpointer=saver).raw == "done"
    assert calls == ["anna"]


class Visits(Flow[dict[str, Any]]):
    @start()
    def first(self) -> str:
        self.state["visits"] = self.state.get("visits", 0) + 1
        return "first"

    @listen(first)
    def second(self, text: str) -> str:
        return f"{text} {self.state['visits']}"


@given(offsets=OFFSETS)
def test_each_run_of_a_flow_continues_from_the_one_before(offsets: list[float]):
    with pytest.MonkeyPatch.context() as monkeypatch, closing(SqliteCheckpointer(":memory:")) as ours:
        process = Elsewhere(monkeypatch)
        for saver in (ours, InMemorySaver()):
            first = Visits(checkpointer=saver)
            first.kickoff()
            for number, offset in enumerate(offsets, 2):
                process.begin(offset)
                flow = Visits(checkpointer=saver)
                assert flow.kickoff(inputs={"id": first.flow_id}) == f"first {number}"
                assert flow.state["visits"] == number


def test_postgres_runs_follow_the_latest_whatever_the_clock(process: Elsewhere, postgres: "Postgres"):
    llm = ScriptedLLM([f"answer {number}" for number in range(4)])
    worker = Agent(role="Clerk", goal="answer", backstory="answers", llm=llm)
    crew = Crew(agents=[worker], tasks=[Task(description="answer", expected_output="text", agent=worker)])
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        for number, offset in enumerate([0, -_HOURS, _HOURS, -2 * _HOURS]):
            process.begin(offset)
            assert crew.kickoff(thread_id="clocks", checkpointer=saver).raw == f"answer {number}"
            assert crew.resume("clocks", checkpointer=saver).raw == f"answer {number}"
