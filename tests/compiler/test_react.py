"""The ReAct loop, run without a graph: what is sent to the model, and how its replies are handled."""

from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, run_task, task

from crewgraph import Task, ToolUse
from crewgraph.errors import OutputInvalid
from crewgraph.prompts.i18n import default_book
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.failure import ToolExecutionFailedError

BOOK = default_book()


def count(folder: str) -> str:
    """Count the files in a folder."""
    return f"7 in {folder}"


def broken(folder: str) -> str:
    """Always fails."""
    raise OSError(f"no folder {folder}")


class Final(BaseTool):
    name: str = "final"
    description: str = "Gives the answer."
    result_as_answer: bool = True

    def _run(self, value: str) -> str:
        if value == "bad":
            raise ValueError("not that")
        return f"the answer is {value}"


def clerk_task(*script: Any, native: bool = False, tools: list[Any] | None = None, **fields: Any) -> Task:
    own: dict[str, Any] = {"tools": [count, broken, Final()] if tools is None else tools}
    return task(agent(*script, native=native, **own, **fields))


def answered(run: BodyRun) -> str:
    return run.result["raw"]


@pytest.mark.parametrize("native", [True, False])
def test_an_agent_that_makes_the_same_call_with_the_same_result_five_times_is_stopped(native: bool):
    reply = [ToolUse("count", {"folder": "/a"})] if native else 'Action: count\nAction Input: {"folder": "/a"}'
    other = [ToolUse("count", {"folder": "/b"})] if native else 'Action: count\nAction Input: {"folder": "/b"}'
    with pytest.raises(ToolExecutionFailedError, match="made the same call 5 times and got the same result") as stopped:
        run_task(clerk_task(reply, other, reply, other, *[reply] * 20, native=native))
    assert stopped.value.record.tool_name == "count"
    assert stopped.value.record.failure.reason == "repeated_call"


def test_a_call_whose_result_changes_may_be_made_again():
    states = iter(["pending"] * 4 + ["done"] * 4)

    @tool
    def poll() -> str:
        """Look at the job."""
        return next(states)

    assert answered(run_task(clerk_task(*[[ToolUse("poll", {})]] * 8, "ok", native=True, tools=[poll]))) == "ok"


def test_a_task_without_tools_is_one_request():
    run = run_task(clerk_task("42", tools=[]))
    assert answered(run) == "42"
    assert run.effects == ["scope", "model"]
    assert [role for role, _ in run.messages()] == ["system", "user"]
    assert (run.offered_tools, run.stop_words) == ([()], [()])


def test_the_text_protocol_as_it_is_sent():
    run = run_task(
        clerk_task(
            'Thought: I count.\nAction: count\nAction Input: {"folder": "/a"}\nObservation: 99',
            "Thought: I know.\nFinal Answer: 7 files",
        )
    )
    assert answered(run) == "7 files"
    assert run.effects == ["scope", "model", "tools", "model"]
    assert run.messages()[2:] == [
        ("assistant", 'Thought: I count.\nAction: count\nAction Input: {"folder": "/a"}'),
        ("user", "Observation: 7 in /a"),
    ]
    assert run.stop_words == [("\nObservation:",)] * 2
    assert run.offered_tools == [(), ()]
    system = run.messages()[0][1]
    assert "[count, broken, final]" in system
    assert "Count the files in a folder." in system


def test_native_calls_as_they_are_sent():
    run = run_task(clerk_task([ToolUse("count", {"folder": "/a"})], "7 files", native=True))
    assert answered(run) == "7 files"
    assert run.requests[1][2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_0_0", "name": "count", "args": {"folder": "/a"}}],
        },
        {"role": "tool", "content": "7 in /a", "tool_call_id": "call_0_0", "name": "count"},
    ]
    assert [spec["name"] for spec in run.offered_tools[0]] == ["count", "broken", "final"]
    assert run.stop_words == [(), ()]
    assert "Action Input" not in run.messages()[0][1]


def test_a_model_with_native_calls_that_writes_the_text_protocol_is_understood():
    run = run_task(clerk_task('Action: count\nAction Input: {"folder": "/a"}', "Final Answer: 7", native=True))
    assert answered(run) == "7"
    assert run.messages()[2:] == [
        ("assistant", 'Action: count\nAction Input: {"folder": "/a"}'),
        ("user", "Observation: 7 in /a"),
    ]


def test_several_calls_in_one_reply_run_together_and_come_back_in_order():
    uses = [ToolUse("count", {"folder": name}) for name in ("/c", "/a", "/b")]
    for native in (True, False):
        run = run_task(clerk_task(uses, "Final Answer: all", native=native))
        assert run.effects == ["scope", "model", "together", "tools", "tools", "tools", "model"]
        texts = [text for role, text in run.messages() if role == "tool"] or run.messages()[-1][1].splitlines()
        assert [text.removeprefix("Observation: ") for text in texts] == ["7 in /c", "7 in /a", "7 in /b"]


