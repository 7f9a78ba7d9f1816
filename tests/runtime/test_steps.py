"""A task as a graph of its steps: inspected, interrupted, edited, forked."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.errors import CompileError
from crewgraph.events import TaskStartedEvent
from crewgraph.testing import record_events
from crewgraph.tools import BaseTool, tool

from .parts import agent, crew, task

AT: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture(params=["sync-step", "async-step"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


def adder(done: list[tuple[int, int]]) -> BaseTool:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        done.append((a, b))
        return a + b

    return add


def adding(*script: Any, done: list[tuple[int, int]], **more: Any) -> tuple[Crew, ScriptedLLM]:
    model = ScriptedLLM(list(script), native_tools=True)
    worker: Agent = agent(model, tools=[adder(done)])
    return crew(task("sum", worker, **more)), model


def inside(mode: Mode, graph: Any) -> Any:
    """The state of the graph of the task at work."""
    if mode.asynchronous:
        import asyncio

        return asyncio.run(graph.aget_state(AT, subgraphs=True)).tasks[0].state
    return graph.get_state(AT, subgraphs=True).tasks[0].state


def good(output: TaskOutput) -> tuple[bool, Any]:
    return ("3" in output.raw, None if "3" in output.raw else "say three")


def test_the_drawing_shows_the_steps_of_each_task():
    made, _ = adding(done=[], guardrail=good)
    plain = task("plain", agent(ScriptedLLM([])))
    whole = Crew(agents=[*made.agents, *([plain.agent] if plain.agent else [])], tasks=[*made.tasks, plain])
    drawn = whole.compile(granularity="step").get_graph(xray=True)
    assert [one for one in drawn.nodes if not one.endswith("__")] == [
        "sum:model", "sum:tools", "sum:guardrail", "sum:finish", "plain:model", "plain:finish",
    ]  # fmt: skip
    edges = {(edge.source, edge.target, edge.conditional) for edge in drawn.edges}
    assert {
        ("sum:model", "sum:tools", True),
        ("sum:tools", "sum:model", True),
        ("plain:model", "plain:finish", True),
    } <= edges
    assert {("sum:guardrail", "sum:model", True), ("sum:guardrail", "sum:finish", True)} <= edges
    assert not [edge for edge in edges if "plain" in edge[0] and "tools" in edge[1]]


def test_a_task_that_uses_every_step_gives_what_it_gives_as_one_node(mode: Mode):
    script = [ToolUse("add", {"a": 1, "b": 2}), "four", "Final Answer: 3"]
    results: list[Any] = []
    for granularity in ("task", "step"):
        made, model = adding(*script, done=[], guardrail=good)
        output = mode.kickoff(made, granularity=granularity)
        results.append((output.raw, output.token_usage, [request.messages for request in model.requests]))
    assert results[0] == results[1]


def test_before_its_tools_a_task_stops_and_shows_what_they_would_do(mode: Mode):
    done: list[tuple[int, int]] = []
    made, model = adding([ToolUse("add", {"a": 1, "b": 2}), ToolUse("add", {"a": 3, "b": 4})], "3", done=done)
    graph = mode.compile(made, checkpointer=InMemorySaver(), interrupt_before=["tools"])
    mode.invoke(graph, {"inputs": {}}, AT)
    state = inside(mode, graph)
    assert state.next == ("tools",) and done == []
    assert [(one["tool"], one["args"]) for one in state.values["pending"]["effects"]] == [
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": 3, "b": 4}),
    ]
    assert mode.invoke(graph, None, AT)["sum"]["raw"] == "3"
    assert sorted(done) == [(1, 2), (3, 4)] and len(model.requests) == 2


def test_a_tool_can_be_answered_by_hand(mode: Mode):
    done: list[tuple[int, int]] = []
    made, model = adding(ToolUse("add", {"a": 1, "b": 2}), "3", done=done)
    graph = mode.compile(made, checkpointer=InMemorySaver(), interrupt_before=["tools"])
    mode.invoke(graph, {"inputs": {}}, AT)
    state = inside(mode, graph)
    (effect,) = state.values["pending"]["effects"]
    given = {"path": effect["path"], "value": {"text": "three, says the clerk", "failed": False, "final": False}}
    graph.update_state(state.config, {"steps": [given]}, as_node="tools")
    assert mode.invoke(graph, None, AT)["sum"]["raw"] == "3"
    assert done == [] and model.requests[1].messages[-1]["content"] == "three, says the clerk"


def test_the_history_of_a_task_shows_its_steps_and_a_fork_continues_from_one(mode: Mode):
    done: list[tuple[int, int]] = []
    script = [ToolUse("add", {"a": 1, "b": 2}), ToolUse("add", {"a": 3, "b": 4}), "seven", "another 3"]
    made, model = adding(*script, done=done)
    graph = mode.compile(made, checkpointer=InMemorySaver(), interrupt_before=["finish"])
    mode.invoke(graph, {"inputs": {}}, AT)
    state = inside(mode, graph)
    own = {name: state.config["configurable"][name] for name in ("thread_id", "checkpoint_ns")}
    history = list(graph.get_state_history({"configurable": own}))
    assert [one.next for one in reversed(history)][1:] == [
        ("model",), ("tools",), ("model",), ("tools",), ("model",), ("finish",),
    ]  # fmt: skip
    assert [step["what"] for step in state.values["steps"]][:2] == [
        f"a request to the model `{model.model}`",
        "a call of the tool `add`",
    ]
    before_last = next(one for one in history if one.next == ("model",))
    mode.invoke(graph, None, before_last.config)
    assert [one["value"]["content"] for one in inside(mode, graph).values["steps"] if "value" in one][-1] == "another 3"
    assert mode.invoke(graph, None, AT)["sum"]["raw"] == "another 3"
    assert done == [(1, 2), (3, 4)] and len(model.requests) == 4


def test_an_edited_result_of_a_tool_is_what_the_task_continues_with(mode: Mode):
    done: list[tuple[int, int]] = []
    made, model = adding(ToolUse("add", {"a": 1, "b": 2}), "3", "4", done=done)
    graph = mode.compile(made, checkpointer=InMemorySaver(), interrupt_after=["tools"])
    mode.invoke(graph, {"inputs": {}}, AT)
    state = inside(mode, graph)
    used = dict(state.values["steps"][-1])
    used["value"] = {**used["value"], "text": "4"}
    graph.update_state(state.config, {"steps": [used]}, as_node="tools")
    mode.invoke(graph, None, AT)
    assert model.requests[1].messages[-1]["content"] == "4" and done == [(1, 2)]


def test_a_long_task_is_begun_once_however_many_steps_it_has(mode: Mode):
    done: list[tuple[int, int]] = []
    calls = [ToolUse("add", {"a": n, "b": 1}) for n in range(40)]
    made, _ = adding(*calls, "3", done=done)
    made.tasks[0].agent.max_iter = 100  # pyright: ignore[reportOptionalMemberAccess]
    with record_events() as events:
        assert mode.kickoff(made).raw == "3"
    assert len(done) == 40 and sum(isinstance(event, TaskStartedEvent) for event in events) == 1


def test_a_run_in_steps_is_resumed_in_steps(mode: Mode):
    done: list[tuple[int, int]] = []
    made, model = adding(ToolUse("add", {"a": 1, "b": 2}), ConnectionError("down"), "3", done=done)
    saver = InMemorySaver()
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t", checkpointer=saver)
    assert mode.resume(made, "t", checkpointer=saver).raw == "3"
    assert done == [(1, 2)] and len(model.requests) == 3


def test_a_node_that_does_not_exist_is_reported_with_those_that_do():
    made, _ = adding(done=[])
    with pytest.raises(CompileError, match="no node `tool` to stop at; the nodes are `sum`, `model`, `tools`"):
        made.compile(granularity="step", interrupt_before=["tool"])
    with pytest.raises(CompileError, match='with `granularity="step"` the steps of tasks'):
        made.compile(interrupt_before=["tools"])


def test_a_granularity_that_does_not_exist_is_reported():
    made, _ = adding(done=[])
    with pytest.raises(CompileError, match='"task" .* or "step"'):
        made.compile(granularity="steps")
    with pytest.raises(CompileError, match='"task" .* or "step"'):
        made.kickoff(granularity="crew")
