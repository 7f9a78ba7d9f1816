"""Jobs: results, questions and states of queued runs, as their owner sees them."""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, crew, task

from crewgraph import Crew, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.contrib.queue import JobFailed, JobProgress, Queue, QueueWorker
from crewgraph.errors import MissingInput, RunError, StorageError
from crewgraph.flow import Flow, human_feedback, listen, start
from crewgraph.flow.persistence import persist
from crewgraph.tools import tool


class Caller:
    """Calls a method of a job, or of a crew or flow, or its async form."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def __call__(self, owner: Any, method: str, *args: Any, **named: Any) -> Any:
        if not self.mode.asynchronous:
            return getattr(owner, method)(*args, **named)

        async def within() -> Any:
            made = getattr(owner, f"a{method}")(*args, **named)
            assert inspect.isawaitable(made)
            return await made

        return asyncio.run(within())


@pytest.fixture
def call(mode: Mode) -> Caller:
    return Caller(mode)


def desk(answer: Any = "Final Answer: {topic} done", **more: Any) -> Crew:
    clerk = agent(ScriptedLLM(lambda messages: answer))
    return crew(
        task("a", clerk, description="look at {topic}"),
        task("b", clerk, description="write {topic}"),
        name="desk",
        **more,
    )


class Doubling(Flow[dict[str, Any]]):
    @start()
    def begin(self) -> int:
        return self.state["x"] + 1

    @listen(begin)
    def double(self, value: int) -> int:
        self.state["doubled"] = 2 * value
        return 2 * value


def test_a_run_of_a_crew_is_queued_worked_on_and_read(call: Caller, queue: Queue, work: Callable[..., None]):
    made = desk(answer="Final Answer: rain")
    job = call(made, "enqueue", {"topic": "rain"}, thread_id="rain-1", queue=queue)
    assert (job.thread_id, call(job, "status"), call(job, "progress")) == (
        "rain-1",
        "queued",
        JobProgress(done=(), total=2),
    )
    with pytest.raises(TimeoutError, match=r"the job of thread `rain-1` is `queued` after 0.1 seconds"):
        call(job, "result", timeout=0.1)
    work(made, until_ended=[job])
    assert call(job, "status") == "done"
    assert call(job, "progress") == JobProgress(done=("a", "b"), total=2)
    output = call(job, "result", timeout=60)
    assert (output.raw, output.thread_id, [one.name for one in output.tasks_output]) == ("rain", "rain-1", ["a", "b"])
    assert call(job, "error") is None
    assert not call(job, "cancel")
    assert not call(job, "retry")


def test_a_run_of_a_flow_is_queued_worked_on_and_read(call: Caller, queue: Queue, work: Callable[..., None]):
    flow = Doubling()
    jobs = [call(flow, "enqueue", {"x": number}, queue=queue) for number in (1, 2)]
    work(flow, until_ended=jobs)
    assert [call(job, "result", 10) for job in jobs] == [4, 6]
    assert call(jobs[0], "progress") == JobProgress(done=("begin", "double"), total=None)
    assert "x" not in flow.state  # each run has a state of its own


def test_a_class_and_a_function_make_what_each_run_needs(queue: Queue, work: Callable[..., None]):
    jobs = [Doubling().enqueue({"x": 1}, queue=queue), desk("Final Answer: x").enqueue({"topic": "t"}, queue=queue)]
    work(Doubling, lambda: desk("Final Answer: made"), until_ended=jobs)
    assert jobs[0].result(60) == 4
    assert jobs[1].result(60).raw == "made"


def test_inputs_that_jsonb_cannot_hold_arrive_as_they_are(queue: Queue, work: Callable[..., None]):
    flow = Doubling()
    inputs = {"x": 1, "text": "a\x00b", "rest": [float("inf"), None, "ü"]}
    job = flow.enqueue(inputs, thread_id="odd", queue=queue)
    work(flow, until_ended=[job])
    reader = Doubling(checkpointer=queue.database.saver)
    assert reader.resume("odd") == 4
    assert {name: reader.state[name] for name in inputs} == inputs


def test_a_structure_comes_back_as_the_model_it_was(queue: Queue, work: Callable[..., None]):
    class Depth(BaseModel):
        metres: int

    made = crew(task("a", agent(ScriptedLLM(lambda _: '{"metres": 7}')), output_pydantic=Depth), name="desk")
    job = made.enqueue(queue=queue)
    work(made, until_ended=[job])
    assert job.result(60).pydantic == Depth(metres=7)


def test_a_thread_is_queued_once_however_often_it_is_asked_for(call: Caller, queue: Queue, work: Callable[..., None]):
    asked = list[int]()

    def said(_: Any) -> str:
        asked.append(1)
        return "Final Answer: x"

    made = crew(task("a", agent(ScriptedLLM(said))), name="desk")
    jobs = [call(made, "enqueue", {}, thread_id="same", queue=queue) for _ in range(3)]
    jobs += call(made, "enqueue_for_each", [{}, {}], thread_ids=["same", "same"], queue=queue)
    assert len(queue.jobs()) == 1
    work(made, until_ended=jobs)
    assert made.enqueue(thread_id="same", queue=queue).thread_id == "same"  # done: it gives the same again
    work(made, until_ended=jobs)
    assert ({job.result(60).raw for job in jobs}, len(asked)) == ({"x"}, 1)


def approving() -> tuple[Crew, list[str]]:
    paid = list[str]()

    @tool(require_approval=True)
    def pay(bill: str) -> str:
        """Pay a bill."""
        paid.append(bill)
        return "paid"

    def said(messages: Any) -> Any:
        return "Final Answer: all paid" if "paid" in str(messages[2:]) else ToolUse("pay", {"bill": "7"})

    return crew(task("a", agent(ScriptedLLM(said), tools=[pay])), name="desk"), paid


def test_a_question_ends_the_job_and_an_answer_is_another(call: Caller, queue: Queue, work: Callable[..., None]):
    made, paid = approving()
    job = call(made, "enqueue", thread_id="pay", queue=queue)
    with pytest.raises(RunError, match="does not wait for an answer"):
        call(job, "answer", True)
    work(made, until_ended=[job])
    assert (call(job, "status"), paid) == ("waiting", [])
    (question,) = call(job, "questions")
    assert (question.kind, question.tool, question.args) == ("approval", "pay", {"bill": "7"})
    assert isinstance(call(job, "result", 10), PendingCrew)
    elsewhere = made.job("pay", queue=queue)
    call(elsewhere, "answer", {question.id: True})
    assert call(job, "status") == "queued"
    with pytest.raises(RunError, match="an answer to the run `pay` is already queued"):
        call(job, "answer", True)
    work(made, until_ended=[job])
    assert (call(job, "status"), call(job, "result", 10).raw, paid) == ("done", "all paid", ["7"])


def test_an_answer_that_was_given_before_its_worker_died_is_not_given_again(queue: Queue, work: Callable[..., None]):
    made, paid = approving()
    job = made.enqueue(thread_id="pay", queue=queue)
    work(made, until_ended=[job])
    job.answer(True)
    assert made.resume("pay", True, checkpointer=queue.database.saver).raw == "all paid"  # what the dead one had done
    work(made, until_ended=[job])
    assert (job.status(), job.error(), paid) == ("done", None, ["7"])


def test_a_flow_asks_and_is_answered_through_the_queue(call: Caller, queue: Queue, work: Callable[..., None]):
    @persist()
    class Letters(Flow[dict[str, Any]]):
        @start()
        @human_feedback(message="Will it do?")
        def draft(self) -> str:
            return "Dear all"

        @listen(draft)
        def send(self, result: Any) -> str:
            return f"sent: {result.feedback}"

    job = call(Letters(), "enqueue", thread_id="letter", queue=queue)
    work(Letters, until_ended=[job])
    assert (call(job, "status"), call(job, "questions")[0].message) == ("waiting", "Will it do?")
    call(job, "answer", "shorter")
    work(Letters, until_ended=[job])
    assert call(job, "result", 10) == "sent: shorter"


def test_a_failure_is_tried_again_and_continues_where_it_failed(call: Caller, queue: Queue, work: Callable[..., None]):
    llm = ScriptedLLM(["first", ConnectionError("down, key sk-123456789abc"), "second"])
    clerk = agent(llm)
    made = crew(task("a", clerk), task("b", clerk), name="desk")
    job = call(made, "enqueue", queue=queue)
    work(made, until_ended=[job])
    assert (call(job, "result", 10).raw, len(llm.requests)) == ("second", 3)
    assert call(job, "error") == "ConnectionError: down, key ***"
    (info,) = queue.jobs()
    assert (info.state, info.attempts, info.failures, info.queue) == ("done", 2, 1, "crew:desk")


@pytest.mark.parametrize("hours", [-1, 1])
def test_jobs_are_due_by_the_clock_of_the_database(
    call: Caller, queue: Queue, work: Callable[..., None], monkeypatch: pytest.MonkeyPatch, hours: int
):
    """The clock of the machine that adds and runs them is an hour off."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(hours=hours)

    for module in ("queue", "work"):
        monkeypatch.setattr(f"crewgraph.contrib.queue.{module}.datetime", Clock, raising=False)
    monkeypatch.setattr("procrastinate.utils.utcnow", lambda: Clock.now(UTC))
    asked: list[float] = []

    def script(messages: Any) -> str:
        asked.append(time.monotonic())
        if len(asked) == 1:
            raise ConnectionError("down")
        return "done"

    clerk = agent(ScriptedLLM(script))
    made = crew(task("a", clerk), name="desk")
    began = time.monotonic()
    job = call(made, "enqueue", queue=queue, delay=1.0)
    work(made, until_ended=[job])
    assert call(job, "result", 10).raw == "done"
    assert asked[0] >= began + 0.9 and asked[1] >= asked[0] + 0.4


