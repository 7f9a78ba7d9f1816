"""Models that are missing, invalid, or answer badly."""

from concurrent import futures
from typing import Any

import pytest
from modes import Mode
from pydantic import ValidationError
from runtime.parts import agent, asked, crew, task

from crewgraph import LLM, Agent, ScriptedLLM, ToolUse
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.errors import ModelError, NoModelError, OutputInvalid
from crewgraph.llm.errors import InvalidMessage
from crewgraph.tools import tool


@tool
def look(i: int) -> str:
    """Look at something."""
    return f"<{i}>"


def test_no_model_and_no_key_is_an_error_that_lists_the_choices(mode: Mode):
    with pytest.raises(NoModelError) as caught:
        mode.kickoff(crew(task("a", agent(None))))
    said = str(caught.value)
    assert said.startswith("No language model is set, neither as `llm` nor in the environment. Do one of these:\n")
    for choice in ("OPENAI_API_KEY", "ollama/", "LLM(model=", "LangChain chat model", "ScriptedLLM"):
        assert choice in said


def test_the_model_of_the_last_task_is_missed_before_the_first_one_is_done(mode: Mode):
    llm = ScriptedLLM(["one"])
    with pytest.raises(NoModelError):
        mode.kickoff(crew(task("a", agent(llm)), task("b", agent(None, role="another"))))
    assert llm.requests == []


@pytest.mark.parametrize("llm", ["", "nonsense-model", "nobody/model"])
def test_what_names_no_model_is_refused_with_what_does(mode: Mode, llm: str):
    with pytest.raises(
        ModelError, match=r"is not a language model. Pass a name|The provider of the model .* is unknown"
    ):
        mode.kickoff(crew(task("a", agent(llm))))


class Tides:
    """Not a model."""


NO_MODELS: list[Any] = [
    5, True, b"gpt-4o", object(), Tides(), Tides, str.upper, [], [Tides()], {}, {"model": 5}, {"temperature": 1},
]  # fmt: skip
FIELDS_OF_AGENTS = ("llm", "function_calling_llm")
FIELDS_OF_CREWS = ("manager_llm", "function_calling_llm", "planning_llm", "chat_llm")


def test_what_is_no_model_is_refused_where_it_is_given_with_what_is_one():
    reason = r"is not a language model. Pass a name|needs a name|is a class, not a language model"
    worker = agent(ScriptedLLM([]))
    for no_model in NO_MODELS:
        for field in FIELDS_OF_AGENTS:
            with pytest.raises(ValidationError, match=f"{field}\n.*({reason})"):
                Agent(role="r", goal="g", backstory="b", **{field: no_model})
        for field in FIELDS_OF_CREWS:
            with pytest.raises(ValidationError, match=f"{field}\n.*({reason})"):
                crew(task("a", worker), **{field: no_model})
        with pytest.raises(ValidationError, match=f"llm\n.*({reason})"):
            PlanningConfig(llm=no_model)


@pytest.mark.parametrize("nothing", ["", "   ", "\n\n"])
def test_a_model_that_says_nothing_is_asked_again_and_then_given_up(mode: Mode, nothing: str):
    llm = ScriptedLLM([nothing], repeat_last=True)
    with pytest.raises(OutputInvalid, match="replied with nothing 3 times in a row"):
        mode.kickoff(crew(task("a", agent(llm))))
    assert len(llm.requests) == 3
    once = ScriptedLLM([nothing, "there"])
    assert mode.kickoff(crew(task("a", agent(once)))).raw == "there"


GARBLED = [
    "Thought: hm", "Action:\nAction Input: {}", "Action: look", "Action: look\nAction Input: not JSON",
    'Action: look\nAction Input: {"i": "one"}', 'Action: look\nAction Input: {"j": 1}',
    'Action: Look!\nAction Input: {"i": 1', "Action: nothing of the kind\nAction Input: {}",
]  # fmt: skip


@pytest.mark.parametrize("native", [False, True], ids=["text", "native"])
def test_garbled_requests_for_tools_are_reported_to_the_model_which_may_mend_them(mode: Mode, native: bool):
    right = 'Thought: now\nAction: look\nAction Input: {"i": 1}'
    garbled = GARBLED[1:] if native else GARBLED  # where tools are called natively, a lone thought is an answer
    llm = ScriptedLLM([*garbled, right, "Final Answer: done"], native_tools=native)
    assert mode.kickoff(crew(task("a", agent(llm, tools=[look])))).raw == "done"
    assert asked(llm)[-1].endswith("<1>")


@pytest.mark.parametrize("failure", [futures.CancelledError, StopAsyncIteration, StopIteration, TimeoutError])
def test_whatever_a_tool_raises_is_reported_to_the_model(mode: Mode, failure: type[Exception]):
    @tool("wait")
    def waiting() -> str:
        """Wait for something."""
        raise failure

    llm = ScriptedLLM([ToolUse("wait", {}), "done"])
    assert mode.kickoff(crew(task("a", agent(llm, tools=[waiting])))).raw == "done"
    assert "`wait` failed" in asked(llm)[1] and failure.__name__ in asked(llm)[1]


def test_a_native_call_where_no_tools_were_offered_is_answered(mode: Mode):
    llm = ScriptedLLM([ToolUse("search", {}), "done"], native_tools=True)
    assert mode.kickoff(crew(task("a", agent(llm)))).raw == "done"
    assert "There is no tool `search`, and there are no others." in asked(llm)[1]


def test_a_model_that_calls_tools_even_when_forced_to_answer_is_given_up(mode: Mode):
    llm = ScriptedLLM([ToolUse("look", {"i": 1})], repeat_last=True, native_tools=True)
    with pytest.raises(
        OutputInvalid, match="after 3 steps the model `scripted` was instructed to answer with what it has"
    ):
        mode.kickoff(crew(task("a", agent(llm, tools=[look], max_iter=3))))
    assert [bool(request.tools) for request in llm.requests] == [True, True, True, False]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"content": "hello"}], "Message 0 is a `dict` without a role"),
        ([{"role": "user", "content": "a"}, {"role": "user"}], "Message 1 is a `dict` without content"),
        (None, "Message 0 is a `NoneType` without a role"),
    ],
)
def test_a_message_without_role_or_content_is_a_value_error_and_not_sent(messages: Any, text: str):
    llm = LLM("openai/test", base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0)
    with pytest.raises(InvalidMessage, match=text) as caught:
        llm.call(messages)
    assert isinstance(caught.value, ValueError)
