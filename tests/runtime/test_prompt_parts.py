"""Interpolation of texts, a task's part of the prompt, the chat before a run, and the trigger payload."""

import json
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, ScriptedLLM, Task
from crewgraph.errors import DefinitionError

from .parts import agent, asked, crew, task

CHAT = [{"role": "user", "content": "About boats?"}, {"role": "assistant", "content": "Yes, {topic}."}, "noise"]


def poem(**fields: Any) -> Task:
    given: dict[str, Any] = {
        "description": "Research {topic} and find {count} insights",
        "expected_output": "{count} insights about {topic}",
        "output_file": "reports/{topic}_insights.md",
        **fields,
    }
    return Task(**given)


def filled(one: Task, inputs: dict[str, Any]) -> tuple[str, str, str | None]:
    one.interpolate_inputs_and_add_conversation_history(inputs)
    return one.description, one.expected_output, one.output_file


def test_a_task_shows_what_was_filled_in_and_keeps_its_templates():
    one = poem()
    key = one.key
    assert filled(one, {"topic": "AI Safety", "count": 5}) == (
        "Research AI Safety and find 5 insights",
        "5 insights about AI Safety",
        "reports/AI Safety_insights.md",
    )
    assert (
        filled(one, {"topic": "rain", "count": [1, {"a": 2.5}]})[0] == "Research rain and find [1, {'a': 2.5}] insights"
    )
    assert (one.template("description"), one.key) == ("Research {topic} and find {count} insights", key)
    assert filled(one, {})[0] == "Research rain and find [1, {'a': 2.5}] insights"


def test_what_was_filled_in_is_text_and_cannot_lead_to_another_folder():
    assert filled(poem(), {"topic": "../../{count}", "count": 1}) == (
        "Research ../../{count} and find 1 insights",
        "1 insights about ../../{count}",
        "reports/____{count}_insights.md",
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"expected_output": "e", "output_file": None}, "description"),
        ({"description": "d", "output_file": None}, "expected_output"),
        ({"description": "d", "expected_output": "e"}, "output_file"),
    ],
)
def test_a_missing_variable_is_named_with_its_field_and_nothing_is_changed(fields: dict[str, Any], field: str):
    one = poem(**fields)
    before = (one.description, one.expected_output, one.output_file)
    with pytest.raises(ValueError, match=f"`{field}` of task .* needs the input `topic`, which was not given"):
        one.interpolate_inputs_and_add_conversation_history({"count": 5})
    assert (one.description, one.expected_output, one.output_file) == before


def test_a_run_without_inputs_works_with_the_texts_filled_by_hand_one_with_inputs_fills_anew(mode: Mode):
    model = ScriptedLLM(["x"], repeat_last=True)
    one = poem(output_file=None, agent=agent(model))
    made = crew(one, checkpointer=False)
    one.interpolate_inputs_and_add_conversation_history({"topic": "rain {x}", "count": 5})
    assert mode.kickoff(made).tasks_output[0].description == "Research rain {x} and find 5 insights"
    assert mode.kickoff(made, {"topic": "snow", "count": 6}).tasks_output[0].description.startswith("Research snow")
    assert one.description == "Research snow and find 6 insights"
    assert mode.kickoff(made).tasks_output[0].description == "Research rain {x} and find 5 insights"
    assert ["rain {x}" in text for text in asked(model)] == [True, False, True]
    one.description = "Say {topic}"
    assert "Say snow" in mode.kickoff(made, {"topic": "snow", "count": 6}).tasks_output[0].description


def test_the_prompt_is_the_text_that_the_graph_sends(mode: Mode):
    model = ScriptedLLM(["x"])
    one = task("a", agent(model), description="Write about {topic}", markdown=True)
    one.interpolate_inputs_and_add_conversation_history({"topic": "rain"})
    reported = one.prompt()
    mode.kickoff(crew(one, checkpointer=False))
    assert reported in asked(model)[0]
    assert reported.startswith("Write about rain") and "a text" in reported and "Markdown" in reported


@pytest.mark.parametrize("given", [CHAT, json.dumps(CHAT)])
def test_a_chat_among_the_inputs_is_reported_with_every_task(mode: Mode, given: Any):
    model = ScriptedLLM(["x"], repeat_last=True)
    worker = agent(model)
    first = task("a", worker, description="About {topic}")
    made = crew(first, task("b", worker), checkpointer=False)
    mode.kickoff(made, {"topic": "rain", "crew_chat_messages": given})
    assert all("User: About boats?\nAssistant: Yes, {topic}." in text for text in asked(model))
    assert first.description.startswith("About rain\n\n") and "About boats?" in first.description
    assert first.template("description") == "About {topic}"


@pytest.mark.parametrize(
    ("given", "why"), [("{nope", "it is not JSON"), ('{"a": 1}', "it is {'a': 1}."), (5, "it is 5.")]
)
def test_a_chat_that_is_none_is_refused_by_the_inputs_name(mode: Mode, given: Any, why: str):
    model = ScriptedLLM(["x"])
    made = crew(task("a", agent(model)), checkpointer=False)
    for call in (
        lambda: mode.kickoff(made, {"crew_chat_messages": given}),
        lambda: made.tasks[0].interpolate_inputs_and_add_conversation_history({"crew_chat_messages": given}),
    ):
        with pytest.raises(DefinitionError) as caught:
            call()
        assert str(caught.value).startswith(f"the input `crew_chat_messages`: {why}")
        assert isinstance(caught.value, ValueError)
    assert model.requests == []


def triggered(mode: Mode, *allowed: bool | None, **inputs: Any) -> tuple[list[bool], Crew]:
    model = ScriptedLLM(["x"], repeat_last=True)
    worker = agent(model)
    tasks = [task(f"t{n}", worker, allow_crewai_trigger_context=one) for n, one in enumerate(allowed)]
    made = crew(*tasks, checkpointer=False)
    mode.kickoff(made, inputs)
    return ["a mail came" in text for text in asked(model)], made


@pytest.mark.parametrize(
    ("allowed", "reported"),
    [
        ((None, None), [True, False]), ((False, None), [False, False]), ((False, True), [False, True]),
        ((True, True), [True, True]), ((None, True), [True, True]),
    ],
)  # fmt: skip
def test_the_first_task_is_told_what_triggered_the_run_the_others_if_they_are_to_know(
    mode: Mode, allowed: tuple[bool | None, ...], reported: list[bool]
):
    seen, made = triggered(mode, *allowed, crewai_trigger_payload="a mail came")
    assert seen == reported
    assert ["a mail came" in one.prompt() for one in made.tasks] == reported
    assert [one.description for one in made.tasks] == ["do t0", "do t1"]