def test_what_fails_too_often_is_a_dead_letter_that_can_be_put_back(
    call: Caller, queue: Queue, work: Callable[..., None]
):
    llm = ScriptedLLM(["first", ConnectionError("down"), ConnectionError("still down"), "second"])
    clerk = agent(llm)
    made = crew(task("a", clerk), task("b", clerk), name="desk")
    job = call(made, "enqueue", queue=queue, retries=1)
    work(made, until_ended=[job])
    assert call(job, "status") == "failed"
    assert [(dead.thread_id, dead.failures) for dead in queue.jobs("failed")] == [(job.thread_id, 2)]
    with pytest.raises(JobFailed, match=rf"`{job.thread_id}` failed for good: ConnectionError: still down\. .*`retry`"):
        call(job, "result", 10)
    assert call(job, "retry")
    assert not call(job, "retry")
    work(made, until_ended=[job])
    assert (call(job, "result", 10).raw, len(llm.requests)) == ("second", 4)
    assert (queue.jobs("failed"), [done.state for done in queue.jobs()]) == ([], ["done"])


def test_what_would_fail_the_same_way_is_not_tried_again(queue: Queue, work: Callable[..., None]):
    made = desk()
    job = made.enqueue({"other": "x"}, queue=queue)
    work(made, until_ended=[job])
    assert (job.status(), queue.jobs()[0].attempts) == ("failed", 1)
    assert str(job.error()).startswith(f"{MissingInput.__name__}: ")


