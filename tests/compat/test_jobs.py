"""CrewAI's background jobs of a session."""

import asyncio
from typing import Any, ClassVar

import pytest
from crewgraph_compat.stand_ins.jobs import (
    JobRecord,
    JobRunner,
    JobState,
    JobUpdate,
    JobWorkFlow,
    JobWorkState,
    add_job,
    commit_job_update,
)

from crewgraph.flow import start


class Report(JobRecord):
    output_fields: ClassVar[frozenset[str]] = frozenset({"text"})

    text: str = ""


class Work(JobWorkState[Report]):
    pass


class Writing(JobWorkFlow[Work]):
    fails: ClassVar[bool] = False

    @start()
    def write(self) -> None:
        self.publish_update("started")
        self.publish_update("stage_started", stage="draft")
        if self.fails:
            raise ValueError("no ink")
        self.publish_update("stage_completed", stage="draft", outputs={"text": "Tides."})
        self.publish_update("completed")


class Failing(Writing):
    fails = True


def session(*jobs: JobRecord) -> JobState[Report]:
    state = JobState[Report](id="s")
    assert all(add_job(state, job) for job in jobs)
    return state


def update(kind: Any, seq: int, **more: Any) -> JobUpdate:
    about = {"session_id": "s", "job_id": "j", "revision": 1, "attempt": 1, "seq": seq, "kind": kind}
    return JobUpdate.model_validate({**about, **more})


def test_only_a_job_of_the_session_that_waits_and_is_new_is_added():
    state = session(Report(session_id="s", job_id="j"))
    refused: list[dict[str, Any]] = [{"job_id": "j"}, {"session_id": "x"}, {"status": "running"}]
    assert [add_job(state, Report.model_validate({"session_id": "s", **one})) for one in refused] == [False] * 3
    assert (list(state.jobs), state.job_sequence) == (["j"], 1)


def test_a_job_moves_on_by_updates_that_are_in_turn_and_by_no_others():
    state = session(Report(session_id="s", job_id="j"))
    steps: list[tuple[JobUpdate, bool]] = [
        (update("completed", 1), False),
        (update("started", 1, session_id="x"), False),
        (update("started", 1, attempt=2), False),
        (update("started", 1, outputs={"text": "a"}), False),
        (update("started", 2), True),
        (update("stage_started", 2, stage="a"), False),
        (update("stage_started", 3), False),
        (update("stage_started", 4, stage="a"), True),
        (update("stage_started", 5, stage="b"), False),
        (update("completed", 5), False),
        (update("stage_completed", 6, stage="b"), False),
        (update("stage_completed", 6, stage="a", outputs={"other": 1}), False),
        (update("stage_completed", 6, stage="a", outputs={"text": 1}), False),
        (update("stage_completed", 6, stage="a", outputs={"text": "A"}), True),
        (update("stage_started", 7, stage="a"), False),
        (update("completed", 8), True),
        (update("failed", 9, error="late"), False),
    ]
    assert [commit_job_update(state, one) for one, _ in steps] == [taken for _, taken in steps]
    job = state.jobs["j"]
    assert (job.status, job.stage, job.committed_stages, job.text) == ("completed", "a", ["a"], "A")
    assert (job.last_update_seq, state.job_sequence) == (8, 5)


@pytest.mark.parametrize(
    ("work", "statuses", "error"),
    [
        (Writing, ["queued", "running", "running", "running", "completed"], None),
        (Failing, ["queued", "running", "running", "failed"], "ValueError: no ink"),
        (None, ["queued", "failed"], "LookupError: no work"),
    ],
)
def test_a_flow_works_on_a_job_in_the_background(work: type[Writing] | None, statuses: list[str], error: str | None):
    reported: list[str] = []
    workers: list[str] = []

    def made(job: Any, inputs: Any, publish: Any) -> Writing:
        if work is None:
            raise LookupError("no work")
        return work(publish=publish, initial_state=Work(job=job))

    async def run() -> JobState[Report]:
        done, job = asyncio.Event(), Report(session_id="s", job_id="j")
        state = session(job)

        async def on_update(snapshot: dict[str, Any]) -> None:
            reported.append(snapshot["jobs"][0]["status"])
            if reported[-1] in ("completed", "failed"):
                done.set()

        runner = JobRunner(
            state,
            made,
            on_update=on_update,
            on_worker_event=lambda what, job: workers.append(what),
            format_error=lambda error: f"{type(error).__name__}: {error}",
        )
        runner.submit(job, {})
        await done.wait()
        await runner.aclose()
        with pytest.raises(RuntimeError, match="closed"):
            runner.submit(job, {})
        return state

    state = asyncio.run(run())
    assert (reported, state.jobs["j"].error) == (statuses, error)
    assert workers == (["started", "settled"] if work else [])


def test_a_session_that_is_closed_ends_its_work_at_the_next_look():
    async def run() -> JobRecord:
        began, job = asyncio.Event(), Report(session_id="s", job_id="j")
        loop, state = asyncio.get_running_loop(), session(job)

        class Long(JobWorkFlow[Work]):
            @start()
            def work(self) -> None:
                self.publish_update("started")
                loop.call_soon_threadsafe(began.set)
                while not self._stopping.wait(0.01):
                    pass
                self.check_open()

        async def on_update(snapshot: dict[str, Any]) -> None:
            pass

        def made(job: Any, inputs: Any, publish: Any) -> Long:
            return Long(publish=publish, initial_state=Work(job=job))

        runner = JobRunner(state, made, on_update=on_update)
        runner.submit(job, {})
        await began.wait()
        await runner.aclose()
        assert (runner.closed, runner.workflows) == (True, {})
        return state.jobs["j"]

    assert asyncio.run(run()).status == "running"


def test_a_job_that_has_not_begun_when_its_session_is_closed_is_not_done():
    async def run() -> tuple[str, list[str]]:
        job, has_started = Report(session_id="s", job_id="j"), list[str]()
        state = session(job)

        async def on_update(snapshot: dict[str, Any]) -> None:
            pass

        def made(job: Any, inputs: Any, publish: Any) -> Writing:
            has_started.append(job.job_id)
            return Writing(publish=publish, initial_state=Work(job=job))

        runner = JobRunner(state, made, on_update=on_update)
        runner.submit(job, {})
        await runner.aclose()
        return state.jobs["j"].status, has_started

    assert asyncio.run(run()) == ("queued", [])


def test_a_job_whose_beginning_cannot_be_told_has_failed(caplog: pytest.LogCaptureFixture):
    async def run() -> str:
        job = Report(session_id="s", job_id="j")
        state = session(job)

        async def on_update(snapshot: dict[str, Any]) -> None:
            raise ConnectionError("nobody listens")

        def made(job: Any, inputs: Any, publish: Any) -> Writing:
            return Writing(publish=publish, initial_state=Work(job=job))

        runner = JobRunner(state, made, on_update=on_update)
        runner.submit(job, {})
        while runner.tasks:
            await asyncio.sleep(0)
        return state.jobs["j"].status

    assert asyncio.run(run()) == "failed" and "nobody listens" in caplog.text
