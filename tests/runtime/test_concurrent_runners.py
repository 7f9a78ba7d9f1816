"""Two runners of one thread: the second gets an error that names the first, and nothing is done twice."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from modes import Mode
from psycopg import connect
from servers.postgres import Postgres
from wrapping import wrap_stream_methods

from crewgraph import Crew, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.errors import RunError, ThreadBusy
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.claims.postgres import PostgresClaims
from crewgraph.tools import tool

from .parts import agent, crew, task

AT: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture(autouse=True, params=["inline", "wrapped"])
def stream_methods(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that save inline, and runs of LangGraph's own loop, as where instrumentation has wrapped its methods."""
    if request.param == "wrapped":
        wrap_stream_methods(monkeypatch.setattr)


@pytest.fixture(params=["ours", "in memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "in memory":
        yield InMemorySaver()
        return
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as opened:
        yield opened


def meddling(meddle: Any) -> tuple[Crew, ScriptedLLM]:
    """A crew whose tool does something while the crew runs."""

    @tool
    def work() -> str:
        """Work."""
        with pytest.raises(
            ThreadBusy, match=r"thread `t` is being run by this process, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\. "
        ):
            meddle()
        return "worked"

    llm = ScriptedLLM([ToolUse("work", {}), "done"])
    return crew(task("a", agent(llm, tools=[work])), name="desk"), llm


def test_a_second_run_of_a_thread_is_refused_until_the_first_has_ended(mode: Mode, saver: Any):
    other, asked = crew(task("a", agent(ScriptedLLM(["again"]))), name="desk"), list[str]()

    def meddle() -> None:
        asked.append(next(iter(other.runs(checkpointer=saver, status="working"))).thread_id)
        try:
            other.resume("t", checkpointer=saver)
        except ThreadBusy:
            other.kickoff(thread_id="t", checkpointer=saver)

    made, llm = meddling(meddle)
    assert mode.kickoff(made, thread_id="t", checkpointer=saver).raw == "done"
    assert (asked, len(llm.requests)) == (["t"], 2)
    assert [run.status for run in other.runs(checkpointer=saver)] == ["done"]
    assert mode.resume(other, "t", checkpointer=saver).raw == "done"
    assert mode.kickoff(other, thread_id="t", checkpointer=saver).raw == "again"


def test_other_threads_run_meanwhile(mode: Mode, saver: Any):
    other = crew(task("a", agent(ScriptedLLM(["other"]))), name="desk")

    @tool
    def work() -> str:
        """Work."""
        return other.kickoff(thread_id="another", checkpointer=saver).raw

    made = crew(task("a", agent(ScriptedLLM([ToolUse("work", {}), "done"]), tools=[work])), name="desk")
    assert mode.kickoff(made, thread_id="t", checkpointer=saver).raw == "done"


def test_a_run_that_failed_or_waits_leaves_its_thread(mode: Mode, saver: Any):
    @tool(require_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    llm = ScriptedLLM([ConnectionError("down"), ToolUse("pay", {}), "done"])
    made = crew(task("a", agent(llm, tools=[pay])), name="desk")
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t", checkpointer=saver)
    assert [run.status for run in made.runs(checkpointer=saver)] == ["failed"]
    assert [run.status for run in made.runs(checkpointer=saver, status="open")] == ["failed"]
    assert isinstance(mode.resume(made, "t", checkpointer=saver), PendingCrew)
    assert [run.status for run in made.runs(checkpointer=saver)] == ["waiting"]
    assert mode.resume(made, "t", checkpointer=saver, answer=True).raw == "done"


def test_a_stream_holds_its_thread_until_it_is_closed(mode: Mode, saver: Any):
    made = crew(task("a", agent(ScriptedLLM(["one", "two"]))), task("b", agent(ScriptedLLM(["end"]))), name="desk")
    other = crew(task("a", agent(ScriptedLLM([]))), task("b", agent(ScriptedLLM(["end"]))), name="desk")
    items = mode.stream_items(made, thread_id="t", checkpointer=saver)
    for item in items:
        if item.kind == "task_finished":
            break
    with pytest.raises(ThreadBusy):
        other.resume("t", checkpointer=saver)
    items.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert mode.resume(other, "t", checkpointer=saver).raw == "end"


def test_a_graph_that_is_run_by_hand_claims_its_thread(mode: Mode, tmp_path: Path):
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        made, llm = meddling(lambda: made.resume("t", checkpointer=saver))
        graph = mode.compile(made, checkpointer=saver)
        assert mode.invoke(graph, {"inputs": {}}, AT)["a"]["raw"] == "done"
        assert len(llm.requests) == 2
        edited = meddling(lambda: graph.update_state(AT, {"a": None}))[0]
        mode.kickoff(edited, thread_id="t", checkpointer=saver)
        run = meddling(lambda: graph.invoke({"inputs": {}}, AT))[0]
        mode.kickoff(run, thread_id="t", checkpointer=saver)
        assert saver.claims.holder("t") is None


class Walk(Flow[dict[str, Any]]):
    meddle: Any = None

    @start()
    def begin(self) -> str:
        return "begun"

    @listen(begin)
    def go(self) -> str:
        if self.meddle is not None:
            with pytest.raises(ThreadBusy, match="is being run by this process"):
                self.meddle()
        return crew(task("a", agent(ScriptedLLM(["inside"])))).kickoff().raw


def test_a_second_run_of_a_flow_is_refused(mode: Mode, saver: Any):
    other, flow = Walk(checkpointer=saver), Walk(checkpointer=saver)
    statuses: list[list[str]] = []

    def meddle() -> None:
        statuses.append([run.status for run in other.runs(inside=True)])
        try:
            other.kickoff(inputs={"id": flow.flow_id})
        except ThreadBusy:
            other.resume(flow.flow_id)

    flow.meddle = meddle
    assert mode.run(flow.kickoff, flow.kickoff_async) == "inside"
    assert statuses == [["working"]]
    assert mode.run(other.resume, other.aresume, flow.flow_id) == "inside"
    step = next(iter(other.history(flow.flow_id)))
    assert other.fork(step) == "inside"


RUNNER = """
import sys, time
from pathlib import Path
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import RunError, ThreadBusy
from crewgraph.flow import Flow, listen, start
from crewgraph.tools import tool

kind, method_name, name = sys.argv[1:]

def record(what):
    with open("effects.txt", "a") as effects:
        effects.write(what + "\\n")

@tool(once=True)
def pay(to: str) -> str:
    "Pay."
    record("pay")
    Path("paying-" + name).touch()
    while not Path("go").exists():
        time.sleep(0.005)
    return "paid"

def said(messages):
    return "done" if any(one["role"] == "assistant" for one in messages) else ToolUse("pay", {"to": "anna"})

def team():
    clerk = Agent(role="clerk", goal="g", backstory="b", llm=ScriptedLLM(said), tools=[pay])
    return Crew(agents=[clerk], tasks=[Task(name="a", description="d", expected_output="e", agent=clerk)], name="desk")

class Journey(Flow[dict]):
    @start()
    def first(self):
        record("first")

    @listen(first)
    def second(self):
        return team().kickoff().raw

flow = Journey(checkpointer=True)
method_names = {
    "crew kickoff": lambda: team().kickoff(thread_id="t").raw,
    "crew resume": lambda: team().resume("t").raw,
    "flow kickoff": lambda: flow.kickoff(inputs={"id": "t"}),
    "flow resume": lambda: flow.resume("t"),
}
try:
    print(method_names[kind + " " + method_name]())
except ThreadBusy as error:
    print("busy:", error)
"""


@pytest.mark.parametrize("kind", ["crew", "flow"])
def test_of_processes_that_run_one_thread_one_does_the_work(tmp_path: Path, storage: Path, kind: str):
    (tmp_path / "runner.py").write_text(RUNNER)

    def runner(method_name: str, name: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "ignore", "runner.py", kind, method_name, name]
        return processes.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    first = runner("kickoff", "one")
    while not (tmp_path / "paying-one").exists():
        assert first.poll() is None, first.communicate()
    for method_name in ("resume", "kickoff"):
        reported, error = runner(method_name, "two").communicate(timeout=250)
        assert reported.startswith(f"busy: thread `t` is being run by process {first.pid} on "), (reported, error)
    first.kill()
    first.communicate()
    (tmp_path / "go").touch()
    said, error = runner("resume", "three").communicate(timeout=250)
    effects = (tmp_path / "effects.txt").read_text().split()
    assert effects == (["pay"] if kind == "crew" else ["first", "pay"]), (said, error)
    assert (said, "it is unknown whether it finished" in error) == ("", True)


ANSWERER = """
import asyncio, sys, time
from contextlib import nullcontext
from pathlib import Path
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from crewgraph.errors import ThreadBusy
from crewgraph.flow import Flow, human_feedback, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

how, database, answer = sys.argv[1:]

class Draft(Flow[dict]):
    @start()
    @human_feedback(message="Send it?")
    def write(self):
        return "a draft"

    @listen(write)
    def send(self, result):
        with open("effects.txt", "a") as effects:
            effects.write(result.feedback + "\\n")
        while not Path("go").exists():
            time.sleep(0.005)
        return result.feedback

given = {} if answer == "none" else Command(resume=answer)
AT = {"configurable": {"thread_id": "t"}}

async def answered():
    if not database.startswith("host"):
        return await Draft().compile(checkpointer=SqliteCheckpointer(database)).ainvoke(given, AT)
    async with AsyncPostgresSaver.from_conn_string(database) as saver:
        await saver.setup()
        return await Draft().compile(checkpointer=saver).ainvoke(given, AT)

def by_hand():
    if how == "async":
        return asyncio.run(answered())
    if not database.startswith("host"):
        return Draft().compile(checkpointer=SqliteCheckpointer(database)).invoke(given, AT)
    with PostgresSaver.from_conn_string(database) as saver:
        saver.setup()
        return Draft().compile(checkpointer=saver).invoke(given, AT)

try:
    print(by_hand().get("output"))
except ThreadBusy as error:
    print("busy:", error)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_processes_that_answer_a_graph_by_hand_at_once_one_continues(
    mode: Mode, tmp_path: Path, postgres: Postgres, kind: str
):
    (tmp_path / "answerer.py").write_text(ANSWERER)

    def answerer(database: str, answer: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "ignore", "answerer.py", mode.name, database, answer]
        return processes.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with postgres.database() if kind == "postgres" else nullcontext("runs.db") as database:
        assert answerer(database, "none").communicate(timeout=250) == ("None\n", "")
        first = answerer(database, "yes")
        while not (tmp_path / "effects.txt").exists():
            assert first.poll() is None, first.communicate()
            time.sleep(0.02)
        reported, error = answerer(database, "no").communicate(timeout=250)
        assert reported.startswith(f"busy: thread `t` is being run by process {first.pid} on "), (reported, error)
        (tmp_path / "go").touch()
        assert first.communicate(timeout=250) == ("yes\n", "")
        assert answerer(database, "no").communicate(timeout=250) == ("yes\n", "")
    assert (tmp_path / "effects.txt").read_text() == "yes\n"


def test_a_graph_by_hand_that_lost_its_thread_on_postgres_records_nothing(mode: Mode, postgres: Postgres):
    asked: list[Any] = []

    with postgres.database() as dsn, connect(dsn, autocommit=True) as other:

        @tool
        def work() -> str:
            """Work."""
            other.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks "  # waits until it has ended, and its locks are free
                "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            )
            asked.append(PostgresClaims(dsn).claim("t"))
            return "worked"

        llm = ScriptedLLM([ToolUse("work", {}), "done"], repeat_last=True)
        made = crew(task("a", agent(llm, tools=[work])), name="desk")

        async def arun() -> None:
            async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
                await saver.setup()
                await made.compile(checkpointer=saver).ainvoke({}, AT, durability="sync")

        def run() -> None:
            with PostgresSaver.from_conn_string(dsn) as saver:
                saver.setup()
                made.compile(checkpointer=saver).invoke({}, AT, durability="sync")

        with pytest.raises(ThreadBusy):
            mode.run(run, arun)
        asked[0].close()
    assert len(llm.requests) == 1


async def on_postgres(mode: Mode, dsn: str, method_name: str, made: Crew) -> str:
    if mode.asynchronous:
        async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
            if method_name == "kickoff":
                return (await made.akickoff(thread_id="lost", checkpointer=saver)).raw
            return (await made.aresume("lost", checkpointer=saver)).raw
    with PostgresSaver.from_conn_string(dsn) as saver:
        if method_name == "kickoff":
            return made.kickoff(thread_id="lost", checkpointer=saver).raw
        return made.resume("lost", checkpointer=saver).raw


def test_who_lost_his_thread_on_postgres_records_nothing(mode: Mode, postgres: Postgres):
    taken: list[Any] = []
    worked: list[str] = []

    @tool
    def work() -> str:
        """Work."""
        worked.append("worked")
        if not taken:
            with connect(postgres.dsn, autocommit=True) as server:
                server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'crewgraph claims%'"
                )
            deadline = time.monotonic() + 60
            while not taken and time.monotonic() < deadline:
                with suppress(ThreadBusy):
                    taken.append(PostgresClaims(postgres.dsn).claim("lost"))
        return "worked"

    llm = ScriptedLLM([ToolUse("work", {}), "done"])
    made = crew(task("a", agent(llm, tools=[work])), name="desk")
    with pytest.raises(ThreadBusy, match="thread `lost` is being run by process"):
        asyncio.run(on_postgres(mode, postgres.dsn, "kickoff", made))
    assert (worked, len(llm.requests)) == (["worked"], 1)
    with pytest.raises(ThreadBusy):
        asyncio.run(on_postgres(mode, postgres.dsn, "resume", made))
    taken[0].close()
    assert asyncio.run(on_postgres(mode, postgres.dsn, "resume", made)) == "done"
    assert worked == ["worked", "worked"]
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        saver.delete_thread("lost")


class Overtaken(InMemorySaver):
    """A saver that knows of no claims, where another process starts the same effect a moment earlier."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if task_id.endswith("?"):
            super().put_writes(config, [(channel, {"value": "another"}) for channel, _ in writes], task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)


def test_an_effect_that_another_run_has_started_is_not_started_again(mode: Mode):
    paid: list[str] = []

    @tool(once=True)
    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    llm = ScriptedLLM([ToolUse("pay", {"to": "anna"}), "done"])
    made = crew(task("a", agent(llm, tools=[pay])), name="desk")
    with pytest.raises(RunError, match="was started by another run of this thread, and is not started twice"):
        mode.kickoff(made, thread_id="t", checkpointer=Overtaken())
    assert paid == []
