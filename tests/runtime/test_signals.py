"""Handlers of signals that raise, as the time limits of Celery and RQ do: they end the run, which can be resumed."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from langgraph.types import interrupt
from modes import Mode
from waiting import wait_until

from crewgraph import ScriptedLLM, ToolUse
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, task


class TimeIsUp(Exception):
    """The time of a job is up."""


class Limit:
    """A handler that raises the first time."""

    def __init__(self) -> None:
        self.has_struck = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.has_struck = True
        raise TimeIsUp

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.handle(number, frame)

    def strike(self, *_: object) -> None:
        if not self.has_struck:
            signal.raise_signal(signal.SIGUSR1)


KINDS = ["a method", "an object", "a partial function"]


@pytest.fixture
def limit(request: pytest.FixtureRequest) -> Iterator[Limit]:
    limit = Limit()
    handlers: dict[str, Callable[[int, FrameType | None], None]] = {
        "a method": limit.handle,
        "an object": limit,
        "a partial function": partial(limit.handle),
    }
    before = signal.signal(signal.SIGUSR1, handlers[getattr(request, "param", "a method")])
    yield limit
    signal.signal(signal.SIGUSR1, before)


def model(limit: Limit, where: str) -> ScriptedLLM:
    def reply(messages: Any) -> Any:
        if where == "the model":
            limit.strike()
        return "looked" if "seen" in str(messages[-1]["content"]) else ToolUse("look")

    return ScriptedLLM(reply)


def team(limit: Limit, where: str) -> Any:
    @tool
    def look() -> str:
        """Look."""
        if where == "a tool":
            limit.strike()
        return "seen"

    def judge(output: Any) -> tuple[bool, Any]:
        if where == "a guardrail":
            limit.strike()
        return True, output.raw

    def tell(_: object) -> None:
        if where == "a step callback":
            limit.strike()

    worker = agent(model(limit, where), max_retry_limit=2, tools=[look], step_callback=tell)
    return crew(task("look", worker, guardrail=judge))


@pytest.mark.parametrize("where", ["the model", "a tool", "a guardrail", "a step callback"])
def test_the_run_ends_with_it_and_continues_when_resumed(mode: Mode, limit: Limit, where: str, tmp_path: Path) -> None:
    looking = team(limit, where)
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        with pytest.raises(TimeIsUp):
            mode.kickoff(looking, thread_id="job", checkpointer=saver)
        assert limit.has_struck
        assert mode.resume(looking, "job", checkpointer=saver).raw == "looked"


@pytest.mark.parametrize("limit", KINDS, indirect=True)
def test_a_client_that_wraps_it_in_an_error_of_its_own_does_not_hide_it(mode: Mode, limit: Limit) -> None:
    def reply(_: object) -> str:
        try:
            limit.strike()
        except TimeIsUp as error:
            raise ConnectionError("no answer") from error
        return "answered after all"

    with pytest.raises(TimeIsUp):
        mode.kickoff(crew(task("answer", agent(ScriptedLLM(reply), max_retry_limit=2))), checkpointer=False)


def test_no_request_follows_calls_that_a_limit_ended(mode: Mode, limit: Limit) -> None:
    asked: list[str] = []

    @tool
    def dig(where: str) -> str:
        """Dig."""
        asked.append(where)
        interrupt(f"May I dig {where}?")
        limit.strike()
        return "dug"

    llm = ScriptedLLM(
        [[ToolUse("dig", {"where": "here"}), ToolUse("dig", {"where": "there"})], "done"], native_tools=True
    )
    digging = crew(task("dig", agent(llm, tools=[dig])))
    waiting: Any = mode.kickoff(digging, thread_id="job")
    assert sorted(asked) == ["here", "there"]
    with pytest.raises(TimeIsUp):
        mode.resume(digging, "job", answer={question.id: "yes" for question in waiting.questions})
    assert len(llm.requests) == 1


def test_no_other_model_is_asked(mode: Mode, limit: Limit) -> None:
    other = ScriptedLLM(["answered by another model"])
    with pytest.raises(TimeIsUp):
        mode.kickoff(crew(task("answer", agent([model(limit, "the model"), other]))), checkpointer=False)
    assert not other.requests


def test_a_limit_inside_a_tool_is_a_failure_of_the_tool() -> None:
    @tool
    def look() -> str:
        """Look, but not for long."""
        before = signal.signal(signal.SIGUSR1, Limit())
        try:
            signal.raise_signal(signal.SIGUSR1)
            return "never"
        finally:
            signal.signal(signal.SIGUSR1, before)

    llm = ScriptedLLM([ToolUse("look"), "it was too slow"])
    assert crew(task("look", agent(llm, tools=[look]))).kickoff(checkpointer=False).raw == "it was too slow"
    assert "TimeIsUp" in str(llm.requests[-1].messages[-1]["content"])


def test_no_further_inputs_are_begun(limit: Limit) -> None:
    llm = model(limit, "the model")
    with pytest.raises(TimeIsUp):
        crew(task("answer {x}", agent(llm))).kickoff_for_each([{"x": 1}, {"x": 2}], checkpointer=False)
    assert len(llm.requests) == 1


def test_what_threads_finish_in_the_meantime_is_recorded(limit: Limit, tmp_path: Path) -> None:
    calls: list[str] = []

    @tool
    def strike() -> str:
        """Strike."""
        wait_until(lambda: calls)
        limit.strike()
        return "struck"

    @tool
    def work() -> str:
        """Work."""
        calls.append("work")
        wait_until(lambda: limit.has_struck)
        time.sleep(0.2)
        return "worked"

    striking = agent(ScriptedLLM(lambda messages: use_once("strike", messages)), tools=[strike])
    working = agent(ScriptedLLM(lambda messages: use_once("work", messages)), "another worker", tools=[work])
    end = task("c", agent(ScriptedLLM(["done"]), "the last worker"))
    both = crew(task("a", striking, async_execution=True), task("b", working, async_execution=True), end)
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        with pytest.raises(TimeIsUp):
            both.kickoff(thread_id="job", checkpointer=saver)
        assert both.resume("job", checkpointer=saver).raw == "done"
    assert calls == ["work"]


@pytest.mark.parametrize("at_once", ["tasks", "calls"])
def test_it_may_come_while_a_thread_starts(
    limit: Limit, at_once: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ThreadPoolExecutor` then does not know what the thread works on."""
    starts = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"
    begin: Callable[..., object] = vars(threading)[starts]
    starting: dict[object, object] = vars(threading)["_limbo"]
    calls: list[str] = []

    def begin_and_strike(*args: object, **more: object) -> object:
        name = begin(*args, **more)
        wait_until(lambda: not starting)
        limit.strike()
        return name

    @tool
    def work(at: str) -> str:
        """Work."""
        calls.append(at)
        time.sleep(0.3)
        return "worked"

    def worker(*places: str) -> Any:
        uses = [ToolUse("work", {"at": place}) for place in places]
        llm = ScriptedLLM(lambda messages: "done" if "worked" in str(messages[-1]) else uses, native_tools=True)
        return agent(llm, f"worker at {places}", tools=[work])

    if at_once == "tasks":
        tasks = [task(place, worker(place), async_execution=True) for place in "ab"]
        team = crew(*tasks, task("c", agent(ScriptedLLM(["done"]))))
    else:
        team = crew(task("both", worker("a", "b")))
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as saver:
        with monkeypatch.context() as patched, pytest.raises(TimeIsUp):
            patched.setattr(threading, starts, begin_and_strike)
            team.kickoff(thread_id="job", checkpointer=saver)
        assert team.resume("job", checkpointer=saver).raw == "done"
    assert sorted(calls) == ["a", "b"]


def use_once(name: str, messages: Any) -> Any:
    return "done" if str(messages[-1]["content"]).endswith(("struck", "worked")) else ToolUse(name)
