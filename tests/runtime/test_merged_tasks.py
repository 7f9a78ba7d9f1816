"""The tasks of a linear crew share a node in runs that are neither stored nor observed, with the same results."""

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from modes import Mode

from crewgraph import Agent, Crew, Flow, Process, Task, start
from crewgraph.errors import BudgetExceeded
from crewgraph.events import BaseEvent, crewai_event_bus
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.runtime.crew import kickoff
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.task import ConditionalTask
from crewgraph.tools import tool


@pytest.fixture
def nodes() -> list[tuple[str, str, int]]:
    """Where a tool was called: the node's name, its task, and the number of its step."""
    return []


def _crew(
    nodes: list[tuple[str, str, int]],
    replies: Callable[..., Any] | None = None,
    places: list[str] | None = None,
    **fields: Any,
) -> Crew:
    @tool
    def look(at: str) -> str:
        """Look at something."""
        seen = get_config().get("metadata", {})
        nodes.append((seen["langgraph_node"], seen["task"], seen["langgraph_step"]))
        if places is not None:
            places.append(seen["langgraph_checkpoint_ns"])
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


class _Watching(BaseCallbackHandler):
    """A handler that does nothing."""


class _Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    three: Any


def _around(crew: Any, **options: Any) -> Any:
    outer: Any = StateGraph(_Outer)
    outer.add_node("team", crew)
    outer.add_edge(START, "team")
    return outer.compile(**options)


def _timed(graph: Any) -> Any:
    graph.step_timeout = 60
    return graph


INPUT: dict[str, Any] = {"inputs": {}}
AT = {"configurable": {"thread_id": "lookers"}}
FEW = {"task": 4, "step": 10}
WATCHED = {"callbacks": [_Watching()]}

UNNOTICED: dict[str, tuple[Callable[[Mode, Any], object], dict[str, Any]]] = {
    "invoked": (lambda mode, graph: mode.invoke(graph, INPUT), {}),
    "never stored": (lambda mode, graph: mode.invoke(graph, INPUT, AT), {"checkpointer": False}),
    "with a context": (lambda mode, graph: mode.invoke(graph, INPUT, context={}), {}),
    "with tags": (lambda mode, graph: mode.invoke(graph.with_config(tags=["a"]), INPUT, {"tags": ["b"]}), {}),
    "a store": (lambda mode, graph: mode.invoke(graph, INPUT), {"store": InMemoryStore()}),
    "a node": (lambda mode, graph: mode.invoke(_around(graph), INPUT), {}),
    "a node of a stream": (lambda mode, graph: mode.stream(_around(graph), INPUT), {}),
}
NOTICED: dict[str, tuple[Callable[[Mode, Any], object], dict[str, Any]]] = {
    "streamed": (lambda mode, graph: mode.stream(graph, INPUT), {}),
    "updates wanted": (lambda mode, graph: mode.invoke(graph, INPUT, stream_mode="updates"), {}),
    "watched": (lambda mode, graph: mode.invoke(graph, INPUT, WATCHED), {}),
    "always watched": (lambda mode, graph: mode.invoke(graph.with_config(WATCHED), INPUT), {}),
    "few steps allowed": (
        lambda mode, graph: mode.invoke(graph, INPUT, {"recursion_limit": FEW[mode.granularity]}),
        {},
    ),
    "a time for each step": (lambda mode, graph: mode.invoke(_timed(graph), INPUT), {}),
    "another store": (lambda mode, graph: mode.invoke(graph.copy({"store": InMemoryStore()}), INPUT), {}),
    "stored": (lambda mode, graph: mode.invoke(graph, INPUT, AT), {"checkpointer": InMemorySaver()}),
    "stored later": (lambda mode, graph: mode.invoke(graph.copy({"checkpointer": InMemorySaver()}), INPUT, AT), {}),
    "stored around": (lambda mode, graph: mode.invoke(_around(graph, checkpointer=InMemorySaver()), INPUT, AT), {}),
    "streamed around": (lambda mode, graph: mode.stream(_around(graph), INPUT, subgraphs=True), {}),
    "watched around": (lambda mode, graph: mode.invoke(_around(graph), INPUT, WATCHED), {}),
}


@pytest.mark.parametrize("run", [*UNNOTICED, *NOTICED])
def test_a_compiled_crew_has_one_step_where_nobody_can_tell(nodes: list[Any], mode: Mode, run: str):
    places: list[str] = []
    work, options = (UNNOTICED | NOTICED)[run]
    work(mode, _crew(nodes, places=places).compile(granularity=mode.granularity, **options))
    assert len(places) == 3
    is_merged = run in UNNOTICED and mode.granularity == "task"
    assert [place.startswith("all tasks:") for place in map(_own_part, places)] == [is_merged] * 3


def _own_part(place: str) -> str:
    """The part of a namespace that is the crew's own."""
    return place.split("|", 1)[1] if place.startswith("team:") else place


def test_the_state_is_that_of_a_run_step_by_step(nodes: list[Any], mode: Mode):
    crew = _crew(nodes)
    crew.tasks[0].description = "Task for {customer}"
    graph = crew.compile(granularity=mode.granularity, messages=True)
    given: dict[str, Any] = {"messages": [HumanMessage("one", id="asked")], "inputs": {}}
    whole = mode.invoke(graph, given)
    last = mode.invoke(graph, given, WATCHED)
    assert list(whole) == list(last)
    assert [_without_ids(state["messages"]) for state in (whole, last)] == [
        [("human", "one", None), ("ai", "LAKE", "lookers")]
    ] * 2
    for state in (whole, last):
        for task in ("one", "two", "three"):
            assert state[task]["spent"].pop("at") >= 0  # seconds
    assert {**whole, "messages": []} == {**last, "messages": []}


def _without_ids(messages: list[Any]) -> list[tuple[str, str, str | None]]:
    return [(message.type, message.content, message.name) for message in messages]


def test_an_error_of_a_compiled_crew_names_the_task_alone(nodes: list[Any], mode: Mode):
    graph = _crew(nodes, _failing_at_two).compile(granularity=mode.granularity)
    with pytest.raises(ConnectionError, match="no model here") as failed:
        mode.invoke(graph, INPUT)
    notes = getattr(failed.value, "__notes__", [])
    assert "in task `two` of agent `Clerk`" in notes
    assert not any("all tasks" in note for note in notes)


def test_a_question_leaves_what_the_tasks_before_it_wrote(nodes: list[Any], mode: Mode):
    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    crew = _crew(nodes)
    asking = ScriptedLLM([ToolUse("ask", {"what": "which lake?"})])
    crew.tasks[1].agent = Agent(role="Asker", goal="Ask", backstory="You ask.", llm=asking, tools=[ask])
    graph = crew.compile(granularity=mode.granularity)
    ended = mode.invoke(graph, INPUT)
    assert ended["one"]["raw"] == "LAKE"
    assert "two" not in ended
    assert [question.value for question in ended["__interrupt__"]] == ["which lake?"]


def test_a_crew_that_changed_runs_as_it_was_compiled(nodes: list[Any], mode: Mode):
    crew = _crew(nodes)
    graph = crew.compile(granularity=mode.granularity)
    crew.tasks.pop()
    assert mode.invoke(graph, INPUT)["output"] == "LAKE"
    assert [task for _, task, _ in nodes] == ["one", "two", "three"]
