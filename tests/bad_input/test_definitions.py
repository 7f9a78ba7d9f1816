"""Invalid definitions of crews."""

from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, crew, task

from crewgraph import Agent, Crew, ScriptedLLM, Task


def test_missing_fields_are_named():
    with pytest.raises(ValueError, match=r"2 validation errors for Agent\ngoal\n"):
        Agent(role="r")  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match="expected_output"):
        Task(description="d")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("field", "value"),
    [("agents", ["x"]), ("tasks", ["x"]), ("process", "parallel"), ("agents", 5), ("prompt_file", "nowhere.json")],
)
def test_wrong_parts_of_a_crew_are_named(field: str, value: Any):
    parts: dict[str, Any] = {"agents": [agent(None)], "tasks": [], field: value}
    with pytest.raises(ValueError, match=field):
        Crew(**parts)


class Item(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("context", 5, r"not 5; write `context=\[...\]`"),
        ("context", ["x"], "not a task"),
        ("context", "x", r"not 'x'; write `context=\[...\]`"),
        ("tools", "x", r"not 'x'; write `tools=\[...\]`"),
        ("tools", len, r"write `tools=\[...\]`"),
        ("output_json", 5, "not `5`"),
        ("output_json", list, "not `list`; wrap it"),
        (
            "output_pydantic",
            list[Item],
            r"not `list\[Item\]`; wrap it in one: `class Items\(BaseModel\): items: list\[Item\]`",
        ),
        ("output_pydantic", Item(name="x"), "write `Item`, not an instance"),
        ("response_model", list[Item], r"not `list\[Item\]`"),
        ("guardrail", 5, "a guardrail is a function"),
    ],
)
def test_wrong_parts_of_a_task_say_what_to_write(field: str, value: Any, advice: str):
    with pytest.raises(ValueError, match=rf"{field}\n.*{advice}"):
        task("a", agent(None), **{field: value})


@pytest.mark.parametrize("field", ["guardrail", "callback"])
def test_a_function_of_the_program_that_fails_is_named_and_the_answer_is_kept(mode: Mode, field: str):
    failures = [ValueError("oops")]

    def checked(output: Any) -> tuple[bool, Any]:
        if failures:
            raise failures.pop()
        return True, output

    llm = ScriptedLLM(["done"])
    team = crew(task("a", agent(llm), **{field: checked}))
    with pytest.raises(ValueError, match="oops") as caught:
        mode.kickoff(team, thread_id="t")
    assert caught.value.__notes__[:2] == [f"in {field} `checked`", "in task `a` of agent `worker`"]
    assert mode.resume(team, "t").raw == "done"
    assert len(llm.requests) == 1


def test_a_kickoff_takes_no_inputs_as_keywords(mode: Mode):
    with pytest.raises(TypeError, match=r"no parameter `topic`. It takes .* one dict: `inputs=\{'topic': ...\}`"):
        mode.kickoff(crew(task("a", agent(ScriptedLLM([])))), topic="rain")
    with pytest.raises(TypeError, match="`BaseAgent.a?kickoff` has no parameter `topic`. It takes `messages`, "):
        mode.run((worker := agent(ScriptedLLM([]))).kickoff, worker.akickoff, "hi", topic="rain")


def test_tasks_of_the_same_name_keep_their_own_channels(mode: Mode):
    worker = agent(ScriptedLLM(["one", "two", "three"]))
    state = mode.invoke(crew(*(task("same", worker) for _ in range(3))).compile(), {"inputs": {}})
    assert {name: output["raw"] for name, output in state.items() if name != "output"} == {
        "same": "one",
        "same_2": "two",
        "same_3": "three",
    }


@pytest.mark.parametrize(
    "name", ["inputs", "__start__", "__end__", "a|b", "a:b", "", "   ", "日本語", "__interrupt__", "skip a"]
)
def test_odd_names_of_tasks_are_no_trouble(mode: Mode, name: str):
    result = mode.kickoff(crew(task(name, agent(ScriptedLLM(["done"])))), thread_id="t")
    assert result.raw == "done"


def test_a_callback_that_cannot_be_called_is_refused_before_a_model_is_paid():
    worker = agent(ScriptedLLM(["x"]))
    with pytest.raises(ValueError, match="a callback is a function of one argument, not 5"):
        task("t", worker, callback=5)
    with pytest.raises(ValueError, match="a callback is a function of one argument, not 'x'"):
        agent(ScriptedLLM(["x"]), step_callback="x")
