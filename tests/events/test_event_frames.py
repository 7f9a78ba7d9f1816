"""Runs as frames."""

import asyncio
from typing import Any

import pytest
from servers.openai_api import OpenAIServer

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import RunError
from crewgraph.flow import Flow, start


class Talk(Flow[Any]):
    @start()
    def said(self) -> str:
        model = ScriptedLLM(["Final Answer: high"], stream=True)
        clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model)
        task = Task(name="t", description="d", expected_output="e", agent=clerk)
        return Crew(agents=[clerk], tasks=[task]).kickoff(checkpointer=False).raw


def test_a_flow_is_reported_event_by_event():
    session = Talk().stream_events()
    with pytest.raises(RunError, match="has not ended"):
        _ = session.result
    frames = list(session)
    assert (session.result, session.is_completed, session.is_exhausted) == ("high", True, True)
    assert [frame.seq for frame in frames] == list(range(1, len(frames) + 1))
    assert [(one.channel, one.type, one.namespace) for one in frames[:3]] == [
        ("flow", "flow_started", ["flow", "Talk"]),
        ("flow", "method_execution_started", ["flow", "Talk", "said"]),
        ("custom", "crew_kickoff_started", ["custom"]),
    ]
    assert "".join(one.content for one in frames if one.channel == "llm") == "Final Answer: high"
    assert frames[1].parent_id == frames[0].id and frames[1].event is frames[1].data


def test_a_flow_is_reported_on_an_event_loop():
    async def reported() -> tuple[list[str], Any]:
        async with Talk().astream_events() as session:
            pieces = [frame.content async for frame in session.llm if frame.content]
        return pieces, session.result

    assert asyncio.run(reported()) == (["Final", " Answer:", " high"], "high")


def test_a_session_can_be_closed_early():
    session = Talk().stream_events()
    assert next(session.events).type == "flow_started"
    session.close()
    assert (session.is_cancelled, session.is_completed, session.is_exhausted) == (True, True, False)


def test_a_request_to_a_model_is_told_piece_by_piece():
    session = ScriptedLLM(["one two"], stream=True).stream_events("How?")
    assert [(frame.type, frame.content) for frame in session] == [
        ("llm_call_started", ""), ("llm_stream_chunk", "one"), ("llm_stream_chunk", " two"),
        ("llm_call_completed", ""),
    ]  # fmt: skip
    assert session.result == "one two"


def test_a_request_of_an_llm_is_reported_once():
    with OpenAIServer(["one two"]) as server:
        session = LLM("openai/gpt-4o", base_url=server.url, api_key="key").stream_events("How?")
        assert [(frame.type, frame.content) for frame in session] == [
            ("llm_call_started", ""),
            ("llm_stream_chunk", "one"),
            ("llm_stream_chunk", " two"),
            ("llm_call_completed", ""),
        ]
    assert session.result == "one two"
