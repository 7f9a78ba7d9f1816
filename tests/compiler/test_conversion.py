"""Structured output: parse the answer, find the JSON in it, or have the model convert it (at most three times)."""

import logging
from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, run_task, task
from modes import Mode
from pydantic import BaseModel, Field, RootModel

from crewgraph import Crew, ScriptedLLM, Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.task import TaskOutputUnstructuredEvent
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import model_outline

BOOK = default_book()


class Report(BaseModel):
    title: str
    pages: int = Field(gt=0)


def reporting(*script: Any, **fields: Any) -> Task:
    return task(agent(*script), **{"output_pydantic": Report, **fields})


def requests(run: BodyRun) -> int:
    return run.effects.count("model")


GOOD = '{"title": "Rain", "pages": 3}'
MIXED = f"Here you are:\n```json\n{GOOD}\n```\nIs that what you wanted?"


@pytest.mark.parametrize(
    "text",
    [GOOD, f"  {GOOD}\n", MIXED, f"Sure: {GOOD}", "{'title': 'Rain', 'pages': 3,}", f"[{GOOD}]", f"So: [{GOOD}]."],
)
def test_json_in_the_answer_costs_no_request(text: str):
    run = run_task(reporting(text))
    assert run.result["pydantic"] == {"title": "Rain", "pages": 3}
    assert run.result["raw"] == text.strip()
    assert requests(run) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Rain, three pages", "it holds no JSON"),
        ('{"title": "Rain"}', "pages: Field required"),
        ('{"title": "Rain", "pages": 0}', "pages: Input should be greater than 0"),
        ("42", "the whole: Input should be an object"),
        ("[1, 2]", "the whole: Input should be an object"),
    ],
)
def test_other_texts_are_sent_to_the_model_with_the_schema(text: str, problem: str):
    run = run_task(reporting(text, GOOD))
    assert run.result["pydantic"] == {"title": "Rain", "pages": 3}
    assert run.result["raw"] == text
    assert requests(run) == 2
    assert run.messages(1) == [
        ("system", BOOK.slice("conversion_system", schema=model_outline(Report))),
        ("user", BOOK.slice("conversion_text", text=text)),
    ]
    given_up = run_task(reporting(text, "no", text, text))
    assert given_up.messages(2)[2:] == [
        ("assistant", "no"),
        ("user", BOOK.slice("conversion_again", error="it holds no JSON")),
    ]
    assert given_up.messages(3)[-1][1] == BOOK.slice("conversion_again", error=problem)


@pytest.mark.parametrize(("replies", "used"), [([GOOD], 2), (["no", GOOD], 3), (["no", "no", GOOD], 4)])
def test_the_model_is_asked_at_most_three_times(replies: list[str], used: int):
    run = run_task(reporting("no json", *replies))
    assert run.result["pydantic"] == {"title": "Rain", "pages": 3}
    assert requests(run) == used


def test_after_that_the_task_continues_with_the_text_a_warning_and_an_event(
    mode: Mode, caplog: pytest.LogCaptureFixture
):
    messages: list[TaskOutputUnstructuredEvent] = []
    worked_on = reporting("no json", "no", "no", "still no", "Final Answer: never asked")
    assert worked_on.agent is not None
    with crewai_event_bus.scoped_handlers(), caplog.at_level(logging.WARNING, "crewgraph"):

        @crewai_event_bus.on(TaskOutputUnstructuredEvent)
        def _(_: Any, event: TaskOutputUnstructuredEvent) -> None:
            messages.append(event)

        output = mode.kickoff(Crew(agents=[worked_on.agent], tasks=[worked_on], checkpointer=False))
    assert (output.raw, output.pydantic, output.json_dict) == ("no json", None, None)
    assert [event.error for event in messages] == ["it holds no JSON"]
    assert "task `Count the files` of agent `Clerk`: no structured output, the text is kept" in caplog.text


def test_output_json_gives_the_fields_as_a_dict_checked_by_the_model():
    run = run_task(reporting('{"title": "Rain", "pages": "3"}', output_pydantic=None, output_json=Report))
    assert (run.result["json_dict"], run.result["pydantic"]) == ({"title": "Rain", "pages": 3}, None)
    assert run.result["output_format"] == "json"


class Numbers(RootModel[list[int]]):
    pass


def test_a_model_that_is_a_list_is_an_output_pydantic():
    assert run_task(reporting("[1, 2]", output_pydantic=Numbers)).result["pydantic"] == [1, 2]


def test_function_calling_llm_converts_the_output_if_given():
    helper = ScriptedLLM([GOOD])
    main = agent("no json", function_calling_llm=helper)
    assert run_task(task(main, output_pydantic=Report)).result["pydantic"] == {"title": "Rain", "pages": 3}
    assert len(helper.requests) == 1
    crews = ScriptedLLM([GOOD])
    run = run_task(reporting("no json"), function_calling_llm=crews)
    assert run.result["pydantic"] == {"title": "Rain", "pages": 3}
    assert len(crews.requests) == 1


def test_json_that_is_nested_without_end_does_not_stop_the_task():
    run = run_task(reporting("[" * 100_000, GOOD))
    assert run.result["pydantic"] == {"title": "Rain", "pages": 3}
