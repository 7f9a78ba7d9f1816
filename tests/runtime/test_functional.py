"""Crews in programs of LangGraph's functional API, and in what a node calls with `@task`."""

from pathlib import Path
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.func import task as step
from langgraph.types import Command, interrupt
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, ToolUse
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, task


def failing_once() -> tuple[Crew, Agent, Agent]:
    """A crew whose second agent fails with its first request."""
    clerk, writer = (
        agent(ScriptedLLM(["facts"]), "clerk"),
        agent(ScriptedLLM([ConnectionError("down"), "text"]), "writer"),
    )
    return crew(task("facts", clerk), task("text", writer)), clerk, writer


def requests(*agents: Agent) -> list[int]:
    return [len(one.llm.requests) for one in agents]


def program(mode: Mode, team: Crew, saver: Any, nested: bool) -> Any:
    """A program that runs a crew in a task of its own, which another one may call."""
    if mode.asynchronous:

        @step
        async def awork(topic: str) -> str:
            return (await team.akickoff({"topic": topic})).raw

        @step
        async def acall(topic: str) -> str:
            return await awork(topic)

        @entrypoint(checkpointer=saver)
        async def aprogram(topic: str) -> str:
            return f"{await (acall if nested else awork)(topic)}!"

        return cast("Any", aprogram)

    @step
    def work(topic: str) -> str:
        return team.kickoff({"topic": topic}).raw

    @step
    def call(topic: str) -> str:
        return work(topic).result()

    @entrypoint(checkpointer=saver)
    def whole(topic: str) -> str:
        return f"{(call if nested else work)(topic).result()}!"

    return cast("Any", whole)


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("stored", ["memory", "sqlite"])
def test_a_crew_in_a_task_continues_where_it_failed(
    mode: Mode, nested: bool, stored: str, durability: str, tmp_path: Path
):
    team, clerk, writer = failing_once()
    saver = InMemorySaver() if stored == "memory" else SqliteCheckpointer(tmp_path / "runs.db")
    runs, config = program(mode, team, saver, nested), {"configurable": {"thread_id": "1"}}
    with pytest.raises(ConnectionError):
        mode.invoke(runs, "tides", config, durability=durability)
    assert mode.invoke(runs, None, config, durability=durability) == "text!"
    assert requests(clerk, writer) == [1, 2]


def test_parallel_tasks_keep_their_crews_apart():
    def answer(messages: Any) -> str:
        return f"about {str(messages[-1]['content']).partition('!')[2][:1]}"

    worker = agent(ScriptedLLM(answer))
    team = crew(task("look", worker, description="look at !{topic}"))

    @step
    def work(topic: str) -> str:
        return team.kickoff({"topic": topic}).raw

    @entrypoint(checkpointer=InMemorySaver())
    def whole(topics: list[str]) -> list[str]:
        return [future.result() for future in [work(topic) for topic in topics]]

    graph = cast("Any", whole)
    assert graph.invoke(list("abc"), {"configurable": {"thread_id": "1"}}) == ["about a", "about b", "about c"]


def test_a_question_of_a_crew_in_a_task_interrupts_the_program(mode: Mode):
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    llm = ScriptedLLM([ToolUse("ask", {"question": "How deep?"}), "Final Answer: deep"])
    team = crew(task("dive", agent(llm, tools=[ask])))
    runs, config = program(mode, team, InMemorySaver(), nested=False), {"configurable": {"thread_id": "1"}}
    (question,) = mode.invoke(runs, "tides", config)["__interrupt__"]
    assert question.value == "How deep?"
    assert mode.invoke(runs, Command(resume={question.id: "12 m"}), config) == "deep!"
    assert "12 m" in llm.requests[1].text
