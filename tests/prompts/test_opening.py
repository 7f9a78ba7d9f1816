"""The first messages of a task's conversation."""

from typing import Any, Literal

import pytest
from compiler.body_runner import agent, bound, run_body, run_task, task
from pydantic import BaseModel, Field

from crewgraph import Task, TaskOutput
from crewgraph.compiler.task.body import task_body
from crewgraph.prompts.i18n import default_book

BOOK = default_book()


def count(folder: str, deep: bool = False) -> str:
    """Count the files in a folder."""
    return folder + str(deep)


def opening(worked_on: Task, state: dict[str, Any] | None = None) -> list[tuple[str, Any]]:
    return run_task(worked_on, state).messages(0)


def test_a_task_without_tools_word_for_word():
    assert opening(task(agent("42"))) == [
        ("system", "You are Clerk.\nKnows the files.\n\nYour goal: Be right\n\nReply with the complete result."),
        (
            "user",
            "Your task:\nCount the files\n\nExpected result: A number\n"
            "Reply with this result in full, not with a description or a summary of it.",
        ),
    ]


def test_tools_are_described_to_models_that_write_the_text_protocol():
    (_, system), _ = opening(task(agent("42", tools=[count])))
    assert "Count the files in a folder." in system
    assert "one of [count]" in system
    assert "`folder`" in system or "folder" in system
    assert BOOK.slice("no_tools") not in system


def test_models_with_native_calls_are_reported_to_use_them_and_no_protocol():
    (_, system), _ = opening(task(agent("42", native=True, tools=[count])))
    assert system.endswith(BOOK.slice("native_tools"))
    assert "Count the files in a folder." not in system


def test_without_a_system_prompt_everything_is_in_one_message():
    both = opening(task(agent("42")))
    one = opening(task(agent("42", use_system_prompt=False)))
    assert one == [("user", f"{both[0][1]}\n\n{both[1][1]}")]


def test_markdown_is_asked_for():
    *_, (_, user) = opening(task(agent("42"), markdown=True))
    assert user.endswith(BOOK.slice("markdown"))
    *_, (_, plain) = opening(task(agent("42")))
    assert BOOK.slice("markdown") not in plain


class Inner(BaseModel):
    code: int


class Outcome(BaseModel):
    """What was found."""

    title: str = Field(description="One line")
    mood: Literal["good", "bad"] = "good"
    parts: list[Inner]


@pytest.mark.parametrize("field", ["output_json", "output_pydantic"])
def test_the_fields_that_are_wanted_are_listed_nested_ones_too(field: str):
    *_, (_, user) = opening(task(agent('{"title": "a", "parts": []}'), **{field: Outcome}))
    _, _, listed = user.partition("Write the result as one JSON object")
    assert all(word in listed for word in ("title", "One line", "mood", "good", "bad", "parts", "code"))


def describe(raws: list[str], **fields: Any) -> str:
    earlier = [task(agent("x"), description=f"Step {n}", name=f"step {n}") for n in range(len(raws))]
    last = task(agent("42"), **fields)
    *_, assignment = bound(*earlier, last)
    state = {f"step_{n}": TaskOutput(description="d", agent="a", raw=raw).to_plain() for n, raw in enumerate(raws)}
    return run_body(task_body(assignment, {"inputs": {}, **state})).messages(0)[-1][1]


def test_what_others_found_out_follows_the_task_with_a_divider_between_each():
    assert describe(["one", "two"]).endswith("Results of earlier tasks:\none\n\n----------\n\ntwo")


def test_outputs_without_text_leave_no_divider():
    assert describe(["one", "", "two"]).endswith("earlier tasks:\none\n\n----------\n\ntwo")
    assert "Results of earlier tasks" not in describe(["", ""])


@pytest.mark.parametrize("nothing", [[], None])
def test_no_context_means_no_word_of_it(nothing: Any):
    assert "Results of earlier tasks" not in describe(["one"], context=nothing)


def test_braces_in_others_outputs_are_left_alone():
    assert describe(["{input} {context} {topic}"]).endswith("earlier tasks:\n{input} {context} {topic}")


def test_inputs_fill_the_texts_of_agent_and_task():
    worked_on = task(
        agent("42", role="{place} clerk", goal="Serve {place}", backstory="Born in {place}"),
        description="Count in {place}",
        expected_output="{unit} of {place}",
    )
    (_, system), (_, user) = opening(worked_on, {"inputs": {"place": "Rome", "unit": "Files"}})
    assert system.startswith("You are Rome clerk.\nBorn in Rome\n\nYour goal: Serve Rome")
    assert "Count in Rome" in user
    assert "Files of Rome" in user


def test_without_any_inputs_braces_are_text():
    assert "Count in {place}" in opening(task(agent("42"), description="Count in {place}"))[1][1]
