"""Asynchronous and conditional tasks."""

from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from waiting import stored_channels, wait_until_async

from crewgraph import ConditionalTask, ScriptedLLM, TaskOutput

from .parts import agent, crew, task


def test_a_failing_asynchronous_task_ends_the_run_and_a_resume_does_not_repeat_its_finished_neighbour(mode: Mode):
    ill, saver = [True], InMemorySaver()

    async def reply(messages: list[dict[str, Any]]) -> str:
        if "do ill" in str(messages) and ill:
            await wait_until_async(lambda: "well" in stored_channels(saver, "t"))
            raise ConnectionError("down")
        return "fine"

    script: Any = reply
    llm = ScriptedLLM(script)
    ill_one, well = (task(name, agent(llm), async_execution=True) for name in ("ill", "well"))
    made = crew(ill_one, well, task("last", agent(llm)), checkpointer=saver)
    with pytest.raises(ConnectionError) as caught:
        mode.kickoff(made, thread_id="t")
    assert caught.value.__notes__[0] == "in task `ill` of agent `worker`"
    ill.clear()
    assert [one.raw for one in mode.resume(made, "t").tasks_output] == ["fine", "fine", "fine"]
    assert len(llm.requests) == 4


def maybe(name: str, by: Any, condition: Any) -> ConditionalTask:
    return ConditionalTask(name=name, description=f"do {name}", expected_output="a text", agent=by, condition=condition)


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
