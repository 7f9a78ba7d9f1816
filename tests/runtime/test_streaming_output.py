"""`Crew(stream=True)`: CrewAI's streaming output, and chunk events."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import OpenAIServer, call, error

from crewgraph import Crew, CrewOutput, ScriptedLLM
from crewgraph.definitions.chunks import CrewStreamingOutput, StreamChunk
from crewgraph.events import BaseEvent, LLMStreamChunkEvent
from crewgraph.events.stream_context import add_stream_sink, publish_stream_event, reset_stream_sinks
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, crew, served, task

Serve = Callable[[Any], OpenAIServer]


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"the {what} is high"


def desk(serve: Serve, *, stream: bool = True) -> Crew:
    llm = served(serve([call("look", {"what": "sea"}), "it is high", "a poem now"]).url)
    mail = task("mail", agent(llm, "Clerk of {what}", tools=[look]))
    return crew(mail, task("poem", agent(llm, "Poet")), stream=stream)


def started(mode: Mode, team: Crew, inputs: dict[str, Any] | None = None) -> tuple[CrewStreamingOutput, Any]:
    """A streaming output, and a function that takes all its chunks."""
    if not mode.asynchronous:
        output: Any = team.kickoff(inputs, granularity=mode.granularity)
        return output, lambda: list(output)

    async def all_of(output: Any) -> list[StreamChunk]:
        return [chunk async for chunk in output]

    async_output: Any = asyncio.run(team.kickoff_async(inputs, granularity=mode.granularity))
    return async_output, lambda: asyncio.run(all_of(async_output))


def test_chunks_say_what_they_are_pieces_of_and_whose(mode: Mode, serve: Serve):
    team = desk(serve)
    output, chunks_of = started(mode, team, {"what": "sea"})
    assert isinstance(output, CrewStreamingOutput)
    chunks: list[StreamChunk] = chunks_of()
    assert [(chunk.content, chunk.chunk_type.value) for chunk in chunks] == [
        *(('{"what"', "tool_call"), (': "sea"}', "tool_call")),
        *((piece, "text") for piece in ("it", " is", " high", "a", " poem", " now")),
    ]
    mail, poem = team.tasks
    assert mail.agent is not None
    first, last = chunks[1], chunks[-1]
    assert (first.task_index, first.task_name, first.task_id) == (0, "mail", str(mail.id))
    assert (first.agent_role, first.agent_id) == ("Clerk of sea", str(mail.agent.id))
    assert (last.task_index, last.task_name, last.task_id, last.agent_role) == (1, "poem", str(poem.id), "Poet")
    called = first.tool_call
    assert called is not None
    assert (called.tool_id, called.tool_name, called.arguments) == ("call_0_look", "look", '{"what": "sea"}')
    assert (output.get_full_text(), str(last)) == ("it is higha poem now", " now")
    assert output.chunks == chunks


def test_the_result_is_there_behind_the_last_chunk(mode: Mode, serve: Serve):
    output, chunks_of = started(mode, desk(serve), {"what": "sea"})
    with pytest.raises(RuntimeError, match="iterate over all chunks"):
        _ = output.result
    assert not output.is_completed
    chunks_of()
    assert isinstance(output.result, CrewOutput)
    assert (output.result.raw, output.results) == ("a poem now", [output.result])
    assert (output.is_completed, output.is_cancelled) == (True, False)
    assert chunks_of() == []


def test_a_failed_run_raises_from_the_iteration_and_from_the_result(mode: Mode, serve: Serve):
    output, chunks_of = started(mode, crew(task("a", agent(served(serve([error(400, "no")]).url))), stream=True))
    with pytest.raises(Exception, match="no") as caught:
        chunks_of()
    with pytest.raises(type(caught.value), match="no"):
        _ = output.result
    assert output.is_completed


def test_a_loop_that_is_left_pauses_until_it_continues_or_is_closed():
    llm = ScriptedLLM(["one two", "three"], stream=True)
    output: Any = crew(task("a", agent(llm)), task("b", agent(llm)), stream=True).kickoff()
    for chunk in output:
        assert chunk.content == "one"
        break
    assert [chunk.content for chunk in output] == [" two", "three"]
    assert output.result.raw == "three"


def test_a_closed_output_ends_the_run_which_can_be_resumed():
    llm = ScriptedLLM(["one", "two"], stream=True)
    team = crew(task("a", agent(llm)), task("b", agent(llm)), stream=True)
    with team.kickoff(thread_id="t") as output:  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        assert isinstance(output, CrewStreamingOutput)
        next(iter(output))
    assert (output.is_cancelled, output.is_completed, list(output)) == (True, True, [])
    with pytest.raises(RuntimeError, match="ended before the run"):
        _ = output.result
    assert team.resume("t").raw == "two"


def test_each_kind_of_output_says_how_it_is_read():
    team = crew(task("a", agent(ScriptedLLM(["x"]))), stream=True)
    output: Any = team.kickoff()

    async def read() -> None:
        async for _ in output:
            pass

    with pytest.raises(RuntimeError, match="with `for`"):
        asyncio.run(read())
    other: Any = asyncio.run(team.akickoff())
    with pytest.raises(RuntimeError, match="with `async for`"):
        list(other)


def pieces(events: list[BaseEvent]) -> list[LLMStreamChunkEvent]:
    return [event for event in events if isinstance(event, LLMStreamChunkEvent)]


def test_a_model_that_streams_tells_each_piece(mode: Mode, serve: Serve):
    server = serve([call("look", {"what": "sea"}), "it is"])
    team = crew(task("mail", agent(served(server.url, stream=True), "Clerk", tools=[look])))
    with record_events() as events:
        output = mode.kickoff(team)
    events_seen = pieces(events)
    assert [event.chunk for event in events_seen] == ['{"what"', ': "sea"}', "it", " is"]
    assert {(event.task_name, event.agent_role) for event in events_seen} == {("mail", "Clerk")}
    called = events_seen[1].tool_call
    assert called is not None
    assert (called.id, called.function.name, called.function.arguments, called.index) == (
        *("call_0_look", "look", '{"what": "sea"}', 0),
    )
    assert [body["stream_options"] for body in server.bodies] == [{"include_usage": True}] * 2
    assert output.token_usage.completion_tokens == 3
    between = [event.type for event in events if event.type.startswith("llm")]
    assert between == [*("llm_call_started", *["llm_stream_chunk"] * 2, "llm_call_completed")] * 2


def test_a_sink_hears_the_code_of_its_context_and_nothing_else(mode: Mode):
    events_seen: list[str] = []

    def sink(source: Any, event: BaseEvent) -> None:
        events_seen.append(event.type)

    team = crew(task("a", agent(ScriptedLLM(["x y"], stream=True, repeat_last=True))))
    mode.kickoff(team)
    token = add_stream_sink(sink)
    mode.kickoff(team)
    reset_stream_sinks(token)
    heard_of = list(events_seen)
    mode.kickoff(team)
    publish_stream_event(None, BaseEvent(type="mine"))
    assert events_seen == heard_of
    assert (events_seen[0], events_seen[-1], events_seen.count("llm_stream_chunk")) == (
        "crew_kickoff_started",
        "crew_kickoff_completed",
        2,
    )
