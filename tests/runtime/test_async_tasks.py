"""Asynchronous and conditional tasks."""

import asyncio
import threading
import time
from typing import Any
from uuid import uuid4

import pytest
from modes import Mode
from waiting import LONG

from crewgraph import ConditionalTask, Crew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task


def meeting(count: int, mode: Mode) -> Any:
    """A tool that returns once `count` callers are in it at the same time."""
    barrier = threading.Barrier(count, timeout=LONG)
    together = asyncio.Barrier(count) if mode.asynchronous else None

    @tool
    def meet(who: str) -> str:
        """Meet the others."""
        barrier.wait()
        return f"met as {who}"

    @tool("meet")
    async def ameet(who: str) -> str:
        """Meet the others."""
        assert together is not None
        async with asyncio.timeout(LONG):
            await together.wait()
        return f"met as {who}"

    return ameet if mode.asynchronous else meet


def meeting_crew(count: int, tool: Any) -> Crew:
    def member(name: str) -> Task:
        llm = ScriptedLLM([ToolUse("meet", {"who": name}), f"{name} is done"])
        return task(name, agent(llm, role=name, tools=[tool]), async_execution=True)

    last = ScriptedLLM(["all are done"])
    return crew(*(member(f"m{n}") for n in range(count)), task("last", agent(last, role="last")))


@pytest.mark.parametrize("count", [2, 12])
def test_asynchronous_tasks_run_at_the_same_time(mode: Mode, count: int):
    result = mode.kickoff(meeting_crew(count, meeting(count, mode)))
    assert [one.raw for one in result.tasks_output] == [f"m{n} is done" for n in range(count)] + ["all are done"]


def test_an_asynchronous_task_is_given_nothing_that_it_does_not_name(mode: Mode):
    one, two = ScriptedLLM(["from one"]), ScriptedLLM(["from two"], delay=0.05)
    mode.kickoff(
        crew(
            task("zero", agent(ScriptedLLM(["from zero"]))),
            task("one", agent(one, role="one"), async_execution=True),
            task("two", agent(two, role="two"), async_execution=True),
            task("last", agent(ScriptedLLM(["end"]), role="last")),
        )
    )
    assert "from zero" not in two.requests[0].text
    assert "from one" not in two.requests[0].text


def test_a_failing_asynchronous_task_ends_the_run_and_a_resume_does_not_repeat_its_finished_neighbour():
    ill = [True]

    def reply(messages: list[dict[str, Any]]) -> str:
        if "do ill" in str(messages):
            time.sleep(0.05)  # its neighbour is done by now
            if ill:
                raise ConnectionError("down")
        return "fine"

    llm = ScriptedLLM(reply)
    worker = agent(llm)
    made = crew(
        task("ill", worker, async_execution=True), task("well", worker, async_execution=True), task("last", worker)
    )
    with pytest.raises(ConnectionError) as caught:
        made.kickoff(thread_id="t")
    assert caught.value.__notes__[0] == "in task `ill` of agent `worker`"
    ill.clear()
    assert [one.raw for one in made.resume("t").tasks_output] == ["fine", "fine", "fine"]
    assert len(llm.requests) == 4


def test_a_failing_asynchronous_task_ends_an_async_run_and_a_resume_ends_it_well():
    ill = [True]

    def reply(messages: list[dict[str, Any]]) -> str:
        if "do ill" in str(messages) and ill:
            raise ConnectionError("down")
        return "fine"

    worker = agent(ScriptedLLM(reply))
    made = crew(
        task("ill", worker, async_execution=True), task("well", worker, async_execution=True), task("last", worker)
    )

    async def runs() -> list[str]:
        with pytest.raises(ConnectionError):
            await made.akickoff(thread_id="t")
        ill.clear()
        return [one.raw for one in (await made.aresume("t")).tasks_output]

    assert asyncio.run(runs()) == ["fine", "fine", "fine"]


def maybe(name: str, by: Any, condition: Any) -> ConditionalTask:
    return ConditionalTask(name=name, description=f"do {name}", expected_output="a text", agent=by, condition=condition)


def is_long(output: TaskOutput) -> bool:
    return len(output.raw) > 5


@pytest.mark.parametrize(("first", "raws"), [("long enough", ["long enough", "b", "c"]), ("short", ["short", "", "b"])])
def test_a_conditional_task_is_done_or_skipped_by_the_output_before_it(mode: Mode, first: str, raws: list[str]):
    worker = agent(ScriptedLLM([first, "b", "c"]))
    result = mode.kickoff(crew(task("first", worker), maybe("maybe", worker, is_long), task("last", worker)))
    assert [one.raw for one in result.tasks_output] == raws
    assert [one.name for one in result.tasks_output] == ["first", "maybe", "last"]


def test_a_condition_is_judged_once_also_when_a_later_task_fails_and_the_run_is_resumed(mode: Mode):
    judged: list[str] = []

    def judge(output: TaskOutput) -> bool:
        judged.append(output.raw)
        return True

    worker = agent(ScriptedLLM(["a", ConnectionError("down"), "b"]))
    made = crew(task("first", worker), maybe("maybe", worker, judge))
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "b"
    assert judged == ["a"]


def blank(output: TaskOutput) -> tuple[bool, TaskOutput]:
    return True, output.model_copy(update={"raw": ""})


def test_the_text_of_the_last_task_is_the_crews_also_where_it_is_empty(mode: Mode):
    worker = agent(ScriptedLLM(lambda _: "draft with a secret"))

    def never(_: TaskOutput) -> bool:
        return False

    skipped = maybe("skipped", worker, never)
    for tasks in (
        [task("b", worker, guardrail=blank)],
        [task("b", worker, guardrail=blank), skipped],
        [task("b", worker, guardrail=blank, async_execution=True)],
    ):
        made = crew(task("a", worker), *tasks)
        result = mode.kickoff(made, thread_id=(thread := str(uuid4())))
        assert (result.raw, str(result), result.pydantic, result.json_dict) == ("", "", None, None)
        assert [output.was_skipped for output in result.tasks_output] == [one is skipped for one in made.tasks]
        assert mode.invoke(mode.compile(made), {"inputs": {}})["output"] == ""
        assert list(mode.stream_items(made))[-1].output.raw == ""  # pyright: ignore[reportAttributeAccessIssue]
        assert mode.run(made.replay, made.areplay, made.tasks[1], thread_id=thread).raw == ""
        each = mode.run(made.kickoff_for_each, made.akickoff_for_each, [{}])
        assert [output.raw for output in each] == [""]