def test_an_unknown_tool_is_answered_with_the_names_of_the_others():
    run = run_task(clerk_task(ToolUse("delete", {"folder": "/"}), "Final Answer: sorry"))
    assert run.effects == ["scope", "model", "model"]
    assert run.messages()[-1] == (
        "user",
        "Observation: There is no tool `delete`. Use one of: `count`, `broken`, `final`.",
    )


@pytest.mark.parametrize(
    "name", ["Count", "COUNT", "co_unt", "count ", "`count`", "counts", "cont", "a count", "count(a)"]
)
def test_a_tools_name_need_not_be_written_exactly(name: str):
    run = run_task(clerk_task(f'Action: {name}\nAction Input: {{"folder": "/a"}}', "Final Answer: 7"))
    assert run.messages()[-1] == ("user", "Observation: 7 in /a")


@pytest.mark.parametrize("native", [True, False])
def test_a_name_that_may_mean_two_tools_means_none(native: bool):
    tools = [tool("count_files")(count), tool("count_file")(count)]
    run = run_task(clerk_task(ToolUse("count_filed", {"folder": "/a"}), "Final Answer: 7", tools=tools, native=native))
    assert run.effects == ["scope", "model", "model"]
    assert "There is no tool `count_filed`" in run.messages()[-1][1]


def test_invalid_arguments_are_reported_to_the_model_and_nothing_is_called():
    run = run_task(clerk_task(ToolUse("count", {"directory": "/a"}), "Final Answer: sorry"))
    assert run.effects == ["scope", "model", "model"]
    observation = run.messages()[-1][1]
    assert observation.startswith("Observation: ")
    assert "`folder`" in observation


@pytest.mark.parametrize("written", ["[3]", "[]", "3", "null", '"a"'])
def test_arguments_that_are_no_object_are_reported_to_the_model(written: str):
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    run = run_task(clerk_task(f"Action: add\nAction Input: {written}", "Final Answer: sorry", tools=[add]))
    assert answered(run) == "sorry"
    assert run.messages()[-1][1].startswith("Observation: `add` was not used: ")
    (failure,) = run.result["tool_failures"]
    assert failure["tool_args"] == written


def test_an_argument_that_a_tool_does_not_have_is_left_out():
    run = run_task(clerk_task(ToolUse("count", {"folder": "/a", "depth": 3}), "Final Answer: 7"))
    assert run.effects == ["scope", "model", "tools", "model"]
    assert run.messages()[-1] == ("user", "Observation: 7 in /a")


def test_a_failing_tool_is_reported_to_the_model():
    run = run_task(clerk_task(ToolUse("broken", {"folder": "/a"}), "Final Answer: sorry"))
    assert answered(run) == "sorry"
    assert run.messages()[-1] == ("user", "Observation: `broken` failed: OSError: no folder /a")


def test_a_tools_result_can_be_the_answer():
    run = run_task(clerk_task(ToolUse("final", {"value": "42"})))
    assert answered(run) == "the answer is 42"
    assert run.effects == ["scope", "model", "tools"]


def test_a_failed_tool_is_never_the_answer():
    run = run_task(clerk_task(ToolUse("final", {"value": "bad"}), "Final Answer: sorry"))
    assert answered(run) == "sorry"


def test_after_max_iter_requests_the_model_must_answer_without_tools():
    use = ToolUse("count", {"folder": "/a"})
    run = run_task(clerk_task(use, use, "Thought: fine\nFinal Answer: what I have", max_iter=2))
    assert answered(run) == "what I have"
    assert run.effects.count("model") == 3
    assert run.messages()[-1] == ("user", BOOK.error("force_final_answer"))
    assert (run.offered_tools[-1], run.stop_words[-1]) == ((), ())


def test_an_empty_forced_answer_is_an_error():
    with pytest.raises(
        OutputInvalid, match=r"task `Count the files` of agent `Clerk`: after 1 steps the model `scripted`"
    ):
        run_task(clerk_task(ToolUse("count", {"folder": "/a"}), "", max_iter=1))


def test_a_malformed_reply_is_repaired_in_the_conversation():
    run = run_task(clerk_task("Thought: I should count.", "Action:\nAction Input: {}", "Final Answer: 7"))
    assert answered(run) == "7"
    assert run.messages()[2:] == [
        ("assistant", "Thought: I should count."),
        ("user", BOOK.error("thought_only")),
        ("assistant", "Action:\nAction Input: {}"),
        ("user", BOOK.error("no_action_name", tool_names="count, broken, final")),
    ]


def test_a_lone_thought_is_an_answer_where_the_model_was_offered_native_tool_calls():
    run = run_task(clerk_task("Thought: I know it.\nIt is 7.", native=True))
    assert answered(run) == "Thought: I know it.\nIt is 7."
    assert run.effects.count("model") == 1


def test_a_failing_model_fails_the_task_and_the_error_names_it():
    failing = task(agent(ConnectionError("no line")))
    with pytest.raises(ConnectionError, match="no line") as caught:
        run_task(failing)
    assert caught.value.__notes__ == ["in task `Count the files` of agent `Clerk`"]
    assert failing.end_time is not None
