"""`run_or_resume`: a job that is delivered once, twice or after a crash has one result."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.errors import MissingInput, RunError, ThreadBusy
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, task


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as opened:
        yield opened


def job(mode: Mode, made: Crew, thread_id: str = "t", inputs: Any = None, **options: Any) -> Any:
    return mode.run(
        lambda: made.run_or_resume(thread_id, inputs, granularity=mode.granularity, **options),
        lambda: made.arun_or_resume(thread_id, inputs, granularity=mode.granularity, **options),
    )


def test_a_job_begins_continues_and_gives_the_output_again(mode: Mode, saver: SqliteCheckpointer):
    llm = ScriptedLLM(["one", ConnectionError("down"), "two"])
    worker = agent(llm)
    made = crew(task("a", worker, description="About {topic}"), task("b", worker), name="desk", checkpointer=saver)
    with pytest.raises(ConnectionError):
        job(mode, made, inputs={"topic": "rain"})
    assert job(mode, made, inputs={"topic": "rain"}).raw == "two"
    assert job(mode, made, inputs={"topic": "snow"}).raw == "two"
    assert job(mode, made).raw == "two"
    assert len(llm.requests) == 3
    assert "About rain" in str(llm.requests[0].messages)


def test_a_new_job_is_checked_as_a_kickoff_is(mode: Mode, saver: SqliteCheckpointer):
    made = crew(task("a", agent(ScriptedLLM([])), description="About {topic} of {town}"), checkpointer=saver)
    with pytest.raises(MissingInput):
        job(mode, made, inputs={"topic": "rain"})
    with pytest.raises(RunError, match="needs a `thread_id`"):
        job(mode, made, "")
    with pytest.raises(RunError, match="is not stored"):
        job(mode, made, checkpointer=False)


def test_a_job_that_waits_says_so_until_it_is_answered(mode: Mode, saver: SqliteCheckpointer):
    @tool(require_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    made = crew(task("a", agent(ScriptedLLM([ToolUse("pay", {}), "done"]), tools=[pay])), checkpointer=saver)
    assert isinstance(job(mode, made), PendingCrew)
    assert isinstance(job(mode, made), PendingCrew)
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert job(mode, made).raw == "done"


def test_a_job_that_somebody_works_at_is_busy_and_never_done(mode: Mode, saver: SqliteCheckpointer):
    other = crew(task("a", agent(ScriptedLLM([]))), checkpointer=saver)

    @tool
    def work() -> str:
        """Work."""
        with pytest.raises(ThreadBusy):
            other.run_or_resume("t")
        return "worked"

    made = crew(task("a", agent(ScriptedLLM([ToolUse("work", {}), "done"]), tools=[work])), checkpointer=saver)
    assert job(mode, made).raw == "done"
    assert job(mode, other).raw == "done"


class Journey(Flow[dict[str, Any]]):
    calls: Any = None

    @start()
    def first(self) -> str:
        self.calls.append("first")
        return "first"

    @listen(first)
    def second(self) -> str:
        self.calls.append("second")
        if self.calls.count("second") == 1:
            raise ConnectionError("down")
        return f"to {self.state['town']}"


def test_a_flow_begins_continues_and_gives_the_result_again(mode: Mode, saver: SqliteCheckpointer):
    calls: list[str] = []

    def deliver() -> object:
        flow: Any = Journey(checkpointer=saver)
        flow.calls = calls
        return mode.run(flow.run_or_resume, flow.arun_or_resume, "f", {"town": "Ulm"})

    with pytest.raises(ConnectionError):
        deliver()
    assert [deliver(), deliver()] == ["to Ulm", "to Ulm"]
    assert calls == ["first", "second", "second"]
    with pytest.raises(RunError, match="needs a `flow_id`"):
        Journey(checkpointer=saver).run_or_resume("")
    with pytest.raises(RunError, match="does not store its runs"):
        Journey(checkpointer=False).run_or_resume("f")
