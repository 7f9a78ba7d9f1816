from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.structured import CrewStructuredTool


class Price(BaseModel):
    cents: int
    currency: str = "EUR"


class Till(BaseTool):
    name: str = "Till, till"
    description: str = "The price of a fruit."

    def _run(self, fruit: str) -> Price:
        return Price(cents=len(fruit))


class Sign(BaseTool):
    name: str = "sign"
    description: str = "A price as a sign has it."
    result_schema: type[BaseModel] | None = Price

    def _run(self, fruit: str) -> Any:
        return {"cents": 5}

    def format_output_for_agent(self, raw_result: Any) -> str:
        return f"<{raw_result.cents} {raw_result.currency}>"


@tool
def weigh(fruit: str) -> Price:
    """Weigh a fruit."""
    return Price(cents=1)


def test_the_result_schema_comes_from_the_annotation():
    assert Till().result_schema is Price
    assert weigh.result_schema is Price
    assert Till().to_structured_tool().result_schema is Price
    assert CrewStructuredTool.from_function(weigh.func).result_schema is Price


def test_a_result_with_a_schema_is_shown_as_json_of_it():
    assert Till().format_output_for_agent(Price(cents=3)) == '{"cents":3,"currency":"EUR"}'
    assert Till().format_output_for_agent({"cents": 3}) == '{"cents":3,"currency":"EUR"}'


def test_a_result_that_does_not_match_is_passed_on_with_a_warning():
    with pytest.warns(
        UserWarning, match="the result of the tool `Till, till` does not match its `result_schema`, `Price`"
    ):
        assert Till().format_output_for_agent({"dollars": 3}) == "{'dollars': 3}"


def test_a_result_without_a_schema_is_pythons_text():
    @tool
    def look(where: str) -> str:
        """Look."""
        return where

    assert look.result_schema is None
    assert look.format_output_for_agent("there") == "there"
    assert look.format_output_for_agent({"a": ["ä", 1]}) == "{'a': ['ä', 1]}"


def test_a_tool_has_a_formatted_description():
    assert Till().formatted_description.startswith("till_till: The price of a fruit.")
    assert Till().to_structured_tool().formatted_description == Till().formatted_description


def test_a_tool_may_format_its_results_for_the_model(mode: Mode):
    llm = ScriptedLLM([ToolUse("sign", {"fruit": "fig"}), ToolUse("till_till", {"fruit": "fig"}), "done"])
    agent = Agent(role="A", goal="G", backstory="B", llm=llm, tools=[Sign(), Till()])
    crew = Crew(agents=[agent], tasks=[Task(description="Do", expected_output="It", agent=agent)])
    mode.kickoff(crew)
    text = str(llm.requests)
    assert "<5 EUR>" in text
    assert '{"cents":3,"currency":"EUR"}' in text
