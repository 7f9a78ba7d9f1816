"""Templates of an agent's messages."""

from typing import Any

import pytest
from compiler.body_runner import agent, run_task, task
from pydantic import ValidationError

from crewgraph import ScriptedLLM
from crewgraph.definitions.placeholders import validate_date_format

BARE: dict[str, Any] = {
    "system_template": "<sys>{{ .System }}</sys>",
    "prompt_template": "<ask>{{ .Prompt }}</ask>",
    "response_template": "<say>{{ .Response }}</say>",
}


def said(**fields: Any) -> list[tuple[str, Any]]:
    return run_task(task(agent("42", **fields))).messages(0)


PLAIN = said()


def test_templates_of_both_messages_make_one_message_which_the_templates_answer_begins():
    assert said(**BARE) == [("user", f"<sys>{PLAIN[0][1]}</sys>\n<ask>{PLAIN[1][1]}</ask>\n<say>")]


def test_without_a_template_of_answers_nothing_follows_the_prompt():
    both: dict[str, Any] = {name: BARE[name] for name in ("system_template", "prompt_template")}
    assert said(**both) == [("user", f"<sys>{PLAIN[0][1]}</sys>\n<ask>{PLAIN[1][1]}</ask>")]


def test_one_template_alone_is_used_too_and_the_roles_stay():
    assert said(system_template=BARE["system_template"]) == [("system", f"<sys>{PLAIN[0][1]}</sys>"), PLAIN[1]]
    assert said(prompt_template=BARE["prompt_template"]) == [PLAIN[0], ("user", f"<ask>{PLAIN[1][1]}</ask>")]
    assert said(response_template=BARE["response_template"]) == [PLAIN[0], ("user", f"{PLAIN[1][1]}\n<say>")]


def test_without_a_system_prompt_a_template_of_the_system_message_frames_its_part():
    (one,) = said(use_system_prompt=False, system_template=BARE["system_template"])
    assert one == ("user", f"<sys>{PLAIN[0][1]}</sys>\n\n{PLAIN[1][1]}")
    assert said(use_system_prompt=False, **BARE) == said(**BARE)


def test_what_follows_the_answer_in_its_template_ends_it():
    cut = run_task(task(agent("42</say> and so on", **BARE)))
    assert cut.result["raw"] == "42"
    assert cut.stop_words == [("</say>",)]


def test_answers_end_there_in_both_protocols_and_when_they_are_forced():
    def count(folder: str) -> str:
        """Count the files."""
        return "7"

    for native, stop in ((False, ("\nObservation:", "</say>")), (True, ("</say>",))):
        model = ScriptedLLM([{"name": "count", "args": {"folder": "/"}}, "7"], native_tools=native)
        worked_on = task(agent("x", llm=model, tools=[count], max_iter=1, response_template="{{ .Response }}</say>"))
        assert run_task(worked_on).stop_words == [stop, ("</say>",)]


def test_an_answer_that_nothing_follows_is_not_ended():
    assert run_task(task(agent("42", response_template="<say>{{ .Response }}"))).stop_words == [()]


def test_who_the_agent_is_may_stand_in_the_template_and_nothing_else_is_filled():
    ((_, system), _) = said(system_template="{role}/{goal}/{backstory}/{topic} {{ .System }}", role="A {goal}")
    assert system.startswith("A {goal}/Be right/Knows the files./{topic} You are A {goal}.")


@pytest.mark.parametrize("name", ["prompt_template", "response_template"])
def test_a_template_without_its_slot_is_refused(name: str):
    wrong: dict[str, Any] = {name: "always the same"}
    with pytest.raises(ValidationError, match=r"has no `\{\{ \.(Prompt|Response) \}\}`"):
        agent("42", **wrong)


def test_a_system_message_that_is_always_the_same_is_reported():
    with pytest.warns(UserWarning, match=r"`system_template` has no `\{\{ \.System \}\}`"):
        worker = agent("42", system_template="Answer in JSON.")
    assert run_task(task(worker)).messages(0) == [("system", "Answer in JSON."), PLAIN[1]]


# -------------------------------------------------------------------------------------------------------- dates
@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%B %-d, %Y", "the %A%%", "%e. %B"])
def test_formats_of_dates(written: str):
    assert validate_date_format(written) == written
