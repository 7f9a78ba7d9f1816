"""The crew behind the server, and its run as server-sent events; nothing here knows of a web framework."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing

from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task

__all__ = ["crew_for", "events", "finish", "model"]


def crew_for(llm: BaseLLM) -> Crew:
    """From the notes of an incident to an update for customers."""
    commander = Agent(
        role="Incident commander",
        goal="Establish what happened, and when",
        backstory="You trust times and numbers, and leave guesses out.",
        llm=llm,
    )
    editor = Agent(
        role="Status page editor",
        goal="Tell customers what they need to know",
        backstory="You name the effect before the cause, and blame nobody.",
        llm=llm,
    )
    timeline = Task(
        name="timeline",
        description="Put these notes of an incident in order:\n\n{notes}",
        expected_output="A list with times in UTC",
        agent=commander,
    )
    update = Task(
        name="update",
        description="Write the update for the status page.",
        expected_output="At most 80 words, without names of people",
        agent=editor,
    )
    return Crew(name="updates", agents=[commander, editor], tasks=[timeline, update])


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply, stream=True)


async def events(notes: str) -> AsyncIterator[str]:
    """Run the crew, and tell of it as server-sent events; closing the iterator stops the run, which is kept."""
    try:
        async with aclosing(crew_for(model()).astream({"notes": notes})) as items:
            async for item in items:
                yield f"event: {item.kind}\ndata: {json.dumps(item.to_dict())}\n\n"
    except Exception as error:
        yield f"event: failed\ndata: {json.dumps({'error': type(error).__name__})}\n\n"
        raise


async def finish(thread_id: str) -> str:
    """Continue a run whose reader has left; what is on record is not asked for again."""
    return (await crew_for(model()).aresume(thread_id)).raw
