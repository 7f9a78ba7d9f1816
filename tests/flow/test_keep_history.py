"""`keep_history`: the number of stored checkpoints is bounded, and always sufficient for a resume."""

import os
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

import processes
import pytest
from combinations import of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from modes import Mode
from pydantic import ValidationError
from servers.postgres import Postgres

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import DefinitionError
from crewgraph.flow import Flow, listen, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import kickoff, resume

ROOT = Path(__file__).parent.parent.parent
BETWEEN = 64 + 2  # steps between two looks at the past


def stored_checkpoints(saver: Any, thread_id: str) -> int:
    return len(list(saver.list({"configurable": {"thread_id": thread_id}})))


def crew(*answers: Any, **more: Any) -> Crew:
    worker = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM([*answers]), max_retry_limit=0)
    tasks = [
        Task(name=name, description=f"do {name}", expected_output="a word", agent=worker) for name in ("one", "two")
    ]
    return Crew(agents=[worker], tasks=tasks, **more)


class Loop(Flow[dict[str, Any]]):
    max_method_calls = 10**6

    @start("again")
    def step(self) -> None:
        self.state["n"] = self.state.get("n", 0) + 1
        if self.state["n"] == self.state.get("broken"):
            raise OSError("broken")
        if self.state.get("seen") is not None and self.state["n"] % 7 == 0:
            self.state["seen"] = max(self.state["seen"], stored_checkpoints(self.checkpointer, self.flow_id))

    @router(step)
    def enough(self) -> str:
        return "again" if self.state["n"] < self.state["rounds"] else "done"

    @listen("done")
    def end(self) -> int:
        return self.state["n"]


@pytest.mark.parametrize(("wish", "count"), [("latest", 1), (100, 100)])
def test_requested_number_of_checkpoints_remains_and_few_more_meanwhile(
    mode: Mode, saver: SqliteCheckpointer, wish: Any, count: int
):
    flow = Loop(checkpointer=saver, keep_history=wish)
    assert kickoff(mode, flow, {"rounds": 150, "seen": 0}) == 150
    assert stored_checkpoints(saver, flow.flow_id) == count
    assert count < flow.state["seen"] <= count + max(BETWEEN, count + 2)
    assert len(flow.history()) == count
    assert [step.completed for step in flow.history()][-1] == "end"
    assert kickoff(mode, flow, {"id": flow.flow_id, "n": 0}) == 150


def test_all_checkpoints_remain_by_default(mode: Mode, saver: SqliteCheckpointer):
    flow = Loop(checkpointer=saver)
    kickoff(mode, flow, {"rounds": 80})
    assert len(flow.history()) == 162


def test_failed_run_resumes_from_its_only_checkpoint(mode: Mode, saver: SqliteCheckpointer):
    class Latest(Loop):
        keep_history = "latest"

    flow = Latest(checkpointer=saver)
    with pytest.raises(OSError, match="broken"):
        kickoff(mode, flow, {"rounds": 130, "broken": 120})
    assert 1 < stored_checkpoints(saver, flow.flow_id) <= BETWEEN
    flow.fork(flow.history()[-1], {"broken": None, "seen": 0})
    assert (flow.state["n"], stored_checkpoints(saver, flow.flow_id)) == (130, 1)
    assert flow.state["seen"] < 30  # what the attempt before left was removed at once


class Asking(Flow[dict[str, Any]]):
    keep_history = "latest"

    @start()
    def begin(self) -> None:
        self.state["begun"] = self.state.get("begun", 0) + 1

    @listen(begin)
    def ask_twice(self) -> str:
        return f"{self.ask('Which colour?')} {self.ask('Why?')}"

    @listen(begin)
    def beside(self) -> str:
        return crew("a", "b").kickoff().raw

    @listen(ask_twice)
    def end(self, answers: str) -> str:
        return f"{answers} {self.state['begun']}"


