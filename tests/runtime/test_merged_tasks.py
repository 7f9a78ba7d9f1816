"""The tasks of a linear crew share a node in runs that are neither stored nor observed, with the same results."""

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from modes import Mode

from crewgraph import Agent, Crew, Flow, Process, Task, start
from crewgraph.definitions.task.task import ConditionalTask
from crewgraph.errors import BudgetExceeded
from crewgraph.events import BaseEvent, crewai_event_bus
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.runtime.crew import kickoff
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
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


def test_the_graph_has_one_step_only_where_nobody_stores_or_watches_the_run(
    nodes: list[Any], mode: Mode, tmp_path: Any
):
    class Runs(BaseCallbackHandler):
        names: list[str] = []

        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            self.names.append(str(kwargs.get("name")))

    crew, used = _crew(nodes), list[list[str]]()
    graph_of = kickoff.graph_of

    def recorded(*args: Any, **options: Any) -> Any:
        compiled = graph_of(*args, **options)
        used.append([name for name in compiled.graph.nodes if name != START])
        return compiled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kickoff, "graph_of", recorded)
        mode.kickoff(crew, checkpointer=False)
        with SqliteCheckpointer(tmp_path / "runs.db") as saver:
            mode.kickoff(crew, checkpointer=saver)
        mode.kickoff(crew, checkpointer=False, config={"callbacks": [Runs()]})
        list(mode.stream_items(crew, checkpointer=False))
    separate = ["one", "two", "three"]
    assert used == ([["all tasks"], separate, separate, separate] if mode.granularity == "task" else [separate] * 4)
    assert {"one", "two", "three"} <= {*Runs.names}


def test_the_same_events_are_emitted(nodes: list[Any], mode: Mode):
    def events(**options: Any) -> list[tuple[str, Any, Any]]:
        received: list[tuple[str, Any, Any]] = []
        with crewai_event_bus.scoped_handlers():

            @crewai_event_bus.on(BaseEvent)
            def hear(source: Any, event: BaseEvent) -> None:
                received.append((event.type, event.task_name, event.emission_sequence))

            mode.kickoff(_crew(nodes), checkpointer=False, **options)
        return received

    assert events() == events(config={"tags": ["apart"]})


def _failing_at_two(messages: list[dict[str, Any]]) -> str:
    if any("Task two" in str(message["content"]) for message in messages):
        raise ConnectionError("no model here")
    return "Final Answer: done"


def test_what_was_done_before_a_failure_is_known(nodes: list[Any], mode: Mode):
    crew = _crew(nodes, _failing_at_two)
    with pytest.raises(ConnectionError, match="no model here") as failed:
        mode.kickoff(crew, checkpointer=False)
    assert [log["task_name"] for log in crew.execution_logs if log["output"]] == ["one"]
    assert not any("all tasks" in note for note in getattr(failed.value, "__notes__", ()))


@pytest.mark.parametrize(("most", "done"), [(1, 0), (300, 1), (500, 2)])
def test_a_budget_that_is_used_up_leaves_the_outputs_so_far(nodes: list[Any], mode: Mode, most: int, done: int):
    with pytest.raises(BudgetExceeded) as exceeded:
        mode.kickoff(_crew(nodes, max_tokens=most), checkpointer=False)
    assert exceeded.value.output is not None
    assert [task.raw for task in exceeded.value.output.tasks_output] == ["LAKE"] * done


def test_conditional_and_asynchronous_tasks_keep_their_nodes(nodes: list[Any], mode: Mode):
    crew = _crew(nodes)
    crew.tasks[1].async_execution = True
    crew.tasks.append(
        ConditionalTask(
            name="four",
            description="Task four",
            expected_output="A word",
            agent=crew.agents[0],
            condition=lambda _: False,
        )
    )
    output = mode.kickoff(crew, checkpointer=False)
    assert [task.raw for task in output.tasks_output] == ["LAKE", "LAKE", "LAKE", ""]


def test_a_manager_does_the_tasks_one_after_the_other(nodes: list[Any], mode: Mode):
    manager = ScriptedLLM(lambda messages: "Final Answer: managed")
    crew = _crew(nodes, process=Process.hierarchical, manager_llm=manager)
    assert [task.raw for task in mode.kickoff(crew, checkpointer=False).tasks_output] == ["managed"] * 3


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

    builder: Any = StateGraph(Said)
    builder.add_node("look", alook if mode.asynchronous else look)
    builder.add_edge(START, "look")
    builder.add_edge("look", END)
    assert mode.invoke(builder.compile(), {}) == {"said": "LAKE"}
    flow: Any = Looking()
    assert mode.run(flow.kickoff, flow.akickoff) == "LAKE"
    assert [task for _, task, _ in nodes] == ["one", "two", "three"] * 2
