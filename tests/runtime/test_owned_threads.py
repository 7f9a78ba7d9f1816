"""One run owns a thread, whatever saver a server sets and however its claim was lost; who lost one stores and starts nothing."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypedDict

import processes
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from modes import Mode, graph_of
from psycopg import connect
from servers.postgres import Postgres
from waiting import LONG, wait_until
from wrapping import wrap_stream_methods

from crewgraph import Agent, Crew, Flow, ScriptedLLM, ToolUse, listen, start
from crewgraph.core.pregel import CLAIM
from crewgraph.errors import MissingThread, ThreadBusy
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.checkpoints.strict import strictly_reading
from crewgraph.storage.claims.files import file_claims
from crewgraph.storage.claims.keepers import claim_keeper
from crewgraph.storage.claims.postgres import PostgresClaims
from crewgraph.tools import tool

from .parts import agent, crew, task

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}


@pytest.fixture(autouse=True, params=["inline", "wrapped"])
def stream_methods(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that save inline, and runs of LangGraph's own loop, as where instrumentation has wrapped its methods."""
    if request.param == "wrapped":
        wrap_stream_methods(monkeypatch.setattr)


RESUMES = """
import sys
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

@tool
def wait() -> str:
    "Wait."
    return "waited"

@tool
def pay() -> str:
    "Pay."
    with open(sys.argv[2], "a") as paid:
        paid.write("second\\n")
    return "paid"

def reply(messages):
    return [ToolUse("wait", {}), ToolUse("pay", {}), "done"][sum(one["role"] == "assistant" for one in messages)]

clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(reply), tools=[wait, pay])
made = Crew(name="desk", agents=[clerk], tasks=[Task(name="a", description="a", expected_output="a line", agent=clerk)])
print(made.resume("t", checkpointer=SqliteCheckpointer(sys.argv[1])).raw)
"""


def paying(lose: Callable[[], None], paid: Path) -> Crew:
    """A crew that waits, in the meantime loses its thread, and then pays."""

    @tool
    def wait() -> str:
        """Wait."""
        lose()
        return "waited"

    @tool
    def pay() -> str:
        """Pay."""
        with paid.open("a") as file:
            file.write("first\n")
        return "paid"

    def reply(messages: Any) -> Any:
        return [ToolUse("wait", {}), ToolUse("pay", {}), "done"][sum(one["role"] == "assistant" for one in messages)]

    return crew(task("a", agent(ScriptedLLM(reply), tools=[wait, pay])), name="desk")


@pytest.mark.parametrize("by_hand", [False, True], ids=["kickoff", "compiled"])
def test_a_run_whose_claims_file_was_replaced_stops_before_its_next_effect(mode: Mode, tmp_path: Path, by_hand: bool):
    database, paid = tmp_path / "runs.db", tmp_path / "paid.txt"

    def lose() -> None:
        Path(f"{database}-claims").unlink()
        command = [sys.executable, "-W", "ignore", "-c", RESUMES, str(database), str(paid)]
        second = processes.run(command, capture_output=True, text=True, timeout=200)
        assert (second.stdout, second.stderr) == ("done\n", "")

    with SqliteCheckpointer(database) as saver:
        made = paying(lose, paid)
        with pytest.raises(ThreadBusy, match="thread `t` is being run by process"):
            if by_hand:
                mode.invoke(mode.compile(made, checkpointer=saver), {}, AT)
            else:
                mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert paid.read_text() == "second\n"
        assert mode.resume(made, "t", checkpointer=saver).raw == "done"
    assert paid.read_text() == "second\n"


@pytest.mark.parametrize("then", ["claimed", "deleted"])
def test_a_new_run_that_loses_its_thread_before_it_records_anything_stops_before_its_first_effect(
    mode: Mode, tmp_path: Path, then: str
):
    database, paid = tmp_path / "runs.db", list[str]()

    @tool
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    def reply(messages: Any) -> Any:
        thread = next(iter(made.runs(checkpointer=saver))).thread_id
        if then == "deleted":
            saver.delete_thread(thread)
        else:
            Path(f"{database}-claims").unlink()
            with processes.Popen([sys.executable, "-c", CLAIMS, str(database), thread]) as second:
                assert second.wait(60) == 0
        return ToolUse("pay", {})

    with SqliteCheckpointer(database) as saver:
        made = crew(task("a", agent(ScriptedLLM(reply), tools=[pay])), name="desk")
        with pytest.raises(ThreadBusy):
            mode.kickoff(made, checkpointer=saver)
    assert paid == []


CLAIMS = """
import sys
from crewgraph.storage.checkpoints import SqliteCheckpointer
SqliteCheckpointer(sys.argv[1]).claims.claim(sys.argv[2]).close()
"""