def test_questions_answers_and_parallel_completions_remain(mode: Mode, saver: SqliteCheckpointer):
    waiting = kickoff(mode, Asking(checkpointer=saver))
    assert stored_checkpoints(saver, waiting.flow_id) == 1
    (listed,) = Asking(checkpointer=saver).pending()
    assert [question.message for question in listed.questions] == ["Which colour?"]
    waiting = resume(mode, Asking(checkpointer=saver), waiting.flow_id, "blue")
    assert [question.message for question in waiting.questions] == ["Why?"]
    assert resume(mode, Asking(checkpointer=saver), waiting.flow_id, "the sea") == "blue the sea 1"
    assert list(saver.threads()) == [waiting.flow_id]


class Team(Flow[dict[str, Any]]):
    max_method_calls = 1_000

    @start("again")
    def work(self) -> str:
        self.state["n"] = self.state.get("n", 0) + 1
        answer = crew("a", *(["b"] if self.state["n"] != 70 else [OSError("down"), "b"])).kickoff().raw
        self.state["seen"] = max(self.state.get("seen", 0), len(self.checkpointer.threads()))
        return answer

    @router(work)
    def enough(self) -> str:
        return "again" if self.state["n"] < 71 else "done"


def test_runs_inside_methods_go_with_the_past_they_belong_to(mode: Mode, saver: SqliteCheckpointer):
    flow = Team(checkpointer=saver, keep_history="latest")
    saver.copy_thread(kickoff_of_another(saver), f"{flow.flow_id}/notes")
    with pytest.raises(OSError, match="down"):
        kickoff(mode, flow)
    (open_one,) = crew().runs(checkpointer=saver, inside=True, status="open")
    assert open_one.inside == flow.flow_id
    assert kickoff(mode, Team(checkpointer=saver, keep_history="latest"), {"id": flow.flow_id}) == "done"
    assert list(saver.threads(flow.flow_id)) == [flow.flow_id, f"{flow.flow_id}/notes"]
    assert 30 < flow.state["seen"] < 2 + BETWEEN
    assert crew().runs(checkpointer=saver, inside=True) == crew().runs(checkpointer=saver)


def kickoff_of_another(saver: SqliteCheckpointer) -> str:
    return str(crew("a", "b").kickoff(checkpointer=saver).thread_id)


def test_with_all_of_the_past_the_runs_inside_stay(mode: Mode, saver: SqliteCheckpointer):
    class Inner(Loop):
        keep_history = "latest"

    class Outer(Flow[dict[str, Any]]):
        @start()
        def first(self) -> Any:
            return Inner(rounds=40).kickoff()

    flow = Outer(checkpointer=saver)
    assert kickoff(mode, flow) == 40
    (inner,) = Inner(checkpointer=saver).runs(inside=True)
    assert (inner.inside, stored_checkpoints(saver, inner.thread_id)) == (flow.flow_id, 1)


@pytest.mark.parametrize("granularity", ["task", "step"])
def test_crew_resumes_from_its_latest_checkpoint(mode: Mode, saver: SqliteCheckpointer, granularity: str):
    team = crew("a", OSError("down"), "b", keep_history="latest", checkpointer=saver)
    with pytest.raises(OSError, match="down"):
        mode.kickoff(team, thread_id="t", granularity=granularity)
    assert mode.resume(team, "t").raw == "b"
    assert stored_checkpoints(saver, "t") == 1
    assert mode.resume(team, "t").raw == "b"
    assert mode.kickoff(crew("a", "b", keep_history=3), thread_id="u", checkpointer=saver).raw == "b"
    assert stored_checkpoints(saver, "u") == 3
    assert len(list(mode.stream_items(crew("a", "b", keep_history=1), thread_id="v", checkpointer=saver))) > 2
    assert stored_checkpoints(saver, "v") == 1


@pytest.mark.parametrize("wish", ["newest", 0, -1, True, 1.5])
def test_invalid_keep_history_is_refused(mode: Mode, wish: Any):
    with pytest.raises(
        DefinitionError, match=r'`keep_history` of flow `Loop` is .*; pass "all", "latest", or a number'
    ):
        kickoff(mode, Loop(keep_history=wish), {"rounds": 1})
    with pytest.raises(ValidationError, match="keep_history"):
        crew(keep_history=wish)


