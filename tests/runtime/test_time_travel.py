"""Time travel: histories, forks with another state, and repeated tasks."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import ScriptedLLM, TaskOutput, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task

AT: Any = {"configurable": {"thread_id": "t"}}


def ran(mode: Mode, llm: ScriptedLLM, **more: Any) -> Any:
    worker = agent(llm, **more)
    team = crew(task("first", worker, description="look at {topic}"), task("second", worker), task("third", worker))
    graph = mode.compile(team, checkpointer=InMemorySaver())
    mode.invoke(graph, {"inputs": {"topic": "rain"}}, AT)
    return graph


def before(graph: Any, name: str) -> Any:
    return next(state for state in graph.get_state_history(AT) if name in state.next)


def test_a_fork_with_another_output_continues_with_that(mode: Mode):
    llm = ScriptedLLM(["a", "b", "c", "b2", "c2"])
    graph = ran(mode, llm)
    edited = TaskOutput(description="d", agent="somebody", raw="quite another").to_plain()
    fork = graph.update_state(before(graph, "second").config, {"first": edited})
    state = mode.invoke(graph, None, fork)
    assert [state[name]["raw"] for name in ("first", "second", "third")] == ["quite another", "b2", "c2"]
    assert "quite another" in llm.requests[3].text


def test_a_failed_task_forked_from_before_it_is_done_afresh(mode: Mode):
    used: list[int] = []

    @tool
    def look(i: int) -> str:
        """Look at something."""
        used.append(i)
        return f"<{i}>"

    llm = ScriptedLLM([ToolUse("look", {"i": 1}), ConnectionError("down"), ToolUse("look", {"i": 1}), "end"])
    graph = mode.compile(crew(task("only", agent(llm, tools=[look], cache=False))), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {}}, AT)
    fork = graph.update_state(before(graph, "only").config, {"inputs": {}}, as_node="__start__")
    assert mode.invoke(graph, None, fork)["only"]["raw"] == "end"
    assert used == [1, 1]