def test_a_run_whose_thread_is_deleted_stores_nothing_more(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = paying(lambda: saver.delete_thread("t"), tmp_path / "paid.txt")
        with pytest.raises(ThreadBusy, match="thread `t` was deleted while it was run"):
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert saver.get_tuple(AT) is None
    assert not (tmp_path / "paid.txt").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere locks belong to the process")
def test_a_program_that_reads_the_claims_file_keeps_its_claims(tmp_path: Path):
    keeper = file_claims(str(tmp_path / "runs.db"))
    with closing(keeper.claim("t")) as claim:
        (tmp_path / "runs.db-claims").read_bytes()
        asks = "import sys; from crewgraph.storage.claims.files import file_claims; print(file_claims(sys.argv[1]).holder('t'))"
        command = [sys.executable, "-c", asks, str(tmp_path / "runs.db")]
        asked = processes.run(command, capture_output=True, text=True, check=True)
        assert asked.stdout.startswith("process ")
        claim.verify()


FORKS = """
import os, sys, time
from crewgraph.storage.claims.files import file_claims
claim = file_claims(sys.argv[1]).claim("t")
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(60)
sys.stdin.readline()
"""


FORKED_IN_A_TOOL = """
import os, sys
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

@tool
def fork() -> str:
    "Fork."
    if child := os.fork():
        os.waitpid(child, 0)
    return "forked"

@tool
def pay() -> str:
    "Pay."
    print("paid", flush=True)
    return "paid"

replies = [ToolUse("fork", {}), ToolUse("pay", {}), "done"]
clerk = Agent(role="r", goal="g", backstory="b", tools=[fork, pay], llm=ScriptedLLM(replies, native_tools=True))
crew = Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
try:
    print(crew.kickoff(thread_id="t", checkpointer=SqliteCheckpointer(sys.argv[1])).raw, flush=True)
except Exception as error:
    print(type(error).__name__, flush=True)
    os._exit(0)
"""


def test_a_forked_child_does_not_go_on_with_the_run(tmp_path: Path):
    command = [sys.executable, "-c", FORKED_IN_A_TOOL, str(tmp_path / "runs.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["ClaimLost", "paid", "done"]


def test_a_child_that_outlives_its_parent_holds_none_of_its_claims(tmp_path: Path):
    database = str(tmp_path / "runs.db")
    pipe = subprocess.PIPE
    with processes.Popen([sys.executable, "-c", FORKS, database], stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            with pytest.raises(ThreadBusy):
                file_claims(database).claim("t")
            parent.kill()
            parent.wait()
            file_claims(database).claim("t").close()
        finally:
            os.kill(child, signal.SIGKILL)


@asynccontextmanager
async def saver_of(kind: str, folder: Path, postgres: Postgres) -> AsyncGenerator[Any]:
    if kind == "AsyncSqliteSaver":
        async with AsyncSqliteSaver.from_conn_string(str(folder / "theirs.db")) as saver:
            yield saver
    elif kind == "SqliteSaver":
        with SqliteSaver.from_conn_string(str(folder / "theirs.db")) as saver:
            yield saver
    elif kind == "InMemorySaver":
        yield InMemorySaver()
    elif kind == "SqliteCheckpointer":
        with SqliteCheckpointer(folder / "ours.db") as saver:
            yield saver
    else:
        with postgres.database() as dsn:
            with PostgresSaver.from_conn_string(dsn) as saver:
                saver.setup()
                if kind == "PostgresSaver":
                    yield saver
                    return
            async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
                yield saver


def _set(graph: Any, saver: Any) -> Any:
    graph.checkpointer = saver
    return graph


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "given": lambda made, saver: made.compile(checkpointer=saver),
    "copied": lambda made, saver: made.compile().copy(update={"checkpointer": saver}),
    "set": lambda made, saver: _set(made.compile(), saver),
    "in the config": lambda made, saver: made.compile().with_config({"configurable": {"__pregel_checkpointer": saver}}),
}


class Two(Flow[dict[str, Any]]):
    ran: Any = None

    @start()
    def first(self) -> str:
        self.ran.append("first")
        time.sleep(0.2)
        return "one"

    @listen(first)
    def second(self) -> str:
        self.ran.append("second")
        return "two"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind",
    ["AsyncSqliteSaver", "SqliteSaver", "InMemorySaver", "SqliteCheckpointer", "PostgresSaver", "AsyncPostgresSaver"],
)
@pytest.mark.parametrize("of", ["crew", "flow"])
def test_of_two_runs_of_a_thread_one_runs_whoever_set_the_saver(
    tmp_path: Path, postgres: Postgres, kind: str, way: str, of: str
):
    ran = list[str]()

    def reply(messages: Any) -> str:
        ran.append("asked")
        time.sleep(0.2)
        return "done"

    made: Any = crew(task("a", agent(ScriptedLLM(reply))), task("b", agent(ScriptedLLM(reply))), name="desk")
    if of == "flow":
        made = Two()
        made.ran = ran

    async def run() -> list[Any]:
        async with saver_of(kind, tmp_path, postgres) as saver:
            graph = WAYS[way](made, saver)
            if "Async" in kind or kind in ("InMemorySaver", "SqliteCheckpointer"):
                both = await asyncio.gather(*(graph.ainvoke({}, AT) for _ in "ab"), return_exceptions=True)
                assert not isinstance(await graph.ainvoke({}, AT), ThreadBusy)  # it was given back
            else:
                threads = (asyncio.to_thread(graph.invoke, {}, AT) for _ in "ab")
                both = await asyncio.gather(*threads, return_exceptions=True)
                assert not isinstance(graph.invoke({}, AT), ThreadBusy)
            return both

    both = asyncio.run(run())
    assert sorted(type(one).__name__ for one in both)[0] == "ThreadBusy", both
    assert len(ran) == 4


def test_edits_of_a_running_thread_are_refused_in_its_nested_graphs_too(tmp_path: Path):
    refused = list[BaseException]()

    @tool
    def work() -> str:
        """Work."""
        (state,) = graph.get_state(AT, subgraphs=True).tasks
        for config in (AT, state.state.config):
            try:
                graph.update_state(config, {})
            except ThreadBusy as error:
                refused.append(error)
        return "worked"

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = crew(task("a", agent(ScriptedLLM([ToolUse("work", {}), "done"]), tools=[work])), name="desk")
        graph: Any = made.compile(checkpointer=saver, granularity="step")
        graph.invoke({}, AT)
    assert len(refused) == 2


def test_a_stale_claim_stores_nothing_on_postgres(postgres: Postgres):
    async def stored() -> None:
        with postgres.database() as dsn, connect(dsn, autocommit=True) as server:
            with PostgresSaver.from_conn_string(dsn) as plain:
                plain.setup()
            async with AsyncPostgresSaver.from_conn_string(dsn) as opened:
                with (
                    PostgresSaver.from_conn_string(dsn, pipeline=True) as piped,
                    PostgresSaver.from_conn_string(dsn) as own,
                ):
                    claim = claim_keeper(own).claim("a 'quoted' 100% thread")
                    held: Any = {
                        "configurable": {"thread_id": "a 'quoted' 100% thread", "checkpoint_ns": "", CLAIM: claim}
                    }
                    savers = [strictly_reading(saver) for saver in (own, piped)]
                    at: Any = {}
                    for saver in savers:
                        at = dict(saver.put(held, empty_checkpoint(), {}, {}))
                        at["configurable"][CLAIM] = claim
                        saver.put_writes(at, [("x", 1), ("y", 2)], "task")
                    aview = strictly_reading(opened)
                    await aview.aput(held, empty_checkpoint(), {}, {})
                    before = server.execute(COUNTS).fetchall()
                    server.execute("UPDATE crewgraph_claims SET token = token + 1000")
                    for saver in savers:
                        with pytest.raises(ThreadBusy):
                            saver.put(held, empty_checkpoint(), {}, {})
                        with pytest.raises(ThreadBusy):
                            saver.put_writes(at, [("z", 1)], "another")
                        with pytest.raises(ThreadBusy):  # who has the thread now may have stored the same before
                            saver.put_writes(at, [("x", 1), ("y", 2)], "task")
                    with pytest.raises(ThreadBusy):
                        await aview.aput(held, empty_checkpoint(), {}, {})
                    with pytest.raises(ThreadBusy):
                        await aview.aput_writes(at, [("z", 1)], "another")
                    with pytest.raises(ThreadBusy):
                        await aview.aput_writes(at, [("x", 1), ("y", 2)], "task")
                    assert server.execute(COUNTS).fetchall() == before
                    own.put({"configurable": {"thread_id": "other", "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})

    asyncio.run(stored())


COUNTS = "SELECT (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM checkpoint_writes)"


def test_who_claims_waits_for_a_write_under_way_on_postgres(postgres: Postgres):
    """Else the next run would read the state before a write that is committed after it."""
    with postgres.database() as dsn, connect(dsn, autocommit=True) as server, connect(dsn) as writer:
        one, other = PostgresClaims(dsn), PostgresClaims(dsn)
        claim: Any = one.claim("t")
        writer.execute(claim.fence)
        server.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name LIKE 'crewgraph claims%'"
        )
        claimed = list[Any]()
        thread = threading.Thread(target=lambda: claimed.append(other.claim("t")))
        thread.start()
        wait_until(lambda: server.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is not None)
        assert claimed == []
        writer.commit()
        thread.join(60)
        claimed[0].close()


@pytest.mark.parametrize("end", ["closed", "collected"])
def test_an_abandoned_stream_gives_its_thread_back(tmp_path: Path, end: str):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        graph: Any = crew(*(task(name, agent(ScriptedLLM(["done"]))) for name in "ab")).compile(checkpointer=saver)
        parts = graph.stream({}, AT)
        next(parts)
        assert saver.claims.holder("t") is not None
        if end == "closed":
            parts.close()
        del parts
        gc.collect()
        assert saver.claims.holder("t") is None
        assert graph.invoke(None, AT)["b"]["raw"] == "done"


@pytest.mark.parametrize("kind", ["SqliteCheckpointer", "AsyncPostgresSaver"])
def test_a_run_whose_event_loop_was_closed_gives_its_thread_back(tmp_path: Path, postgres: Postgres, kind: str):
    async def abandoned(dsn: str) -> tuple[Any, Any]:
        if kind == "SqliteCheckpointer":
            saver: Any = SqliteCheckpointer(tmp_path / "runs.db")
            return await begun(saver), saver
        async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
            await saver.setup()
            return await begun(saver), saver

    async def begun(saver: Any) -> Any:
        graph: Any = crew(*(task(name, agent(ScriptedLLM(["done"]))) for name in "ab")).compile(checkpointer=saver)
        parts = graph.astream({}, AT, durability="sync")
        await anext(parts)
        assert await asyncio.to_thread(claim_keeper(saver).holder, "t") is not None
        return parts

    with postgres.database() as dsn:
        loop = asyncio.new_event_loop()
        parts, saver = loop.run_until_complete(abandoned(dsn))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        del parts, loop
        gc.collect()
        wait_until(lambda: claim_keeper(saver).holder("t") is None, 10)


class Single(Flow[dict[str, Any]]):
    @start()
    def first(self) -> str:
        raise AssertionError("it is not run")


class Outer(TypedDict, total=False):
    a: Any


def _around(graph: Any) -> Any:
    return graph_of(Outer, {"inner": graph}, checkpointer=InMemorySaver())


@pytest.mark.parametrize("config", [None, {}, {"configurable": {}}, {"configurable": {"thread_id": None}}])
@pytest.mark.parametrize("of", ["crew", "flow"])
def test_a_graph_with_a_checkpointer_says_at_once_that_it_needs_a_thread(mode: Mode, config: Any, of: str):
    llm = ScriptedLLM([])
    made: Any = crew(task("a", agent(llm)), name="desk") if of == "crew" else Single()
    graph = made.compile(checkpointer=InMemorySaver())
    calls: list[Callable[[], Any]] = [
        lambda: mode.invoke(graph, {}, config),
        lambda: mode.stream(graph, {}, config),
        lambda: mode.state(graph, config or {}),
        lambda: mode.run(graph.update_state, graph.aupdate_state, config or {}, {}),
    ]
    if config and config["configurable"]:  # LangGraph itself asks for a thread, if there is no config at all
        calls.append(lambda: mode.invoke(_around(made.compile()), {}, config))
    before = time.monotonic()
    for call in calls:
        with pytest.raises(MissingThread, match=r"needs the id of a thread: pass config=.*thread_id"):
            call()
    assert time.monotonic() - before < LONG
    assert llm.requests == []


@pytest.mark.parametrize("thread_id", ["", 7, 0, "x"])
def test_ids_that_langgraph_takes_name_threads(mode: Mode, thread_id: Any):
    graph = crew(task("a", agent(ScriptedLLM(["done"])))).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    assert mode.invoke(graph, {}, config)["a"]["raw"] == "done"
    assert mode.state(graph, {"configurable": {"thread_id": str(thread_id)}}).values["a"]["raw"] == "done"


def test_the_graph_of_an_agent_that_is_given_a_thread_owns_it(mode: Mode, tmp_path: Path):
    refused = list[BaseException]()

    @tool
    def work() -> str:
        """Work."""
        try:
            crew(task("a", agent(ScriptedLLM(["done"])))).kickoff(thread_id="t", checkpointer=saver)
        except ThreadBusy as error:
            refused.append(error)
        return "worked"

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM([ToolUse("work", {}), "done"]), tools=[work])
        graph = crew(task("a", clerk)).compile(checkpointer=saver)
        mode.invoke(graph, {}, AT)
    assert len(refused) == 1
