"""Power cuts: what a tool with `once=True` must not do twice is on the disk before it starts, and its result after it."""

import shutil
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from disks import PoweredDisk
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from modes import Mode
from runtime.parts import agent, crew, task
from servers.postgres import Postgres

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import ToolFailed
from crewgraph.flow import Flow, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

pytestmark = pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed")


class Payment:
    """A crew whose tool pays; the power is cut in the tool, and in the request after it."""

    def __init__(self, *, once: bool) -> None:
        self.paid = 0
        self.cut_in_tool: Any = None
        self.cut_after_tool: Any = None
        self.power: PoweredDisk | None = None
        self.once = once

    def crew(self) -> Crew:
        @tool("pay", once=self.once)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid += 1
            if self.power is not None:
                self.cut_in_tool = self.power.cut_power()
            return "paid"

        def reply(messages: list[dict[str, Any]]) -> Any:
            if "paid" not in str(messages[2:]):
                return ToolUse("pay", {"amount": 3})
            if self.power is not None:
                self.cut_after_tool = self.power.cut_power()
            return "Final Answer: done"

        return crew(task("bill", agent(ScriptedLLM(reply), tools=[pay])), name="bills")


@pytest.mark.parametrize("mode", ["sync", "async-step"], indirect=True)
def test_a_call_that_must_not_be_repeated_is_known_after_a_power_cut(mode: Mode, tmp_path: Path):
    power = PoweredDisk(tmp_path)
    payment = Payment(once=True)
    with power.mounted() as disk, SqliteCheckpointer(disk / "runs.db") as saver:
        payment.power = power
        assert mode.kickoff(payment.crew(), thread_id="t", checkpointer=saver).raw == "done"
        payment.power = None
    with (
        power.on(payment.cut_in_tool) as disk,
        SqliteCheckpointer(disk / "runs.db") as saver,
        pytest.raises(ToolFailed, match="started before a crash"),
    ):
        mode.resume(payment.crew(), "t", checkpointer=saver)
    with power.on(payment.cut_after_tool) as disk, SqliteCheckpointer(disk / "runs.db") as saver:
        assert mode.resume(payment.crew(), "t", checkpointer=saver).raw == "done"
    assert payment.paid == 1


def test_so_is_one_in_a_flow_and_one_in_a_graph_of_the_program(tmp_path: Path):
    def in_flow(payment: Payment, saver: Any) -> Any:
        class Bills(Flow[dict[str, Any]]):
            @start()
            def bill(self) -> str:
                return payment.crew().kickoff().raw

        return Bills(checkpointer=saver).run_or_resume("t")

    def in_graph(payment: Payment, saver: Any) -> Any:
        graph: Any = StateGraph(cast("Any", dict))
        graph.add_node("bill", payment.crew().compile(checkpointer=None))
        graph.add_edge(START, "bill").add_edge("bill", END)
        config: Any = {"configurable": {"thread_id": "t"}}
        compiled = graph.compile(checkpointer=saver)
        begun = compiled.get_state(config).next
        return compiled.invoke(None if begun else {"inputs": {}}, config, durability="sync")

    for run in (in_flow, in_graph):
        folder = tmp_path / run.__name__
        folder.mkdir()
        payment, power = Payment(once=True), PoweredDisk(folder)
        with power.mounted() as disk, SqliteCheckpointer(disk / "runs.db") as saver:
            payment.power = power
            run(payment, saver)
            payment.power = None
        with (
            power.on(payment.cut_in_tool) as disk,
            SqliteCheckpointer(disk / "runs.db") as saver,
            pytest.raises(ToolFailed, match="started before a crash"),
        ):
            run(payment, saver)
        with power.on(payment.cut_after_tool) as disk, SqliteCheckpointer(disk / "runs.db") as saver:
            run(payment, saver)
        assert payment.paid == 1, run.__name__


def test_another_call_may_be_lost_with_its_run_unless_every_save_waits_for_the_disk(tmp_path: Path):
    kept: dict[str, list[str]] = {}
    for synchronous in ("NORMAL", "FULL"):
        folder = tmp_path / synchronous
        folder.mkdir()
        payment, power = Payment(once=False), PoweredDisk(folder)
        with power.mounted() as disk, SqliteCheckpointer(disk / "runs.db", synchronous=synchronous) as saver:
            payment.power = power
            payment.crew().kickoff(thread_id="t", checkpointer=saver)
        with power.on(payment.cut_after_tool) as disk, SqliteCheckpointer(disk / "runs.db") as saver:
            kept[synchronous] = list(saver.threads())
    assert kept == {"NORMAL": [], "FULL": ["t"]}


@pytest.mark.parametrize("once", [True, False])
def test_a_postgres_session_that_does_not_wait_for_the_disk_does_so_for_such_a_call(once: bool, postgres: Postgres):
    seen: list[bool] = []

    @tool("pay", once=once)
    def pay(amount: int) -> str:
        """Pay."""
        row = looking.execute("SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()").fetchone()
        assert row is not None
        seen.append(row[0])
        return "paid"

    with (
        postgres.database() as dsn,
        psycopg.connect(dsn, autocommit=True) as looking,  # before the run: a session that begins may write, too
        PostgresSaver.from_conn_string(dsn) as saver,
    ):
        connection: Any = saver.conn
        saver.setup()
        connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # it writes what no commit has waited for
        connection.execute("ALTER SYSTEM SET autovacuum = off")  # it writes at any time
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("SET synchronous_commit = off")
        try:
            worker = agent(ScriptedLLM([ToolUse("pay", {"amount": 3}), "Final Answer: done"]), tools=[pay])
            assert crew(task("bill", worker)).kickoff(checkpointer=saver).raw == "done"
        finally:
            connection.execute("ALTER SYSTEM RESET wal_writer_delay")
            connection.execute("ALTER SYSTEM RESET autovacuum")
            connection.execute("SELECT pg_reload_conf()")
    assert seen == [once]
