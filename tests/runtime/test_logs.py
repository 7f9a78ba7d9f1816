"""What a crew reports of its last run: logs, conversations and inputs."""

from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import ConditionalTask, Crew, CrewOutput, ScriptedLLM, ToolUse
from crewgraph.events import CrewKickoffFailedEvent, CrewKickoffStartedEvent
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, by_prompt, crew, task


def test_each_task_of_the_last_run_has_an_entry(mode: Mode):
    worker = agent(ScriptedLLM(by_prompt))
    first = task("first", worker, description="say {x}")
    skipped = ConditionalTask(
        condition=lambda output: False, description="no", expected_output="e", agent=worker, name="skipped"
    )
    made = crew(first, skipped, task("last", worker, description="say end"), checkpointer=False)
    mode.kickoff(made, {"x": "one"})
    mode.kickoff(made, {"x": "two"})
    logs = made.execution_logs
    assert [(one["task_index"], one["task_id"], one["task_name"]) for one in logs] == [
        (n, str(one.id), one.name) for n, one in enumerate(made.tasks)
    ]
    assert [one["output"]["raw"] for one in logs] == ["two", "", "end"]
    assert [one["expected_output"] for one in logs] == ["a text", "e", "a text"]
    assert {(one["was_replayed"], one["inputs"]["x"], len(one["timestamp"])) for one in logs} == {(False, "two", 19)}


@tool
def look(i: int) -> str:
    """Look at something."""
    return f"<{i}>"


def test_an_output_tells_its_conversation(mode: Mode):
    llm = ScriptedLLM([ToolUse("look", {"i": 1}), "done", "over"], native_tools=True)
    made = crew(task("a", agent(llm, tools=[look])), task("b", agent(llm)), checkpointer=False)
    result = mode.kickoff(made)
    first, second = result.tasks_output
    assert [message["role"] for message in first.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert first.messages[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"i": 1}'}
    assert first.messages[3]["content"] == "<1>"
    assert [message["role"] for message in second.messages] == ["system", "user"]
    assert "done" in second.messages[1]["content"]
    assert made.tasks[0].output is not None and made.tasks[0].output.messages == first.messages
    assert "messages" in result.model_dump()["tasks_output"][0]
    assert "messages" not in repr(first)


def test_conversations_are_not_kept_and_a_resumed_task_has_its_own(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        llm = ScriptedLLM(["one", ToolUse("look", {"i": 1}), ConnectionError("down"), "two"], native_tools=True)
        made = crew(task("a", agent(llm)), task("b", agent(llm, tools=[look])), checkpointer=saver)
        with pytest.raises(ConnectionError):
            mode.kickoff(made, thread_id="t")
        first, second = mode.resume(made, "t").tasks_output
        assert first.messages == []
        assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool", "assistant"]
        state = mode.state(mode.compile(made, checkpointer=saver), {"configurable": {"thread_id": "t"}})
        assert "messages" not in state.values["a"]


def test_runs_at_the_same_time_have_conversations_of_their_own():
    made = crew(task("a", agent(ScriptedLLM(by_prompt)), description="say {x}"), checkpointer=False)
    outputs = made.kickoff_for_each([{"x": n} for n in range(20)], max_concurrency=10)
    for n, output in enumerate(outputs):
        assert f"say {n}\n" in output.tasks_output[0].messages[1]["content"]


def test_an_agent_knows_the_crew_it_was_last_kicked_off_in(mode: Mode):
    worker = agent(ScriptedLLM(by_prompt))
    one, two = (crew(task("a", worker, description="say x"), name=name, checkpointer=False) for name in ("one", "two"))
    assert worker.crew is None
    mode.kickoff(one)
    assert worker.crew is one
    mode.kickoff(two)
    assert worker.crew is two


def _boom(_: Any) -> None:
    raise ValueError("no")


def failing(**more: Any) -> Crew:
    return crew(task("a", agent(ScriptedLLM(by_prompt)), description="say {x}"), checkpointer=False, **more)


def test_an_after_callback_that_fails_fails_the_kickoff_and_costs_no_work(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = failing(after_kickoff_callbacks=[_boom])
        with record_events() as events, pytest.raises(ValueError, match="no"):
            mode.kickoff(made, {"x": "one"}, checkpointer=saver, thread_id="t")
        assert isinstance(events[0], CrewKickoffStartedEvent) and isinstance(events[-1], CrewKickoffFailedEvent)
        assert made.tasks[0].output is not None and made.tasks[0].output.raw == "one"
        made.after_kickoff_callbacks.clear()
        result: CrewOutput = mode.resume(made, "t", checkpointer=saver)
        assert result.raw == "one"
