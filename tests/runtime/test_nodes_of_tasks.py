"""Each task is a node, whose run tools see and whose output stays when a later task fails."""

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.config import get_config
from langgraph.types import interrupt
from modes import Mode, graph_of

from crewgraph import Agent, Crew, Flow, Task, start
from crewgraph.errors import BudgetExceeded
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.tools import tool


@pytest.fixture
def nodes() -> list[tuple[str, str, int]]:
    """Where a tool was called: the node's name, its task, and the number of its step."""
    return []


def _crew(nodes: list[tuple[str, str, int]], replies: Callable[..., Any] | None = None, **fields: Any) -> Crew:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        seen = get_config().get("metadata", {})
        nodes.append((seen["langgraph_node"], seen["task"], seen["langgraph_step"]))
        return at.upper()

    def reply(messages: list[dict[str, Any]]) -> Any:
        word = str(messages[-1]["content"])
        return ToolUse("look", {"at": "lake"}) if "Task " in word else f"Final Answer: {word.split()[-1]}"

    agent = Agent(role="Clerk", goal="Look", backstory="You look.", llm=ScriptedLLM(replies or reply), tools=[look])
    tasks = [
        Task(name=name, description=f"Task {name}", expected_output="A word", agent=agent)
        for name in ("one", "two", "three")
    ]
    return Crew(name="lookers", agents=[agent], tasks=tasks, cache=False, **fields)


SEEN = [("one", "one", 1), ("two", "two", 2), ("three", "three", 3)]


def test_a_tool_sees_the_node_of_its_task(nodes: list[Any], mode: Mode):
    output = mode.kickoff(_crew(nodes), checkpointer=False)
    assert nodes == (SEEN if mode.granularity == "task" else [("tools", task, 2) for _, task, _ in SEEN])
    assert [task.raw for task in output.tasks_output] == ["LAKE"] * 3


def _failing_at_two(messages: list[dict[str, Any]]) -> str:
    if any("Task two" in str(message["content"]) for message in messages):
        raise ConnectionError("no model here")
    return "Final Answer: done"


def test_what_was_done_before_a_failure_is_known(nodes: list[Any], mode: Mode):
    crew = _crew(nodes, _failing_at_two)
    with pytest.raises(ConnectionError, match="no model here") as failed:
        mode.kickoff(crew, checkpointer=False)
    assert [log["task_name"] for log in crew.execution_logs if log["output"]] == ["one"]
    assert "in task `two` of agent `Clerk`" in failed.value.__notes__


@pytest.mark.parametrize(("most", "done"), [(1, 0), (300, 1), (500, 2)])
def test_a_budget_that_is_used_up_leaves_the_outputs_so_far(nodes: list[Any], mode: Mode, most: int, done: int):
    with pytest.raises(BudgetExceeded) as exceeded:
        mode.kickoff(_crew(nodes, max_tokens=most), checkpointer=False)
    assert exceeded.value.output is not None
    assert [task.raw for task in exceeded.value.output.tasks_output] == ["LAKE"] * done


def test_a_crew_in_a_method_of_a_flow_and_in_a_node_runs_as_alone(nodes: list[Any], mode: Mode):
    crew = _crew(nodes)

    class Looking(Flow[dict[str, Any]]):
        @start()
        async def look(self) -> str:
            return (
                str(await crew.akickoff(checkpointer=False))
                if mode.asynchronous
                else str(crew.kickoff(checkpointer=False))
            )

    class Said(TypedDict, total=False):
        said: str

    def look(state: Said) -> Said:
        return {"said": crew.kickoff(checkpointer=False).raw}

    async def alook(state: Said) -> Said:
        return {"said": (await crew.akickoff(checkpointer=False)).raw}

    assert mode.invoke(graph_of(Said, {"look": alook if mode.asynchronous else look}), {}) == {"said": "LAKE"}
    flow: Any = Looking()
    assert mode.run(flow.kickoff, flow.akickoff) == "LAKE"
    assert [task for _, task, _ in nodes] == ["one", "two", "three"] * 2


def test_a_question_leaves_what_the_tasks_before_it_wrote(nodes: list[Any], mode: Mode):
    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    crew = _crew(nodes)
    asking = ScriptedLLM([ToolUse("ask", {"what": "which lake?"})])
    crew.tasks[1].agent = Agent(role="Asker", goal="Ask", backstory="You ask.", llm=asking, tools=[ask])
    graph = crew.compile(granularity=mode.granularity)
    ended = mode.invoke(graph, {"inputs": {}})
    assert ended["one"]["raw"] == "LAKE"
    assert "two" not in ended
    assert [question.value for question in ended["__interrupt__"]] == ["which lake?"]


def test_a_crew_that_changed_runs_as_it_was_compiled(nodes: list[Any], mode: Mode):
    crew = _crew(nodes)
    graph = crew.compile(granularity=mode.granularity)
    crew.tasks.pop()
    assert mode.invoke(graph, {"inputs": {}})["output"] == "LAKE"
    assert [task for _, task, _ in nodes] == ["one", "two", "three"]
