"""CrewAI's functions for single steps of agents, and attributes of agents, models and tools under CrewAI's names."""

import asyncio
import json
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agents.steps import (
    apply_training_data,
    build_task_prompt_with_schema,
    format_task_with_context,
    get_knowledge_config,
    handle_reasoning,
    prepare_tools,
    process_tool_results,
    save_last_messages,
    validate_max_execution_time,
)
from crewgraph_compat.stand_ins.events import AgentMeta, EventTypes
from langchain_core.callbacks import BaseCallbackHandler
from pydantic import BaseModel, TypeAdapter

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.lite_agent import LiteAgent
from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool
from crewgraph.deprecations import Outdated
from crewgraph.errors import DefinitionError, Fault, ToolFailed
from crewgraph.events import TaskStartedEvent
from crewgraph.flow import Flow, start
from crewgraph.knowledge.passage import KnowledgeConfig
from crewgraph.prompts.i18n import I18N
from crewgraph.tools import tool
from crewgraph.tools.structured import CrewStructuredTool


class Town(BaseModel):
    name: str


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return "three boats"


def clerk(*script: Any, **fields: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(list(script)), **fields)


def task(agent: Agent, **fields: Any) -> Task:
    return Task(description="Count.", expected_output="A number", agent=agent, **fields)


def test_a_prompt_is_made_step_by_step():
    one = clerk()
    assert build_task_prompt_with_schema(task(one), "P") == "P"
    assert build_task_prompt_with_schema(task(one, response_model=Town), "P") == "P"
    for form in ("output_pydantic", "output_json"):
        reported = build_task_prompt_with_schema(task(one, **{form: Town}), "P")
        assert reported.startswith("P\n") and "name" in reported
    assert format_task_with_context("P", None) == format_task_with_context("P", "") == "P"
    assert format_task_with_context("P", "C").startswith("P\n") and format_task_with_context("P", "C").endswith("\nC")
    assert apply_training_data(one, "P") == "P"
    lessons = {"Clerk": {"suggestions": ["Count twice."], "quality": 7, "final_summary": "s"}}
    one.crew = Crew(agents=[one], tasks=[task(one)], training_data=lessons)
    assert apply_training_data(one, "P").endswith("- Count twice.")


def test_an_agent_plans_before_its_task_where_it_is_to():
    one = task(clerk())
    assert one.agent is not None
    handle_reasoning(clerk(), one)
    assert one.description == "Count."
    handle_reasoning(clerk("Look at the harbour.\nREADY", reasoning=True), one)
    assert one.description.startswith("Count.\n") and "Look at the harbour." in one.description
    steps = '{"plan": "P", "steps": [{"step_number": 1, "description": "Look far."}], "ready": true}'
    other = task(clerk())
    handle_reasoning(clerk(steps, planning=True), other)
    assert "1. Look far." in other.description


def test_settings_tools_and_results_of_an_agent():
    one = clerk(tools=[look], knowledge_config=KnowledgeConfig(results_limit=7))
    assert get_knowledge_config(one)["results_limit"] == 7 and get_knowledge_config(clerk()) == {}
    assert prepare_tools(one, None, task(one)) == [look] and prepare_tools(clerk(), [look], task(one)) == [look]
    assert process_tool_results(one, "answer") == "answer"
    one.tools_results = [{"result": "boats", "result_as_answer": True}, {"result": "sea", "result_as_answer": False}]
    assert process_tool_results(one, "answer") == "boats"
    validate_max_execution_time(None)
    validate_max_execution_time(5)
    for wrong in (0, -1, 2.5, "x"):
        with pytest.raises(ValueError, match="positive whole number of seconds"):
            validate_max_execution_time(wrong)  # pyright: ignore[reportArgumentType]

    class Executor:
        messages = ({"role": "user", "content": "Count."},)

        def invoke(self, inputs: Any) -> str:
            return "three"

    save_last_messages(one)
    assert one.last_messages == []
    one.agent_executor = Executor()
    save_last_messages(one)
    assert one.last_messages == [{"role": "user", "content": "Count."}]


def test_a_lite_agent_tells_what_it_said_and_asks_before_each_request():
    asked: list[int] = []

    def room() -> bool:
        asked.append(1)
        return True

    stands_for = clerk()
    script = ScriptedLLM([ToolUse("look", {"where": "here"}), "three"], repeat_last=True)
    lite = LiteAgent(
        role="Clerk",
        goal="g",
        backstory="b",
        llm=script,
        tools=[look],
        request_within_rpm_limit=room,
        original_agent=stands_for,
    )
    assert (lite.messages, lite.iterations, lite.use_stop_words, lite.parent_flow) == ([], 0, True, None)
    assert lite.kickoff("How many?").raw == "three"
    assert lite.messages[-1] == {"role": "assistant", "content": "three"} and lite.iterations == 2
    assert len(asked) == 2 and stands_for.last_messages == lite.messages
    assert asyncio.run(lite.akickoff("Again?")).raw == "three" and lite.iterations == 1
    assert lite.before_llm_call_hooks == lite.after_llm_call_hooks == []

    class Harbour(Flow[Any]):
        @start()
        def make(self) -> bool:
            return LiteAgent(role="r", goal="g", backstory="b").parent_flow is self

    assert Harbour().kickoff() is True


def test_a_structured_tool_needs_no_more_than_its_function():
    empty = CrewStructuredTool()
    assert (empty.name, empty.description, empty.args) == ("", "", {})
    with pytest.raises(ToolFailed, match="no function"):
        empty.invoke({})

    def add(a: int, b: int = 1) -> int:
        return a + b

    made = CrewStructuredTool(name="add", description="Adds.", func=add)
    assert {*made.args} == {"a", "b"} and made.invoke({"a": 2}) == 3


def test_callbacks_of_a_model_are_replaced_by_class(monkeypatch: pytest.MonkeyPatch):
    class Ear(BaseCallbackHandler):
        pass

    class Eye(BaseCallbackHandler):
        pass

    old, new, eye = Ear(), Ear(), Eye()
    llm = LLM("openai/gpt-4o", callbacks=[old, eye])
    llm.set_callbacks([new])
    assert llm.callbacks == [eye, new]
    llm.set_env_callbacks()
    monkeypatch.setenv("LITELLM_SUCCESS_CALLBACKS", "langfuse")
    with pytest.warns(Outdated, match="`LITELLM_SUCCESS_CALLBACKS` in the environment"):
        llm.set_env_callbacks()


def test_tools_for_coworkers_take_texts_of_their_own(tmp_path: Any):
    file = tmp_path / "texts.json"
    file.write_text(json.dumps({"tools": {"ask_question": "Ask {coworkers} anything."}}), "utf-8")
    texts = I18N(prompt_file=str(file))
    assert AskQuestionTool(agents=[clerk()], i18n=texts).description == "Ask Clerk anything."
    made = AgentTools([clerk()], texts).tools()
    assert made[1].description == "Ask Clerk anything." and made[0].description


def test_faults_are_texts_too():
    assert DefinitionError(["a", "b"]).errors == ["a", "b"] and str(DefinitionError(["a", "b"])) == "a\nb"
    fault = Fault(where="task `x`", what="It is empty.", remedy="Fill it.")
    assert DefinitionError([fault]).errors == ["task `x`: It is empty. Fill it."] == [str(DefinitionError([fault]))]
    assert DefinitionError("whole").errors == ["whole"]


def test_types_have_crewais_names():
    assert isinstance(Agent, AgentMeta)
    event = TaskStartedEvent(context="c")
    assert TypeAdapter(EventTypes).validate_python(event) is event
