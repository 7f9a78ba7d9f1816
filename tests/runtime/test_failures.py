"""Failures: the exception for the caller, the events, and what a resume repeats."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from modes import Mode
from waiting import LONG

from crewgraph import Crew, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.errors import OutputNotSaved
from crewgraph.events import CrewKickoffFailedEvent, TaskFailedEvent, ToolUsageErrorEvent
from crewgraph.testing import record_events
from crewgraph.tools import tool
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.langchain import as_langchain_tool

from .parts import agent, crew, task


class Broken(Exception):
    """An exception of the user's own."""


def two(llm: ScriptedLLM, **more: Any) -> Crew:
    return crew(task("first", agent(llm)), task("second", agent(llm, role="Senior\n  Writer"), **more))


def test_a_failure_carries_the_tasks_name_and_is_told_to_the_audience(mode: Mode):
    with record_events() as events, pytest.raises(Broken, match="the model broke") as caught:
        mode.kickoff(two(ScriptedLLM(["one", Broken("the model broke")])))
    assert caught.value.__notes__[0] == "in task `second` of agent `Senior Writer`"
    task_failed = next(event for event in events if isinstance(event, TaskFailedEvent))
    crew_failed = next(event for event in events if isinstance(event, CrewKickoffFailedEvent))
    assert task_failed.error == "task `second` of agent `Senior Writer`: Broken: the model broke"
    assert crew_failed.error.startswith("Broken: the model broke (in task `second` of agent `Senior Writer`")


@tool("Depth of the sea")
def broken_depth(place: str) -> str:
    """Look up how deep the sea is."""
    raise Broken(f"no depth of {place}")


@pytest.mark.parametrize("cache", [True, False])
def test_the_event_of_a_failed_tool_holds_what_the_tool_raised(mode: Mode, cache: bool):
    llm = ScriptedLLM([ToolUse(as_tool(broken_depth).name, {"place": "Brest"}), "done"])
    with record_events() as events:
        mode.kickoff(crew(task("a", agent(llm, tools=[broken_depth])), cache=cache))
    (failed,) = [event for event in events if isinstance(event, ToolUsageErrorEvent)]
    assert type(failed.error) is Broken
    assert str(failed.error) == "no depth of Brest"
    assert failed.to_json()["error"] == "Broken: no depth of Brest"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes_and_leaves_a_run_that_can_be_resumed(mode: Mode, kind: type[BaseException]):
    stops = [kind()]

    def reply(messages: list[dict[str, Any]]) -> str:
        if "do second" in str(messages) and stops:
            raise stops.pop()
        return "done"

    llm = ScriptedLLM(reply)
    made = two(llm)
    with pytest.raises(kind):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "done"
    assert len(llm.requests) == 3


def test_a_cancelled_run_ends_at_once_and_can_be_resumed():
    llm = ScriptedLLM(["one", "two"])
    made = crew(task("first", agent(llm)), task("second", agent(ScriptedLLM(["late"], delay=100), role="slow")))

    async def cut_short() -> None:
        running = asyncio.create_task(made.akickoff(thread_id="t"))
        while not made.tasks[1].start_time:
            await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with record_events() as events:
        asyncio.run(asyncio.wait_for(cut_short(), LONG))
    assert [event.type for event in events][-1] == "crew_kickoff_failed"
    made.agents[1].llm = ScriptedLLM(["in time"])
    assert made.resume("t").raw == "in time"
    assert len(llm.requests) == 1


def test_a_failing_callback_ends_the_run_and_a_resume_does_only_what_is_left(mode: Mode):
    reported: list[str] = []
    broken = [True]

    def callback(output: TaskOutput) -> None:
        reported.append(output.raw)
        if broken:
            broken.clear()
            raise Broken("the callback broke")

    llm = ScriptedLLM(["one", "two"])
    made = crew(task("first", agent(llm), callback=callback), task("second", agent(llm)))
    with pytest.raises(Broken, match="the callback broke") as caught:
        mode.kickoff(made, thread_id="t")
    assert caught.value.__notes__[:2] == ["in callback `callback`", "in task `first` of agent `worker`"]
    assert mode.resume(made, "t").raw == "two"
    assert reported == ["one", "one"]
    assert len(llm.requests) == 2


def test_a_failed_save_carries_the_output_and_a_resume_repeats_only_the_save(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports").write_text("a file where a folder should be")
    reported: list[str] = []

    def note(output: TaskOutput) -> None:
        reported.append(output.raw)

    llm = ScriptedLLM(["the report", "the end"])
    made = crew(task("report", agent(llm), output_file="reports/{name}.md", callback=note), task("end", agent(llm)))
    with pytest.raises(
        OutputNotSaved, match=r"task `report`: its output is finished, but could not be written"
    ) as caught:
        mode.kickoff(made, {"name": "rain"}, thread_id="t")
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.output.raw == "the report"
    (tmp_path / "reports").unlink()
    assert mode.resume(made, "t").raw == "the end"
    assert (tmp_path / "reports" / "rain.md").read_text() == "the report"
    assert (reported, len(llm.requests)) == (["the report"], 2)


def test_a_retry_policy_of_langgraph_does_not_repeat_what_was_done(mode: Mode):
    from langgraph.types import RetryPolicy

    used: list[int] = []

    @tool
    def look(i: int) -> str:
        """Look at something."""
        used.append(i)
        return f"<{i}>"

    llm = ScriptedLLM([ToolUse("look", {"i": 1}), ConnectionError("down"), "end"])
    from crewgraph.compiler.crew.graph import crew_graph

    graph = crew_graph(crew(task("a", agent(llm, tools=[look]))))
    graph.set_node_defaults(retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
    assert mode.invoke(graph.compile(), {"inputs": {}})["a"]["raw"] == "end"
    assert (used, len(llm.requests)) == ([1], 3)


class Stops(BaseCallbackHandler):
    """A callback handler that ends the run, as one that counts costs may."""

    raise_error = True

    def __init__(self, at: str) -> None:
        setattr(self, at, self._stop)

    def _stop(self, *_: object, **__: object) -> None:
        raise Broken("stopped by a handler")


@pytest.mark.parametrize(
    ("at", "requests", "calls"),
    [("on_chat_model_start", 0, 0), ("on_llm_end", 1, 0), ("on_tool_start", 1, 0), ("on_tool_end", 1, 1)],
)
def test_a_callback_handler_that_raises_ends_the_run_and_nothing_is_done_again(
    mode: Mode, at: str, requests: int, calls: int
):
    @tool
    def depth(place: str) -> str:
        """Look up how deep the sea is."""
        called.append(place)
        return "40 m"

    for used in (depth, as_langchain_tool(depth)):
        called: list[str] = []
        llm = ScriptedLLM([ToolUse("depth", {"place": "Brest"}), "done"], repeat_last=True)
        made = crew(task("a", agent([llm, ScriptedLLM([])], tools=[used], max_retry_limit=2)))
        with pytest.raises(Broken, match="stopped by a handler"):
            mode.kickoff(made, config={"callbacks": [Stops(at)]})
        assert (len(llm.requests), len(called)) == (requests, calls)