def test_a_job_that_nobody_has_begun_is_cancelled_and_can_be_put_back(
    call: Caller, queue: Queue, work: Callable[..., None]
):
    made = desk("Final Answer: x")
    job = call(made, "enqueue", {"topic": "x"}, queue=queue)
    assert call(job, "cancel")
    assert not call(job, "cancel")
    assert call(job, "status") == "cancelled"
    work(made, until_ended=[job])
    with pytest.raises(JobFailed, match="was cancelled"):
        call(job, "result", 10)
    assert call(job, "retry")
    work(made, until_ended=[job])
    assert call(job, "result", 10).raw == "x"


def test_a_higher_priority_comes_first_and_a_delay_later(queue: Queue, work: Callable[..., None]):
    began = dict[str, float]()

    class Noted(Flow[dict[str, Any]]):
        @start()
        def note(self) -> None:
            began[self.state["name"]] = time.monotonic()

    flow, first = Noted(), time.monotonic()
    jobs = [
        flow.enqueue({"name": "delayed"}, queue=queue, priority=9, delay=1.0),
        flow.enqueue({"name": "low"}, queue=queue, priority=-1),
        flow.enqueue({"name": "normal"}, queue=queue),
        flow.enqueue({"name": "high"}, queue=queue, priority=5),
    ]
    work(flow, until_ended=jobs, concurrency=1)
    assert began["high"] < began["normal"] < began["low"]
    assert began["delayed"] >= first + 0.99


def test_a_limit_holds_however_many_a_worker_could_do(queue: Queue, work: Callable[..., None]):
    counts = {"now": 0, "most": 0}

    class Slow(Flow[dict[str, Any]]):
        @start()
        async def go(self) -> None:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
            await asyncio.sleep(0.02)
            counts["now"] -= 1

    flow = Slow()
    jobs = flow.enqueue_for_each([{"number": number} for number in range(16)], queue=queue, limit=2)
    work(flow, until_ended=jobs, concurrency=8)
    assert counts == {"now": 0, "most": 2}
    with pytest.raises(ValueError, match="`limit` is 0"):
        flow.enqueue(queue=queue, limit=0)


