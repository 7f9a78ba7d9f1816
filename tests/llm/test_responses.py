"""Models that use OpenAI's Responses API."""

import asyncio
import logging
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import OpenAIServer
from servers.responses_api import Responses, message, responses_api

from crewgraph import LLM, Agent, Crew, Task
from crewgraph.llm.responses import ResponsesAPIResult
from crewgraph.tools import tool

FUNCTION = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "so"}],
    "encrypted_content": "sealed",
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


def llm_of(server: Responses, name: str = "openai/gpt-4o", **settings: Any) -> LLM:
    return LLM(name, api="responses", api_key="key", base_url=server.url, **settings)


def answer_of(mode: Mode, llm: LLM, messages: Any, **keywords: Any) -> Any:
    return asyncio.run(llm.acall(messages, **keywords)) if mode.asynchronous else llm.call(messages, **keywords)


def contents(body: dict[str, Any]) -> list[Any]:
    return [part.get("content") for part in body["input"]]


@pytest.mark.parametrize("stream", [False, True])
def test_settings_of_the_api_are_sent(mode: Mode, stream: bool):
    settings: dict[str, Any] = {
        **{"instructions": "be brief", "store": False, "include": ["file_search_call.results"]},
        **{"max_tokens": 7, "temperature": 0.1, "previous_response_id": "resp_0", "stream": stream},
    }
    with responses_api([message("hello")]) as server:
        assert answer_of(mode, llm_of(server, **settings), "hi") == "hello"
    (body,) = server.bodies
    sent = {name: body.get(name) for name in ("instructions", "store", "include", "max_output_tokens", "temperature")}
    assert list(sent.values()) == ["be brief", False, ["file_search_call.results"], 7, 0.1]
    assert (body["previous_response_id"], contents(body)) == ("resp_0", ["hi"])


def test_each_request_continues_the_previous_response(mode: Mode):
    with responses_api(*([message("yes")] for _ in range(4))) as server:
        llm = llm_of(server, auto_chain=True)
        assert llm.last_response_id is None
        for text in ("one", "two"):
            answer_of(mode, llm, text)
        llm.temperature, llm.builtin_tools = 0.5, ["web_search"]  # its client is made anew, the chain goes on
        answer_of(mode, llm, "three")
        assert llm.last_response_id == "resp_3"
        llm.reset_chain()
        answer_of(mode, llm, "four")
    assert [body.get("previous_response_id") for body in server.bodies] == [None, "resp_1", "resp_2", None]


def test_each_request_includes_the_previous_reasoning(mode: Mode):
    with responses_api([THOUGHT, message("a")], [message("b")], [message("c")]) as server:
        llm = llm_of(server, "openai/gpt-5", auto_chain_reasoning=True)
        answer_of(mode, llm, "one")
        assert llm.last_reasoning_items == [THOUGHT]
        answer_of(mode, llm, "two")
        assert llm.last_reasoning_items is None
        llm.reset_reasoning_chain()
        answer_of(mode, llm, "three")
    first, second, third = (body["input"] for body in server.bodies)
    assert (second[0], len(first), len(third)) == (THOUGHT, 1, 1)
    assert [body["include"] for body in server.bodies] == [["reasoning.encrypted_content"]] * 3


def test_results_of_builtin_tools_are_returned(mode: Mode):
    items: list[dict[str, Any]] = [
        THOUGHT,
        SEARCH,
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1 + 1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": "http://127.0.0.1/plot.png"}],
        },
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["q"],
            "results": [{"file_id": "f", "filename": "a.txt", "score": 0.5, "text": "t", "attributes": {}}],
        },
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "call_1",
            "name": "f",
            "arguments": "{}",
            "status": "completed",
        },
        message("two"),
    ]
    with responses_api(items) as server:
        llm = llm_of(server, parse_tool_outputs=True)
        results = answer_of(
            mode, llm, "add", tools=[FUNCTION], available_functions={"f": lambda: pytest.fail("not to be called")}
        )
    assert isinstance(results, ResponsesAPIResult)
    assert (results.text, results.response_id, results.has_tool_outputs(), results.has_reasoning()) == (
        "two", "resp_1", True, True,
    )  # fmt: skip
    assert results.web_search_results == [{"id": "ws_1", "status": "completed", "type": "web_search_call"}]
    assert results.code_interpreter_results[0]["results"] == [
        {"type": "logs", "logs": "2"},
        {"type": "files", "files": [{"url": "http://127.0.0.1/plot.png"}]},
    ]
    assert results.file_search_results[0]["results"][0]["filename"] == "a.txt"
    assert results.reasoning_summaries[0]["encrypted_content"] == "sealed"
    assert results.function_calls == [{"id": "call_1", "name": "f", "arguments": "{}"}]


@tool
def depth(place: str) -> str:
    """How deep it is."""
    return f"12 m at {place}"


def test_an_agent_uses_it(mode: Mode):
    calls = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "depth", "status": "completed"}
    with responses_api([{**calls, "arguments": '{"place": "Brest"}'}], [message("12 m")]) as server:
        agent = Agent(
            role="r", goal="g", backstory="b", llm=llm_of(server, builtin_tools=["web_search"]), tools=[depth]
        )
        crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])
        assert mode.kickoff(crew).raw == "12 m"
    settings = server.bodies[1]["input"][-2:]
    assert [(item["type"], item["call_id"]) for item in settings] == [
        ("function_call", "call_1"),
        ("function_call_output", "call_1"),
    ]
    assert settings[1]["output"] == "12 m at Brest"


def test_unsupported_settings_are_dropped_with_a_warning(mode: Mode, caplog: pytest.LogCaptureFixture):
    with responses_api([message("one END two")]) as server:
        llm = llm_of(server, stop=["END"], seed=3, frequency_penalty=0.5)
        assert answer_of(mode, llm, "count").strip() == "one"
    assert not {"stop", "seed", "frequency_penalty"} & set(server.bodies[0])
    assert "`frequency_penalty`, `seed` has no effect: the Responses API does not support it" in caplog.text


def test_its_settings_warn_with_another_api(caplog: pytest.LogCaptureFixture):
    with OpenAIServer(["hello"]) as server, caplog.at_level(logging.WARNING):
        llm = LLM("openai/gpt-4o", api_key="key", base_url=server.url, builtin_tools=["web_search"], auto_chain=True)
        assert llm.call("hi") == "hello"
        assert (llm.last_response_id, llm.last_reasoning_items) == (None, None)
        llm.reset_chain()
        llm.reset_reasoning_chain()
    assert not {"builtin_tools", "auto_chain"} & set(server.bodies[0])
    assert '`builtin_tools`, `auto_chain` has no effect: it needs api="responses"' in caplog.text


def test_a_fallback_does_not_return_a_previous_answer(mode: Mode):
    with responses_api([SEARCH, message("found")]) as server, OpenAIServer(["plain"]) as other:
        plain = LLM("openai/gpt-4o", base_url=other.url, api_key="key")
        llm = llm_of(server, parse_tool_outputs=True, fallbacks=[plain], max_retries=0)

        async def both() -> list[Any]:
            return [await llm.acall("look"), await llm.acall("look again")]

        answers: Any = asyncio.run(both()) if mode.asynchronous else [llm.call("look"), llm.call("look again")]
    first, second = answers
    assert (first.text, first.has_tool_outputs(), first.response_id) == ("found", True, "resp_1")
    assert (second.text, second.has_tool_outputs(), second.response_id) == ("plain", False, None)
