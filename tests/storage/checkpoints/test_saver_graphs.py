"""Real graphs on the checkpointer behave as on LangGraph's own in-memory saver."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from storage.checkpoints.saver_graphs import MODES, Looped, Mode, State, chain, describe, looped, on, run
from waiting import wait_until

from crewgraph.storage.checkpoints import SqliteCheckpointer


def travelled(saver: BaseCheckpointSaver[Any], mode: Mode) -> list[Any]:
    """Run to a question, answer it, go back and fork, edit and run on."""
    graph = looped(saver)
    result = run(graph, {"log": [], "count": 0}, on("t"), mode)
    answered = run(graph, Command(resume="yes"), on("t"), mode)
    past = [s for s in graph.get_state_history(on("t")) if s.next == ("join",)][0]
    replayed = run(graph, None, past.config, mode)
    edited = graph.update_state(past.config, {"count": 7, "log": ["edited"]}, as_node="right")
    forked = run(graph, None, edited, mode)
    run(graph, Command(resume="no"), on("t"), mode)
    return [result["log"], answered, replayed["log"], forked["log"], describe(graph, on("t"))]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_with_questions_forks_and_edits_reads_as_on_the_in_memory_saver(mode: Mode, tmp_path: Path):
    expected = travelled(InMemorySaver(), mode)
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        assert travelled(saver, mode) == expected
        here = describe(looped(saver), on("t"))
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as reopened:
        assert describe(looped(reopened), on("t")) == here == expected[-1]
    assert len(here) > 15


@pytest.mark.parametrize("mode", MODES)
def test_a_question_is_answered_in_another_session(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        assert run(looped(saver), {"log": [], "count": 0}, on("t"), mode)["__interrupt__"][0].value == "after 3 rounds?"
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        assert run(looped(saver), Command(resume="yes"), on("t"), mode)["answer"] == "yes"


def test_forks_at_equal_version_numbers_keep_their_own_values():
    with SqliteCheckpointer(":memory:") as saver:
        graph = chain(4, saver)
        run(graph, {"inputs": "i"}, on("t"))
        past = [s for s in graph.get_state_history(on("t")) if s.next == ("n2",)][0]
        forks = [graph.update_state(past.config, {"inputs": name}, as_node="n1") for name in ("a", "b", "c")]
        ends = [run(graph, None, fork) for fork in forks]
        assert [end["inputs"] for end in ends] == ["a", "b", "c"]
        assert [graph.get_state(fork).values["inputs"] for fork in forks] == ["a", "b", "c"]
        assert graph.get_state(past.config).values == past.values
        heads = [s.values["inputs"] for s in graph.get_state_history(on("t")) if s.next == ()]
        assert sorted(heads) == ["a", "b", "c", "i"]


def is_stored(saver: SqliteCheckpointer, node: str) -> bool:
    """Whether what a node of a step that has not ended wrote is stored."""
    with saver:
        stored = saver.get_tuple(on("t"))
    return stored is not None and ("log", [node]) in [write[1:] for write in stored.pending_writes or ()]


def test_a_failed_node_runs_again_and_its_siblings_do_not(tmp_path: Path):
    ran: list[str] = []

    def steady(state: State) -> State:
        ran.append("steady")
        return {"log": ["steady"]}

    def shaky(state: State) -> State:
        ran.append("shaky")
        if ran.count("shaky") == 1:
            wait_until(lambda: is_stored(SqliteCheckpointer(tmp_path / "runs.sqlite"), "steady"))
            raise RuntimeError("first time")
        return {"log": ["shaky"]}

    builder: Any = StateGraph(Looped)
    for node in (steady, shaky):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver, pytest.raises(RuntimeError, match="first time"):
        run(builder.compile(checkpointer=saver), {"log": []}, on("t"))
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        assert run(builder.compile(checkpointer=saver), None, on("t")) == {"log": ["shaky", "steady"]}
    assert sorted(ran) == ["shaky", "shaky", "steady"]


def test_two_hundred_runs_at_once_on_several_event_loops_do_not_mix(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver, ThreadPoolExecutor(4) as pool:
        graph = chain(3, saver)

        async def fifty(start: int) -> list[str]:
            runs = [graph.ainvoke({"inputs": str(i)}, on(f"t{i}"), durability="sync") for i in range(start, start + 50)]
            return [end["inputs"] for end in await asyncio.gather(*runs)]

        def loop(start: int) -> list[str]:
            return asyncio.run(fifty(start))

        ends = [end for loops in pool.map(loop, range(0, 200, 50)) for end in loops]
        assert ends == [str(i) for i in range(200)]
        assert [graph.get_state(on(f"t{i}")).values["inputs"] for i in range(200)] == ends
