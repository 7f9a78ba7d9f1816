"""Storage of runs: in the default database, a custom checkpointer, PostgreSQL, or nowhere."""

import asyncio
import json
import os
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel
from servers.postgres import Postgres

from crewgraph import Crew, Flow, ScriptedLLM, TaskOutput, start
from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import agent, crew, task

ROOT = Path(__file__).parents[2]


class Hello(Flow[dict[str, Any]]):
    @start()
    def hello(self):
        return "hello"


class Town(BaseModel):
    name: str
    people: int


def failing(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(task("first", worker, output_pydantic=Town), task("second", worker), **more)


def script() -> ScriptedLLM:
    return ScriptedLLM(['{"name": "Ulm", "people": 7}', ConnectionError("model down"), "end"])


def check_resumed(mode: Mode, llm: ScriptedLLM, made: Crew, **options: Any) -> None:
    with pytest.raises(ConnectionError, match="model down"):
        mode.kickoff(made, {"topic": "rain"}, thread_id="t", **options)
    result = mode.resume(made, "t", **options)
    assert result.tasks_output[0].pydantic == Town(name="Ulm", people=7)
    assert result.raw == "end"
    assert (len(llm.requests), result.thread_id) == (3, "t")


def test_runs_are_stored_in_a_private_file_in_the_storage_folder(mode: Mode, storage: Path):
    llm = script()
    check_resumed(mode, llm, failing(llm))
    assert stat.S_IMODE((storage / "checkpoints.db").stat().st_mode) == 0o600


def test_runs_are_stored_in_and_read_from_a_given_sqlite_file(mode: Mode, storage: Path, tmp_path: Path):
    llm = script()
    with SqliteCheckpointer(tmp_path / "mine.db") as saver, pytest.raises(ConnectionError):
        mode.kickoff(failing(llm), thread_id="t", checkpointer=saver)
    with SqliteCheckpointer(tmp_path / "mine.db") as saver:
        assert mode.resume(failing(llm), "t", checkpointer=saver).raw == "end"
    assert len(llm.requests) == 3
    assert not (storage / "checkpoints.db").exists()


def test_the_crews_own_checkpointer_counts_where_none_is_passed(mode: Mode, storage: Path):
    llm = script()
    check_resumed(mode, llm, failing(llm, checkpointer=InMemorySaver()))
    assert not (storage / "checkpoints.db").exists()


def test_runs_are_stored_in_postgres(postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver

    llm = script()
    team = failing(llm)
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        with pytest.raises(ConnectionError):
            team.kickoff(thread_id="kept-sync", checkpointer=saver)
        assert team.resume("kept-sync", checkpointer=saver).raw == "end"
    assert len(llm.requests) == 3


def test_runs_are_stored_in_postgres_by_its_async_saver(postgres: "Postgres"):
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    llm = script()
    team = failing(llm)

    async def runs() -> str:
        async with AsyncPostgresSaver.from_conn_string(postgres.dsn) as saver:
            with pytest.raises(ConnectionError):
                await team.akickoff(thread_id="kept-async", checkpointer=saver)
            return (await team.aresume("kept-async", checkpointer=saver)).raw

    assert asyncio.run(runs()) == "end"
    assert len(llm.requests) == 3


def test_a_checkpointer_for_sync_runs_alone_is_named_in_an_async_run(postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver

    llm = ScriptedLLM([])
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        with pytest.raises(RuntimeError, match=r"`PostgresSaver` supports sync runs only; pass its async counterpart"):
            asyncio.run(failing(llm).akickoff(checkpointer=saver))
        with pytest.raises(RuntimeError, match=r"`PostgresSaver` supports sync runs only; pass its async counterpart"):
            asyncio.run(failing(llm).aresume("t", checkpointer=saver))
    assert llm.requests == []


def test_a_database_without_tables_is_reported_with_what_creates_them(postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver

    with postgres.database() as dsn, PostgresSaver.from_conn_string(dsn) as saver:
        for run in (
            lambda: failing(script()).kickoff(checkpointer=saver),
            lambda: failing(script()).resume("t", checkpointer=saver),
        ):
            with pytest.raises(Exception, match=r"does not exist") as error:
                run()
            assert error.value.__notes__ == [
                "the database has no tables for checkpoints: call `setup()` of the checkpointer once"
            ]


def test_an_asynchronous_checkpointer_in_a_sync_run_is_reported_with_what_to_do(tmp_path: Path):
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async def run() -> None:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
            failing(script()).kickoff(checkpointer=saver)

    with pytest.raises(asyncio.InvalidStateError) as error:
        asyncio.run(run())
    (note,) = error.value.__notes__
    assert "use `await crew.akickoff()`, or a synchronous checkpointer" in note


def test_checkpointer_false_stores_nothing(mode: Mode, storage: Path):
    result = mode.kickoff(crew(task("a", agent(ScriptedLLM(["done"])))), checkpointer=False)
    assert (result.raw, result.thread_id) == ("done", None)
    assert mode.kickoff(crew(task("a", agent(ScriptedLLM(["done"]))), checkpointer=False)).thread_id is None
    assert list(storage.iterdir()) == []


@pytest.mark.parametrize("wish", ["checkpoints.db", 5, 0, InMemorySaver, {}])
def test_values_other_than_checkpointers_are_refused(mode: Mode, wish: Any):
    llm = ScriptedLLM([])
    with pytest.raises(TypeError, match="Give a LangGraph checkpointer, False to store nothing, or None"):
        mode.kickoff(crew(task("a", agent(llm))), checkpointer=wish)
    assert llm.requests == []


def test_a_checkpointer_that_was_not_made_or_entered_says_what_to_write(tmp_path: Path):
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    team = crew(task("a", agent(ScriptedLLM([]))))
    for wish, advice in (
        (InMemorySaver, r"is the class `InMemorySaver`: write `InMemorySaver\(...\)`"),
        (
            Path("runs.db"),
            r'crewgraph.storage.checkpoints import SqliteCheckpointer`, .*SqliteCheckpointer\("runs.db"\)`',
        ),
        ("sqlite:///runs.db", r'checkpointer=SqliteCheckpointer\("runs.db"\)`'),
        (
            "postgresql://ann:secret@host/runs",
            r"import PostgresSaver`, `with PostgresSaver.from_conn_string\(address\)",
        ),
        (PostgresSaver.from_conn_string(""), r"has to be entered: `with PostgresSaver.from_conn_string"),
        (AsyncSqliteSaver.from_conn_string(""), r"`async with` for async ones"),
    ):
        given: Any = wish
        runs = (
            lambda of=given: team.kickoff(checkpointer=of),
            lambda of=given: team.compile(checkpointer=of),
            lambda of=given: Hello(checkpointer=of).kickoff(),
            lambda of=given: Hello().compile(checkpointer=of),
        )
        for run in runs:
            with pytest.raises(TypeError, match=advice):
                run()
    with pytest.raises(ValueError, match=r"`sqlite:///runs.db` is an address.* write `runs.db`"):
        SqliteCheckpointer("sqlite:///runs.db")


def test_the_state_is_plain_data(mode: Mode):
    from datetime import date

    saver = InMemorySaver()
    team = failing(ScriptedLLM(['{"name": "Ulm", "people": 7}', "end"]), checkpointer=saver)
    mode.kickoff(team, {"day": date(2025, 1, 31), "town": Town(name="Ulm", people=7), "pair": (1, 2)}, thread_id="t")
    values = mode.state(mode.compile(team, checkpointer=saver), {"configurable": {"thread_id": "t"}}).values
    assert json.loads(json.dumps(values)) == values
    assert values["inputs"] == {"day": "2025-01-31", "town": {"name": "Ulm", "people": 7}, "pair": [1, 2]}
    assert values["first"]["pydantic"] == {"name": "Ulm", "people": 7}
    assert sorted(values) == ["first", "inputs", "second"]


def test_runs_are_stored_and_resumed_with_strict_deserialization(storage: Path):
    program = """
from langgraph._internal import _serde
assert _serde.STRICT_MSGPACK_ENABLED
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool
def look(thing: str) -> dict:
    "Look at a thing."
    return {"seen": thing, "at": (1, 2)}

llm = ScriptedLLM([ToolUse("look", {"thing": "x"}), "one", ToolUse("look", {"thing": "y"}), RuntimeError("down"), "two"])
worker = Agent(role="r", goal="g", backstory="b", llm=llm, tools=[look])
tasks = [Task(name=n, description=n, expected_output="e", agent=worker) for n in ("first", "second")]
crew = Crew(agents=[worker], tasks=tasks)
try:
    crew.kickoff({"a": 1}, thread_id="t")
except RuntimeError:
    pass
result = crew.resume("t")
print([one.raw for one in result.tasks_output], len(llm.requests))
"""
    done = processes.run(
        [sys.executable, *processes.STRICT, "-c", program],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("['one', 'two'] 5\n", "")


TAMPERED: list[Any] = [{"raw": 5}, {}, "a text", ["x"], {"raw": "x"}, None]


@pytest.mark.parametrize("value", TAMPERED, ids=repr)
def test_a_changed_checkpoint_is_refused_and_nothing_is_run(mode: Mode, value: Any):
    llm, saver = script(), InMemorySaver()
    team = failing(llm, checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    mode.compile(team, checkpointer=saver).update_state({"configurable": {"thread_id": "t"}}, {"first": value})
    with pytest.raises(StorageError, match="thread `t` holds a value of `first` that no run of this crew writes"):
        mode.resume(team, "t")
    assert len(llm.requests) == 2


def test_a_changed_structure_in_a_checkpoint_is_checked_by_the_tasks_model(mode: Mode):
    llm, saver = script(), InMemorySaver()
    team = failing(llm, checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    forged = TaskOutput(description="d", agent="a", raw="x").to_plain()
    forged["pydantic"] = {"name": "Ulm", "people": "many"}
    graph = mode.compile(team, checkpointer=saver)
    graph.update_state({"configurable": {"thread_id": "t"}}, {"first": forged})
    with pytest.raises(StorageError, match=r"people\s+Input should be a valid integer"):
        mode.resume(team, "t")


def test_a_changed_output_in_the_graphs_own_state_is_refused_by_the_task_that_reads_it(mode: Mode):
    llm, saver = script(), InMemorySaver()
    graph = mode.compile(failing(llm), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {}}, config)
    graph.update_state(config, {"first": {"raw": 5}})
    with pytest.raises(StorageError, match="`first` in the state is not the output of a task"):
        mode.invoke(graph, None, config)
    assert len(llm.requests) == 2


def test_the_database_holds_a_bounded_number_of_bytes_for_each_task(mode: Mode, tmp_path: Path):
    def bytes_of(tasks: int) -> int:
        path = tmp_path / f"{tasks}.db"
        worker = agent(ScriptedLLM(["x" * 2000], repeat_last=True))
        with SqliteCheckpointer(path) as saver:
            mode.kickoff(crew(*(task(f"t{n}", worker, context=[]) for n in range(tasks))), checkpointer=saver)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return path.stat().st_size

    assert bytes_of(40) < 4.6 * bytes_of(10)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
def test_a_result_holds_the_outputs_that_its_tasks_show(mode: Mode, stored: bool):
    worker = agent(ScriptedLLM(["one", "two"]))
    team = crew(task("first", worker), task("second", worker))
    output = mode.kickoff(team, checkpointer=InMemorySaver() if stored else False)
    assert [one.raw for one in output.tasks_output] == ["one", "two"]
    assert [one.output is shown for one, shown in zip(team.tasks, output.tasks_output, strict=True)] == [True, True]


def test_a_postgres_store_without_tables_says_what_to_call(postgres: "Postgres"):
    from langgraph.store.postgres import PostgresStore

    from crewgraph.storage.store.namespace import StoreNamespace

    with postgres.database() as dsn, PostgresStore.from_conn_string(dsn) as store:
        entries = StoreNamespace("memory", storage=store)
        for action in (lambda: entries.put("key", "text"), lambda: entries.search("text"), entries.entries):
            with pytest.raises(StorageError, match=r"the database has no tables for the store: call `setup\(\)`"):
                action()
