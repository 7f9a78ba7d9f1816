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


def with_template(**other: str) -> dict[str, Any]:
    return BARE | other


def test_templates_of_both_messages_make_one_message_which_the_templates_answer_begins():
    assert said(**BARE) == [("user", f"<sys>{PLAIN[0][1]}</sys>\n<ask>{PLAIN[1][1]}</ask>\n<say>")]


def test_without_a_template_of_answers_nothing_follows_the_prompt():
    both: dict[str, Any] = {name: BARE[name] for name in ("system_template", "prompt_template")}
    assert said(**both) == [("user", f"<sys>{PLAIN[0][1]}</sys>\n<ask>{PLAIN[1][1]}</ask>")]


def test_a_template_without_its_partner_is_ignored():
    for name in BARE:
        assert said(**{name: BARE[name]}) == PLAIN
    assert said(system_template=BARE["system_template"], response_template=BARE["response_template"]) == PLAIN
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
        worked_on = task(agent("x", llm=model, tools=[count], max_iter=1, **BARE))
        assert run_task(worked_on).stop_words == [stop, ("</say>",)]


def test_an_answer_that_nothing_follows_is_not_ended():
    assert run_task(task(agent("42", **with_template(response_template="<say>{{ .Response }}")))).stop_words == [()]


def test_who_the_agent_is_may_stand_in_the_template_and_nothing_else_is_filled():
    templates: dict[str, Any] = {**BARE, "system_template": "{role}/{goal}/{backstory}/{topic} {{ .System }}"}
    ((_, system),) = said(role="A {goal}", **templates)
    assert system.startswith("A {goal}/Be right/Knows the files./{topic} You are A {goal}.")


def test_a_template_without_its_slot_is_told_of_or_refused():
    with pytest.raises(ValidationError, match=r"has no `\{\{ \.Response \}\}`"):
        agent("42", response_template="always the same")
    with pytest.warns(UserWarning, match=r"`prompt_template` has no `\{\{ \.Prompt \}\}`.* it is ignored"):
        worker = agent("42", **with_template(prompt_template="always the same"))
    assert run_task(task(worker)).messages(0) == [("user", f"<sys>{PLAIN[0][1]}</sys>\n{PLAIN[1][1]}\n<say>")]
    with pytest.warns(UserWarning, match=r"`system_template` has no `\{\{ \.System \}\}`.* who the agent is"):
        worker = agent("42", **with_template(system_template="Answer in JSON."))
    assert run_task(task(worker)).messages(0) == [("user", f"Answer in JSON.\n<ask>{PLAIN[1][1]}</ask>\n<say>")]


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%B %-d, %Y", "the %A%%", "%e. %B"])
def test_formats_of_dates(written: str):
    assert validate_date_format(written) == written


def test_an_agent_with_an_invalid_format_has_no_date():
    with pytest.warns(UserWarning, match="`date_format` 'today' cannot be a date.* Prompts have no date"):
        worker = agent("42", inject_date=True, date_format="today")
    assert run_task(task(worker)).messages(0) == PLAIN
