"""Inputs of wrong types, missing inputs and unusual values."""

from typing import Any

import pytest
from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import MissingInput
from crewgraph.testing import record_events


def about(text: str, llm: ScriptedLLM, **more: Any) -> Crew:
    return crew(task("a", agent(llm), **{"description": text, **more}))


def test_a_missing_input_is_named_with_those_that_were_given(mode: Mode):
    llm = ScriptedLLM([])
    with pytest.raises(MissingInput) as caught:
        mode.kickoff(about("{topic} in {year}", llm), {"Topic": "rain"})
    assert str(caught.value) == (
        "`description` of task `a` needs the inputs `topic`, `year`, which were not given. Inputs given: `Topic`. "
        'Pass inputs={"topic": ..., "year": ...}, or remove the braces if the text is meant literally.'
    )
    assert llm.requests == []


@pytest.mark.parametrize(
    ("where", "fields"),
    [
        ("`role` of agent `{x}`", {"role": "{x}"}),
        ("`goal` of agent `r`", {"goal": "{x}"}),
        ("`backstory` of agent `r`", {"backstory": "{x}"}),
    ],
)
def test_a_missing_input_of_an_agent_is_named(mode: Mode, where: str, fields: dict[str, Any]):
    texts: dict[str, Any] = {"role": "r", "goal": "g", "backstory": "b", **fields}
    worker = Agent(llm=ScriptedLLM([]), **texts)
    with pytest.raises(MissingInput, match="needs the input `x`") as caught:
        mode.kickoff(crew(task("a", worker)), {"y": 1})
    assert str(caught.value).startswith(where)


@pytest.mark.parametrize("field", ["expected_output", "output_file"])
def test_a_missing_input_of_another_text_of_the_task_is_named(mode: Mode, field: str):
    with pytest.raises(MissingInput, match=f"`{field}` of task `a` needs the input `x`"):
        mode.kickoff(about("do", ScriptedLLM([]), **{field: "{x}"}), {"y": 1})


def test_tasks_with_placeholders_and_no_inputs_at_all_warn_and_keep_them(mode: Mode):
    llm = ScriptedLLM(["done"])
    with pytest.warns(UserWarning, match=r"the tasks hold \{topic\}, \{year\}, but no inputs were given"):
        mode.kickoff(about("{topic}", llm, expected_output="{year}"))
    assert "{topic}" in llm.requests[0].text


def test_what_was_inserted_is_not_filled_again(mode: Mode):
    llm = ScriptedLLM(["done"])
    mode.kickoff(about("about {topic}", llm), {"topic": "{secret} {topic}", "secret": "42"})
    assert "about {secret} {topic}" in llm.requests[0].text
    assert "42" not in llm.requests[0].text


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        *((value, "`inputs` is .*; pass a dict of names and values") for value in ("topic", ["topic"], 5, [("a", 1)])),
        ({"a": 0, 1: 2}, "`inputs` has the key 1; names of inputs are texts"),
    ],
    ids=repr,
)
def test_inputs_that_are_no_dict_of_names_are_refused(mode: Mode, inputs: Any, message: str):
    llm = ScriptedLLM([])
    with record_events() as events, pytest.raises(TypeError, match=message):
        mode.kickoff(about("do", llm), inputs)
    assert llm.requests == []
    assert [event.type for event in events] == ["crew_kickoff_failed"]


def test_inputs_of_a_compiled_graph_that_are_no_dict_are_refused(mode: Mode):
    with pytest.raises(TypeError, match="`inputs` in the state is 'topic'"):
        mode.invoke(about("do {x}", ScriptedLLM([])).compile(), {"inputs": "topic"})


@pytest.mark.parametrize("value", [object(), lambda: 0, open, ...], ids=["object", "lambda", "builtin", "ellipsis"])
@pytest.mark.parametrize("stored", [None, False], ids=["kept", "not kept"])
def test_an_input_that_cannot_be_kept_is_named(mode: Mode, value: Any, stored: bool | None):
    with pytest.raises(
        TypeError, match="the input `thing` is an object of type `.*`, which is neither data nor has a text"
    ):
        mode.kickoff(about("do", ScriptedLLM([])), {"thing": value}, checkpointer=stored)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "True"), (None, "None"), (["a", 1], "['a', 1]"), ({"a": [1]}, "{'a': [1]}"), ("ärger 🌧", "ärger 🌧")],
    ids=repr,
)
def test_plain_values_are_shown_as_python_writes_them(mode: Mode, value: Any, shown: str):
    llm = ScriptedLLM(["done"])
    mode.kickoff(about("<{x}>", llm), {"x": value})
    assert f"<{shown}>" in llm.requests[0].text


@pytest.mark.parametrize("text", ["\x00", "a\r\nb", "'; DROP TABLE checkpoints; --"], ids=repr)
def test_odd_characters_in_inputs_and_outputs_go_through(mode: Mode, text: str):
    made = about("{x}", ScriptedLLM([text + " done"]))
    result = mode.kickoff(made, {"x": text}, thread_id="t")
    assert result.raw == (text + " done").strip()
    assert mode.resume(made, "t") == result


def test_half_a_character_is_replaced_before_it_reaches_the_model_or_the_database(mode: Mode):
    llm = ScriptedLLM(["done"])
    made = about("<{x}>", llm)
    result = mode.kickoff(made, {"x": "a\ud800b"}, thread_id="t")
    assert "<a\ufffdb>" in llm.requests[0].text
    assert mode.resume(made, "t") == result


@pytest.mark.parametrize("reply", ["half \ud800 a character", "Final Answer: half \ud800"])
def test_half_a_character_in_a_reply_is_no_trouble(mode: Mode, reply: str):
    made = about("do", ScriptedLLM([reply, "end"]))
    result = mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t") == result


def test_an_unknown_keyword_is_reported_at_the_line_that_gave_it():
    with pytest.warns(UserWarning, match=r"`Task` has no keyword `expected`; it has no effect. Did you mean") as caught:
        Task(description="d", expected_output="e", expected="x")  # pyright: ignore[reportCallIssue]
    assert caught[0].filename == __file__