def test_checkpointer_without_removal_warns_once_and_keeps_all(mode: Mode):
    saver = InMemorySaver()
    flow = Loop(checkpointer=saver, keep_history="latest")
    with pytest.warns(UserWarning, match="of flow `Loop` has no effect: a `InMemorySaver` cannot .* single") as answer:
        kickoff(mode, flow, {"rounds": 40})
    assert len(answer) == 1
    assert len(flow.history()) == 82
    with pytest.warns(UserWarning, match="of crew `crew` has no effect: a `InMemorySaver`"):
        mode.kickoff(crew("a", "b", keep_history=5), checkpointer=saver)


def test_postgres_keeps_the_latest_alone_or_all(postgres: "Postgres"):
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        saver.setup()
        flow = Loop(checkpointer=saver, keep_history="latest")
        assert flow.kickoff(rounds=100, seen=0) == 100
        assert (stored_checkpoints(saver, flow.flow_id), flow.state["seen"] <= BETWEEN) == (1, True)
        with pytest.warns(UserWarning, match="cannot keep or remove the latest 5 checkpoints"):
            Loop(checkpointer=saver, keep_history=5).kickoff(rounds=2)


def played(folder: Path, mode: Mode, rounds: int, point: int) -> tuple[int, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    own = {"LEDGER": str(folder / "ledger"), "RUNS": str(folder / "runs.db")}
    env = {**os.environ, "PYTHONPATH": path, **own}
    command = [sys.executable, "-W", "ignore", "-m", "flow.killed_loop", mode.name, str(rounds), str(point)]
    ran = processes.run(command, capture_output=True, text=True, timeout=250, env=env)
    return ran.returncode, ran.stdout.strip() or ran.stderr


# By the rows whose removal the processes die at, one after the other: of writes, checkpoints, values, and of crews inside of
# methods; in the middle of a run, and in what the process before has left.
POINTS = {"sync": (1, 345, 100, 900), "async": (250, 345)}


def test_a_process_killed_while_it_removes_the_past_loses_nothing(tmp_path: Path, mode: Mode):
    rounds, points = 150, POINTS[mode.name]
    for point in points:
        status, answer = played(tmp_path, mode, rounds, point)
        assert status == -9, answer
    assert played(tmp_path, mode, rounds, 0) == (0, f"{rounds} ['rounds'] 1")
    lines = Counter((tmp_path / "ledger").read_text().splitlines())
    steps = [lines[f"step {n}"] for n in range(1, rounds + 1)]
    assert (min(steps), sum(steps) - rounds <= len(points)) == (1, True)
    assert [lines[f"model {n}"] for n in range(5, rounds + 1, 5)] == [1] * (rounds // 5)


class Weighed(Loop):
    def __init__(self, file: Path, **more: Any) -> None:
        super().__init__(**more)
        self.connection = sqlite3.connect(file, check_same_thread=False)
        self.lock = Lock()  # the next round may begin to weigh before this one has ended
        self.sizes: list[int] = []

    @listen("again")
    def weigh(self) -> None:
        """Bytes that hold something."""
        with self.lock:
            pages, free, size = (
                self.connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        self.sizes.append((pages - free) * size)


def test_cost_per_round_is_constant(mode: Mode, saver: SqliteCheckpointer, tmp_path: Path):
    rounds = of(320, 600)
    sizes: dict[str, list[int]] = {}
    for wish in ("all", "latest"):
        flow = Weighed(tmp_path / "runs.db", checkpointer=saver, keep_history=wish)
        assert kickoff(mode, flow, {"rounds": rounds}) in (rounds, None)
        flow.connection.close()
        sizes[wish] = flow.sizes
    middle = rounds // 2
    first, half, last = (sizes["all"][n] for n in (0, middle - 1, rounds - 2))
    print(f"\n{(half - first) / middle:.0f} bytes a round, then {(last - half) / middle:.0f}")
    assert last - half <= 1.1 * (half - first)
    growth = max(sizes["latest"][middle:]) - max(sizes["latest"][:middle])
    assert growth < 0.05 * (last - half)  # of pages, the last is seldom full
