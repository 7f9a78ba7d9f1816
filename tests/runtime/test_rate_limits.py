"""`max_rpm` of crews and agents: real requests across tasks, runs, threads and event loops."""

import asyncio
import signal
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel, ValidationError
from rpm_window import record_requests
from waiting import LIMITS, LONG, wait_until_async

from crewgraph import Agent, Crew, ScriptedLLM, ToolUse
from crewgraph.errors import TimeLimitReached
from crewgraph.events import LLMCallCompletedEvent, LLMCallDelayedEvent, LLMCallStartedEvent, crewai_event_bus
from crewgraph.llm.rate_limit import RPMController
from crewgraph.testing import record_events
from crewgraph.tools import tool
from runtime.parts import agent, crew, task


class Bounded:
    """A model, and a controller that lets so many requests through in a window of some seconds."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self.asked: list[float] = []
        self.llm = ScriptedLLM(self.reply)
        self.controller = RPMController(max_rpm=most, seconds=seconds)
        self.window = record_requests(self.controller)

    def reply(self, messages: Sequence[dict[str, Any]]) -> str:
        self.asked.append(time.monotonic())
        return "done"

    def saw(self, count: int) -> bool:
        """Whether so many requests were made, each once it was counted, and never too many in a window."""
        counted, asked = sorted(self.window.seen), sorted(self.asked)
        assert self.window.closest(self.most) > self.seconds - 0.001
        assert all(made <= at for made, at in zip(counted, asked, strict=True))
        return len(asked) == count


class Counting:
    """A controller that lets everything through and counts it."""

    def __init__(self) -> None:
        self.asked = 0

    def check_or_wait(self) -> bool:
        self.asked += 1
        return True


def full(max_rpm: int = 1) -> RPMController:
    """A controller whose minute has just seen all it may."""
    controller = RPMController(max_rpm=max_rpm)
    for _ in range(max_rpm):
        controller.check_or_wait()
    return controller


def test_all_agents_of_a_crew_share_its_bound(mode: Mode):
    model = Bounded(3, 0.8)
    team = [agent(model.llm, role=f"r{n}") for n in range(3)]
    made = crew(*(task(f"t{n}", team[n % 3]) for n in range(7)), rpm_controller=model.controller)
    mode.kickoff(made)
    assert model.saw(7)


def test_parallel_tasks_runs_threads_and_loops_share_a_crews_bound():
    model = Bounded(6, 0.8)
    worker = agent(model.llm)
    beside = [task(f"t{n}", worker, async_execution=True) for n in range(3)]
    made = crew(*beside, task("last", worker), rpm_controller=model.controller)

    def loop(_: int) -> None:
        async def runs() -> None:
            await asyncio.gather(*(made.akickoff(checkpointer=False) for _ in range(2)))

        asyncio.run(runs())

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(loop, n) for n in range(2)] + [pool.submit(made.kickoff, checkpointer=False)]
        for job in jobs:
            job.result(LONG)
    assert model.saw(20)


def limited(crew_rpm: int | None = None, agent_rpm: int | None = None) -> tuple[Crew, Agent, ScriptedLLM]:
    """A crew of one task."""
    llm = ScriptedLLM(["done"], repeat_last=True)
    worker = agent(llm, max_rpm=agent_rpm)
    return crew(task("only", worker), max_rpm=crew_rpm), worker, llm


@contextmanager
def waiting(worker: Agent, seconds: float = 0.3) -> Generator[pytest.ExceptionInfo[TimeLimitReached]]:
    """The agent has to wait for room, and gives up."""
    worker.max_execution_time = seconds
    with pytest.raises(TimeLimitReached) as caught:
        yield caught
    worker.max_execution_time = None


def test_max_rpm_of_a_crew_holds_over_its_runs_and_the_wait_counts_as_the_agents_time(mode: Mode):
    made, worker, llm = limited(crew_rpm=2)
    began = time.monotonic()
    mode.kickoff(made)
    mode.kickoff(made)
    for seconds in LIMITS:
        with record_events() as events, waiting(worker, seconds) as caught:
            mode.kickoff(made)
        if any(isinstance(event, LLMCallDelayedEvent) for event in events):
            break
    else:
        raise AssertionError("it never had to wait")
    assert "a request to the model `scripted` was still running" in str(caught.value)
    assert str(caught.value).endswith(
        "Raise the limit, or make the task smaller. Waiting for `max_rpm` counts towards it."
    )
    (reported,) = [event for event in events if isinstance(event, LLMCallDelayedEvent)]
    assert 60 - (time.monotonic() - began) < reported.seconds <= 60 and reported.max_rpm == 2
    assert (reported.model, reported.agent_role, reported.task_name) == ("scripted", "worker", "only")
    assert not any(isinstance(event, LLMCallStartedEvent) for event in events)
    assert len(llm.requests) == 2


def test_a_request_that_is_given_up_is_not_made_later_and_leaves_its_place(mode: Mode):
    made, worker, llm = limited()
    made.rpm_controller = controller = full()
    with waiting(worker):
        mode.kickoff(made)
    controller.reset_counter()
    mode.kickoff(made)
    time.sleep(0.1)
    assert len(llm.requests) == 1


def test_every_request_counts_conversions_too_and_what_the_record_answers_does_not(mode: Mode):
    class Tide(BaseModel):
        metres: float

    @tool
    def look() -> str:
        """Look."""
        return "3 m"

    llm = ScriptedLLM([ToolUse("look", {}), ConnectionError("down"), "three metres", '{"metres": 3}'])
    counting = Counting()
    made = crew(task("tide", agent(llm, tools=[look]), output_pydantic=Tide), rpm_controller=counting)
    with record_events() as events:
        with pytest.raises(ConnectionError):
            mode.kickoff(made, thread_id="t")
        assert counting.asked == 2
        assert mode.resume(made, "t").pydantic == Tide(metres=3)
    assert counting.asked == len(llm.requests) == 4
    assert sum(isinstance(event, LLMCallCompletedEvent) for event in events) == 3


def test_a_cancelled_run_leaves_its_place():
    made, _, llm = limited()
    made.rpm_controller = controller = full()

    async def run() -> None:
        with record_events() as events:
            first = asyncio.create_task(made.akickoff())
            await wait_until_async(lambda: any(isinstance(event, LLMCallDelayedEvent) for event in events))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        controller.reset_counter()
        await asyncio.wait_for(made.akickoff(), 40)

    asyncio.run(run())
    assert len(llm.requests) == 1


@contextmanager
def interrupted_soon() -> Generator[None]:
    """Somebody presses Ctrl-C while a request waits."""
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    waits = threading.Lock()
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(LLMCallDelayedEvent)
        def _(source: Any, event: LLMCallDelayedEvent) -> None:
            if waits.acquire(blocking=False):
                timer.start()

        with pytest.raises(KeyboardInterrupt):
            yield
    timer.join()


def test_a_run_that_waits_can_be_interrupted():
    made, _, llm = limited()
    made.rpm_controller = controller = full()
    with interrupted_soon():
        made.kickoff(thread_id="t")
    controller.reset_counter()
    assert made.resume("t").raw == "done"
    assert len(llm.requests) == 1


def test_a_bound_below_one_is_none(mode: Mode):
    for none in (0, -3):
        worker = agent(ScriptedLLM(["a", "b"]), max_rpm=none)
        assert mode.kickoff(crew(task("a", worker), task("b", worker), max_rpm=none)).raw == "b"


def test_a_controller_that_cannot_be_waited_for_is_refused():
    with pytest.raises(ValidationError, match=r"`rpm_controller` is an `RPMController`, or an object with"):
        crew(task("a", agent(None)), rpm_controller=object())
