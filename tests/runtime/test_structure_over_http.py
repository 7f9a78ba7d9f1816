"""Structured output of tasks and kickoffs over HTTP: the model's own way first, JSON as text last."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI
from modes import Mode
from pydantic import BaseModel, Field
from servers.openai_api import OpenAIServer, Script, call, error

from crewgraph import LLM, Agent, Crew, CrewOutput, Task
from crewgraph.tools import tool

Serve = Callable[[Script | None], OpenAIServer]


class Depth(BaseModel):
    metres: int


def measure(mode: Mode, llm: Any, *, tools: list[Any] | None = None, **fields: Any) -> CrewOutput:
    agent = Agent(role="Surveyor", goal="Measure", backstory="Careful.", llm=llm, tools=tools or [])
    asked: dict[str, Any] = {
        "description": "How deep?",
        "expected_output": "A depth",
        "output_pydantic": Depth,
        **fields,
    }
    task = Task(name="sound", agent=agent, **asked)
    return mode.kickoff(Crew(agents=[agent], tasks=[task]))


def llm_at(server: OpenAIServer) -> LLM:
    return LLM("openai/test", base_url=server.url, api_key="k", max_retries=0)


def format_names(server: OpenAIServer) -> list[str | None]:
    """The names of the response formats that requests asked for."""
    formats = [body.get("response_format") for body in server.bodies]
    return [None if given is None else given["json_schema"]["name"] for given in formats]


@pytest.mark.parametrize("field", ["output_pydantic", "output_json", "response_model"])
def test_a_task_without_tools_asks_for_the_structure_with_the_work(serve: Serve, mode: Mode, field: str):
    server = serve(['{"metres": 7}'])
    strategy = ToolStrategy(Depth) if mode.asynchronous else ProviderStrategy(Depth)
    expected: dict[str, Any] = {"output_pydantic": None, field: Depth if field == "output_json" else strategy}
    result = measure(mode, llm_at(server), **expected)
    assert (result.raw, format_names(server)) == ('{"metres":7}', ["Depth"])
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"] == {"metres": {"type": "integer"}}


class Tide(BaseModel):
    high_water: float = Field(alias="highWater")


def test_the_text_of_an_answer_has_the_names_of_the_fields(serve: Serve, mode: Mode):
    server = serve(['{"highWater": 6.5}'])
    result = measure(mode, llm_at(server), output_pydantic=Tide)
    assert (result.raw, result.pydantic) == ('{"high_water":6.5}', Tide(highWater=6.5))
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["required"] == ["highWater"]


def test_a_server_that_does_not_keep_to_the_format_is_asked_once_more(serve: Serve, mode: Mode):
    server = serve(["Final Answer: seven metres", '{"metres": 7}'])
    result = measure(mode, llm_at(server))
    assert (result.pydantic, result.raw, format_names(server)) == (Depth(metres=7), "seven metres", ["Depth"] * 2)


def test_with_tools_the_work_is_free_and_the_answer_is_converted(serve: Serve, mode: Mode):
    @tool
    def sounding() -> str:
        """Sound the depth."""
        return "7"

    server = serve([call("sounding", {}), "seven metres", '{"metres": 7}'])
    assert measure(mode, llm_at(server), tools=[sounding]).pydantic == Depth(metres=7)
    assert format_names(server) == [None, None, "Depth"]


def test_a_langchain_model_is_asked_through_its_own_structured_output(serve: Serve, mode: Mode):
    class ByTool(ChatOpenAI):
        def with_structured_output(self, schema: Any = None, **words: Any) -> Runnable[Any, Any]:
            settings: dict[str, Any] = {**words, "method": "function_calling"}
            return cast("Any", super()).with_structured_output(schema, **settings)

    server = serve(["Final Answer: seven metres", call("Depth", {"metres": 7})])
    settings: dict[str, Any] = {"base_url": server.url, "api_key": "k", "max_retries": 0}
    assert measure(mode, ByTool(model="test", **settings)).pydantic == Depth(metres=7)
    assert [offered["function"]["name"] for offered in server.bodies[1]["tools"]] == ["Depth"]


def test_an_answer_that_is_a_tool_call_named_after_the_structure_is_read(serve: Serve, mode: Mode):
    @tool
    def sounding() -> str:
        """Sound the depth."""
        return "7"

    server = serve([call("sounding", {}), call("Depth", {"metres": 7})])
    result = measure(mode, llm_at(server), tools=[sounding])
    assert (result.pydantic, result.raw) == (Depth(metres=7), '{"metres": 7}')
    assert len(server.requests) == 2


def test_a_tool_with_the_name_of_the_structure_is_still_called(serve: Serve, mode: Mode):
    @tool("Depth")
    def depth(metres: int) -> str:
        """Record a depth."""
        return f"recorded {metres}"

    server = serve([call("Depth", {"metres": 7}), '{"metres": 8}'])
    assert measure(mode, llm_at(server), tools=[depth]).pydantic == Depth(metres=8)


def test_a_server_that_refuses_the_format_is_asked_for_text(serve: Serve, mode: Mode):
    refusal = error(400, "no response_format here")
    server = serve([refusal, "Final Answer: seven metres", refusal, '{"metres": 7}'])
    assert measure(mode, llm_at(server)).pydantic == Depth(metres=7)
    assert format_names(server) == ["Depth", None, "Depth", None]


def test_a_field_that_is_missing_says_why_and_names_the_task(serve: Serve, mode: Mode):
    result = measure(mode, llm_at(serve(["Final Answer: deep", "no", "no", "no"])))
    with pytest.raises(
        KeyError,
        match="there is no `metres`: the answer of task `sound` does not have the requested structure: it holds no JSON",
    ):
        result["metres"]
    result = measure(mode, llm_at(serve(["Final Answer: deep"])), output_pydantic=None)
    with pytest.raises(
        KeyError, match="there is no `metres`: task `sound` requests no structured output; pass `output_pydantic=`"
    ):
        result["metres"]
    result = measure(mode, llm_at(serve(['{"metres": 7}'])))
    with pytest.raises(KeyError, match="the output has no structured field `feet`"):
        result["feet"]


def test_why_there_is_no_structure_is_known_after_a_resume(serve: Serve, mode: Mode):
    agent = Agent(
        role="Surveyor", goal="Measure", backstory="Careful.", llm=llm_at(serve(["deep", "no", "no", "no", error(400)]))
    )
    task = Task(name="sound", description="How deep?", expected_output="A depth", agent=agent, output_pydantic=Depth)
    later = Task(name="later", description="Report", expected_output="A report", agent=agent)
    crew = Crew(agents=[agent], tasks=[task, later])
    with pytest.raises(Exception, match="400"):
        mode.kickoff(crew, thread_id="t")
    agent.llm = llm_at(serve(["reported"]))
    assert mode.resume(crew, "t").tasks_output[0].structure_error == "it holds no JSON"