def test_the_queue_is_that_of_the_checkpointer_or_of_the_environment(
    database: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
):
    made = desk()
    monkeypatch.delenv("CREWGRAPH_QUEUE", raising=False)
    with pytest.raises(RunError, match="there is no queue for 'crew:desk': pass `queue=`"):
        made.enqueue({"topic": "x"})
    stored = desk(checkpointer=queue.database.saver)
    stored.enqueue({"topic": "x"}, thread_id="by checkpointer")
    monkeypatch.setenv("CREWGRAPH_QUEUE", database)
    made.enqueue({"topic": "x"}, thread_id="by environment")
    made.enqueue({"topic": "x"}, thread_id="by address", queue=database)
    assert {job.thread_id for job in queue.jobs()} == {"by checkpointer", "by environment", "by address"}


def test_only_what_a_worker_can_run_is_given_to_it(queue: Queue):
    desk().enqueue({"topic": "x"}, thread_id="of the crew", queue=queue)
    Doubling().enqueue({"x": 1}, thread_id="of the flow", queue=queue)
    asyncio.run(QueueWorker(queue, [Doubling]).run(wait=False))
    assert {job.thread_id: job.state for job in queue.jobs()} == {"of the crew": "queued", "of the flow": "done"}


def named(name: str, answer: str = "x") -> Crew:
    return crew(task("a", agent(ScriptedLLM(lambda _: f"Final Answer: {answer}"))), name=name)


def test_crews_and_flows_of_any_name_are_queued_and_run(queue: Queue, work: Callable[..., None]):
    class CustomerSupportEscalationAndRefundFlow(Flow[dict[str, Any]]):
        @start()
        def go(self) -> str:
            return "refunded"

    names = [
        "x" * 35, "x" * 36, "x" * 300, "x" * 299 + "y", "顧客対応とエスカレーション", "Refunds / \"desk\" 'a' 100% {b} \\ $1;",
        "two\nlines\0", "",
    ]  # fmt: skip
    crews = [named(name, answer=f"of {number}") for number, name in enumerate(names)]
    flow = CustomerSupportEscalationAndRefundFlow()
    jobs = [made.enqueue(queue=queue, limit=2) for made in crews] + [flow.enqueue(queue=queue)]
    shown = {info.queue for info in queue.jobs()}
    assert {f"crew:{names[0]}", "crew:"} < shown
    assert any(name.startswith("crew:顧客対応") for name in shown)
    assert any(name.startswith("flow:CustomerSupport") for name in shown)
    work(*crews, flow, until_ended=jobs)
    assert [job.result(60).raw for job in jobs[:-1]] == [f"of {number}" for number in range(len(names))]
    assert jobs[-1].result(60) == "refunded"


def test_options_out_of_range_are_refused_by_name(queue: Queue):
    made, infinite = desk(), float("inf")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"priority": 2**31}, "`priority` is 2147483648"),
        ({"priority": 0.5}, "`priority` is 0.5"),
        ({"priority": "high"}, "`priority` is 'high'"),
        ({"retries": -1}, "`retries` is -1"),
        ({"retries": None}, "`retries` is None"),
        ({"limit": 1.5}, "`limit` is 1.5"),
        ({"delay": -1}, "`delay` is -1"),
        ({"delay": float("nan")}, "`delay` is nan"),
        ({"delay": infinite}, "`delay` is inf"),
        ({"delay": timedelta(seconds=1)}, "`delay` is datetime.timedelta"),
        ({"delay": 1e12}, "`delay` is 1000000000000.0"),
        ({"thread_id": ""}, "the thread id is empty"),
    ]
    for options, text in refused:
        with pytest.raises((ValueError, RunError), match=text):
            made.enqueue({"topic": "x"}, queue=queue, **options)
    assert queue.jobs() == []


def test_a_thread_of_another_crew_is_refused_and_a_worker_reports_what_it_has_no_target_for(
    queue: Queue, caplog: pytest.LogCaptureFixture
):
    named("old name").enqueue(thread_id="mine", queue=queue)
    renamed = named("new name")
    with pytest.raises(RunError, match="thread `mine` already has a queued job of `crew:old name`"):
        renamed.enqueue(thread_id="mine", queue=queue)
    with caplog.at_level(logging.INFO, "crewgraph.contrib.queue"):
        asyncio.run(QueueWorker(queue, [renamed]).run(wait=False))
    assert "1 jobs wait for another worker: this one has no target `crew:old name`" in caplog.text


