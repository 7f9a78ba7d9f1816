"""`kickoff`, `resume` and `compile` of a crew, called from scripts, threads and running event loops."""

import asyncio
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import RunError
from crewgraph.tools import tool

from .parts import agent, by_prompt, crew, task


def two_tasks(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(task("research_task", worker, description="look at {topic}"), task("report", worker), **more)


def test_a_kickoff_gives_the_last_tasks_text_and_all_outputs_in_order(mode: Mode):
    result = mode.kickoff(two_tasks(ScriptedLLM(["facts", "Final Answer: report"])), {"topic": "rain"})
    assert result.raw == "report"
    assert [(one.name, one.raw, one.agent) for one in result.tasks_output] == [
        ("research_task", "facts", "worker"),
        ("report", "report", "worker"),
    ]
    assert result.tasks_output[0].description == "look at rain"
    assert str(result) == "report"


def test_the_compiled_graph_streams_the_words_of_a_model(mode: Mode):
    graph = mode.compile(crew(task("a", agent(ScriptedLLM(["one two three"], stream=True)))))
    streamed = mode.stream(graph, {"inputs": {}}, stream_mode="messages", subgraphs=True)
    pieces = [piece for _, piece in streamed]
    assert "".join(chunk.content for chunk, _ in pieces) == "one two three"
    assert len(pieces) >= 3


def test_a_run_that_has_ended_is_resumed_without_doing_anything(mode: Mode):
    llm = ScriptedLLM(["facts", "report"])
    made = two_tasks(llm)
    first = mode.kickoff(made, {"topic": "rain"}, thread_id="t")
    again = mode.resume(made, "t")
    assert again == first
    assert len(llm.requests) == 2


def test_an_unknown_thread_cannot_be_resumed(mode: Mode):
    with pytest.raises(RunError, match=r"there is no run of thread `nope` in the SqliteCheckpointer"):
        mode.resume(two_tasks(ScriptedLLM([])), "nope")


def test_a_run_kept_nowhere_cannot_be_resumed(mode: Mode):
    with pytest.raises(RunError, match="not stored"):
        mode.resume(two_tasks(ScriptedLLM([])), "t", checkpointer=False)


def test_a_second_kickoff_on_a_thread_runs_all_tasks_with_the_new_inputs(mode: Mode):
    llm = ScriptedLLM(["a", "b", "c", "d"])
    made = two_tasks(llm)
    assert mode.kickoff(made, {"topic": "rain"}, thread_id="t").raw == "b"
    second = mode.kickoff(made, {"topic": "snow"}, thread_id="t")
    assert [one.raw for one in second.tasks_output] == ["c", "d"]
    assert "look at snow" in llm.requests[2].text
    assert mode.resume(made, "t").raw == "d"


def test_a_second_kickoff_after_a_failed_one_on_a_thread_starts_over(mode: Mode):
    llm = ScriptedLLM(["a", RuntimeError("model down"), "c", "d"])
    made = two_tasks(llm)
    with pytest.raises(RuntimeError, match="model down"):
        mode.kickoff(made, {"topic": "rain"}, thread_id="t")
    second = mode.kickoff(made, {"topic": "snow"}, thread_id="t")
    assert [one.raw for one in second.tasks_output] == ["c", "d"]


def test_a_run_without_a_thread_name_gets_one_that_resumes_it(mode: Mode):
    made = two_tasks(ScriptedLLM(["facts", "report"]))
    first = mode.kickoff(made, {"topic": "rain"})
    assert first.thread_id is not None
    assert mode.resume(made, first.thread_id).raw == "report"


def test_a_sync_kickoff_works_inside_a_running_event_loop_also_with_async_tools_and_callbacks():
    reported: list[str] = []

    @tool
    async def look(thing: str) -> str:
        """Look at a thing."""
        await asyncio.sleep(0.001)
        return f"saw {thing}"

    async def hear(output: Any) -> None:
        await asyncio.sleep(0.001)
        reported.append(output.raw)

    worker = agent(ScriptedLLM([ToolUse("look", {"thing": "x"}), "done"]), tools=[look])
    made = crew(task("a", worker, callback=hear))

    async def cell() -> str:
        return made.kickoff().raw

    assert asyncio.run(cell()) == "done"
    assert reported == ["done"]


def test_one_crew_serves_sync_and_async_runs_one_after_the_other():
    made = crew(task("a", agent(ScriptedLLM(by_prompt)), description="say {word}"))
    assert made.kickoff({"word": "one"}).raw == "one"
    assert asyncio.run(made.akickoff({"word": "two"})).raw == "two"
    assert made.kickoff({"word": "three"}).raw == "three"


def test_compile_refuses_what_it_cannot_translate_by_name():
    made = crew(task("a", agent(ScriptedLLM([]), from_repository="ours")))
    with pytest.raises(ValueError, match="`from_repository` of agent `worker`"):
        made.compile()
    with pytest.raises(ValueError, match="can only be loaded by CrewAI"):
        made.kickoff()


def test_a_crew_that_was_changed_between_runs_runs_as_changed(mode: Mode):
    @tool
    def first_tool(x: str) -> str:
        """Do something."""
        return f"first {x}"

    @tool
    def second_tool(x: str) -> str:
        """Do something else."""
        return f"second {x}"

    def last(llm: ScriptedLLM) -> str:
        return str(llm.requests[-1].messages[-1]["content"])

    llm = ScriptedLLM([ToolUse("first_tool", {"x": "a"}), "one"])
    worker = agent(llm, tools=[first_tool])
    made = crew(task("a", worker))
    assert mode.kickoff(made).raw == "one"
    assert "first a" in last(llm)
    worker.tools = [second_tool]
    worker.llm = llm = ScriptedLLM([ToolUse("second_tool", {"x": "a"}), "two"])
    assert mode.kickoff(made).raw == "two"
    assert "second a" in last(llm)
    made.tasks[0].tools = [first_tool]
    worker.llm = llm = ScriptedLLM([ToolUse("first_tool", {"x": "b"}), "three"])
    assert mode.kickoff(made).raw == "three"
    assert "first b" in last(llm)
    made.tasks.append(task("b", agent(ScriptedLLM(["four"]), role="another"), context=[]))
    worker.llm = ScriptedLLM(["three again"])
    made.tasks[0].description = "do something new"
    assert [one.raw for one in mode.kickoff(made).tasks_output] == ["three again", "four"]
    assert made.tasks[0].output is not None
    assert made.tasks[0].output.description == "do something new"
