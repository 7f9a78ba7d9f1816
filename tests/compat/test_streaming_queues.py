"""Programs that stream their own data with CrewAI's streaming queues."""

import asyncio
from typing import Any

import pytest
from crewgraph_compat.stand_ins.flows.streaming import (
    TaskInfo,
    create_async_chunk_generator,
    create_async_frame_generator,
    create_chunk_generator,
    create_frame_generator,
    create_frame_streaming_state,
    create_streaming_state,
    register_cleanup,
    signal_end,
    signal_error,
)

from crewgraph import Agent, ScriptedLLM
from crewgraph.definitions.chunks import CrewStreamingOutput, StreamChunk
from crewgraph.events import LLMStreamChunkEvent, crewai_event_bus
from crewgraph.events.frames import AsyncStreamSession, StreamSession
from crewgraph.events.llm import FunctionCall, ToolCall

INFO = TaskInfo(index=1, name="draft", id="7", agent_role="Writer", agent_id="8")


def tell(text: str, **more: Any) -> None:
    crewai_event_bus.emit(None, LLMStreamChunkEvent(chunk=text, call_id="c", **more))


def test_pieces_go_from_a_thread_to_an_output_with_its_result():
    result: list[Any] = []
    state = create_streaming_state(INFO, result)
    called = ToolCall(id="1", function=FunctionCall(name="depth", arguments="{"), index=0)

    def run() -> None:
        tell("a")
        tell("", tool_call=called)
        result.append("done")
        signal_end(state)

    holder: list[Any] = []
    output = CrewStreamingOutput(sync_iterator=create_chunk_generator(state, run, holder))
    holder.append(output)
    tell("somebody else's")
    first, second = output
    assert (first.content, first.task_index, first.task_name, first.agent_role) == ("a", 1, "draft", "Writer")
    assert second.tool_call is not None and second.tool_call.tool_name == "depth"
    assert output.result == "done" and state.sync_queue.empty()


def test_a_failure_reaches_whoever_takes_the_pieces():
    state = create_streaming_state(INFO, [])
    with pytest.raises(ValueError, match="no model"):
        list(create_chunk_generator(state, lambda: signal_error(state, ValueError("no model")), []))


def test_what_nobody_took_of_a_closed_output_is_forgotten():
    state = create_streaming_state(INFO, [])
    output = CrewStreamingOutput(sync_iterator=iter([]))
    register_cleanup(output, state)
    state.handler(None, LLMStreamChunkEvent(chunk="late", call_id="c"))
    assert state.sync_queue.qsize() == 1
    output.close()
    assert state.sync_queue.empty() and output.is_cancelled


def test_an_agents_answer_streams_as_pieces_and_as_frames():
    agent = Agent(role="Writer", goal="g", backstory="b", llm=ScriptedLLM(["one two", "one two"], stream=True))
    state = create_streaming_state(INFO, [])

    def run() -> None:
        state.result_holder.append(agent.kickoff("Count."))
        signal_end(state)

    pieces: list[StreamChunk] = list(create_chunk_generator(state, run, []))
    assert "".join(one.content for one in pieces) == "one two"

    framed, holder = create_frame_streaming_state([]), list[Any]()
    session: StreamSession[Any] = StreamSession(
        sync_iterator=create_frame_generator(framed, lambda: agent.kickoff("Again."), holder)
    )
    holder.append(session)
    assert "llm_stream_chunk" in [frame.type for frame in session]
    assert session.result.raw == framed.result_holder[0].raw == "one two"


def test_a_function_that_fails_fails_the_frames():
    def fails() -> None:
        raise KeyError("depth")

    with pytest.raises(KeyError, match="depth"):
        list(create_frame_generator(create_frame_streaming_state([]), fails, []))


def test_the_same_on_an_event_loop():
    async def chunks() -> tuple[list[str], Any]:
        state, holder = create_streaming_state(INFO, [], use_async=True), list[Any]()

        async def run() -> None:
            tell("a")
            await asyncio.to_thread(tell, "b")
            state.result_holder.append("done")
            signal_end(state, is_async=True)

        output = CrewStreamingOutput(async_iterator=create_async_chunk_generator(state, run, holder))
        holder.append(output)
        return [one.content async for one in output], output.result

    async def frames() -> tuple[list[str], Any]:
        state, holder = create_frame_streaming_state([], use_async=True), list[Any]()

        async def run() -> str:
            tell("a")
            return "done"

        session: AsyncStreamSession[Any] = AsyncStreamSession(
            async_iterator=create_async_frame_generator(state, run, holder)
        )
        holder.append(session)
        return [one.type async for one in session], session.result

    async def failing() -> None:
        state = create_streaming_state(INFO, [], use_async=True)

        async def run() -> None:
            signal_error(state, ValueError("no model"), is_async=True)

        with pytest.raises(ValueError, match="no model"):
            _ = [one async for one in create_async_chunk_generator(state, run, [])]

    assert asyncio.run(chunks()) == (["a", "b"], "done")
    assert asyncio.run(frames()) == (["llm_stream_chunk"], "done")
    asyncio.run(failing())