def test_what_the_database_refuses_is_told_without_its_statements(queue: Queue, database: str):
    queue.jobs()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the disk is full'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON crewgraph_queue.procrastinate_jobs EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(StorageError) as caught:
        desk().enqueue({"topic": "secret"}, queue=queue)
    assert str(caught.value) == "the database of the queue cannot be queried: the disk is full"


def test_a_job_that_is_cancelled_when_it_is_about_to_be_tried_again_is_cancelled_and_not_failed(
    queue: Queue, database: str, work: Callable[..., None]
):
    attempts: list[object] = []

    def reply(messages: Any) -> str:
        attempts.append(messages)
        if len(attempts) == 1:
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    "SET session_replication_role = replica"
                )  # the worker is not told, and reads it too late
                connection.execute("UPDATE crewgraph_queue.procrastinate_jobs SET abort_requested = true")
            raise ConnectionError("no answer")
        return "Final Answer: x"

    made = desk()
    made.agents[0].llm = ScriptedLLM(reply)
    job = made.enqueue({"topic": "x"}, queue=queue)
    work(made, until_ended=[job])
    assert (job.status(), len(attempts)) == ("cancelled", 1)
    assert job.retry()
    work(made, until_ended=[job])
    assert job.status() == "done"


def test_a_job_with_arguments_of_another_version_is_a_dead_letter_and_the_others_are_not_affected(
    queue: Queue, database: str, work: Callable[..., None]
):
    made = desk("Final Answer: x")
    jobs = [made.enqueue({"topic": "x"}, thread_id=name, queue=queue) for name in ("new", "odd", "good")]
    with psycopg.connect(database, autocommit=True) as connection:
        change = "UPDATE crewgraph_queue.procrastinate_jobs SET args = args || %s WHERE args->>'thread_id' = %s"
        connection.execute(change, ('{"tenant": "a"}', "new"))
        connection.execute(change, ('{"inputs": 7}', "odd"))
    assert [info.thread_id for info in queue.jobs()] == ["good", "odd", "new"]
    work(made, until_ended=jobs)
    assert [job.status() for job in jobs] == ["failed", "failed", "done"]
    assert "arguments that this version of crewgraph cannot read: `tenant`." in str(jobs[0].error())
    assert "arguments that this version of crewgraph cannot read: `inputs`." in str(jobs[1].error())
    assert jobs[0].retry()
    work(made, until_ended=jobs)
    assert jobs[0].status() == "failed"  # what it has that is unknown is kept


def test_a_worker_is_claimed_before_it_has_a_job(queue: Queue, database: str, work: Callable[..., None]):
    """Else the others take it for dead."""

    class Looking(Flow[dict[str, Any]]):
        @start()
        def look(self) -> list[str]:
            with psycopg.connect(database) as connection:
                rows = connection.execute("SELECT thread_id FROM crewgraph_claims ORDER BY thread_id").fetchall()
            return [row[0].rstrip("0123456789") for row in rows]

    job = Looking().enqueue(thread_id="t", queue=queue)
    work(Looking, until_ended=[job])
    assert job.result(60) == ["crewgraph worker ", "t"]


def test_inputs_are_in_no_line_of_the_log(queue: Queue, caplog: pytest.LogCaptureFixture):
    class Slow(Flow[dict[str, Any]]):
        @start()
        async def go(self) -> None:
            await asyncio.sleep(0.5)
            raise ConnectionError("down")

    async def stopped_while_it_runs(worker: QueueWorker) -> None:
        running = asyncio.create_task(worker.run())
        while job.status() != "working":
            await asyncio.sleep(0.05)
        worker.stop()
        await running

    job = Slow().enqueue({"ticket": "4711-0815"}, queue=queue)
    with caplog.at_level(logging.DEBUG):
        asyncio.run(stopped_while_it_runs(QueueWorker(queue, [Slow])))
    assert "failed and will be retried: ConnectionError: down" in caplog.text
    assert "Stop requested" in caplog.text  # the engine's lines that are not about jobs are not dropped
    assert "4711-0815" not in caplog.text + str([vars(record) for record in caplog.records])


def test_a_worker_that_ends_with_the_last_job_deletes_old_ones_and_can_run_again(queue: Queue):
    made = named("a")
    worker = QueueWorker(queue, [made], keep_days=0)
    for name in ("first", "second"):
        made.enqueue(thread_id=name, queue=queue)
        asyncio.run(worker.run(wait=False))
        assert [(info.thread_id, info.state) for info in queue.jobs()] == [(name, "done")]
