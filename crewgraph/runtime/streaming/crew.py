"""Streamed runs of crews: as items, or as CrewAI's chunks of answers."""

from collections.abc import AsyncGenerator, Generator

from crewgraph.definitions.chunks import CrewStreamingOutput
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.run_options import DEFAULT_OPTIONS, Inputs, RunOptions
from crewgraph.definitions.stream import StreamItem
from crewgraph.runtime.crew.kickoff import kickoff_program
from crewgraph.runtime.streaming.crew_audience import CrewAudience
from crewgraph.runtime.streaming.watched import WatchedRun

__all__ = ["acrew_chunks", "astream_crew", "crew_chunks", "stream_crew"]


def _watched(crew: CrewDefinition, inputs: Inputs | None, options: RunOptions) -> WatchedRun:
    audience = CrewAudience(crew)
    return WatchedRun(kickoff_program(crew, inputs, options, audience), audience)


def stream_crew(
    crew: CrewDefinition, inputs: Inputs | None, options: RunOptions = DEFAULT_OPTIONS
) -> Generator[StreamItem]:
    """Run a crew and yield its items; see `Crew.stream`."""
    return _watched(crew, inputs, options).items()


def astream_crew(
    crew: CrewDefinition, inputs: Inputs | None, options: RunOptions = DEFAULT_OPTIONS
) -> AsyncGenerator[StreamItem]:
    """Run a crew on this event loop and yield its items; see `Crew.astream`."""
    return _watched(crew, inputs, options).aitems()


def crew_chunks(
    crew: CrewDefinition, inputs: Inputs | None, options: RunOptions = DEFAULT_OPTIONS
) -> CrewStreamingOutput:
    """Return the output of `kickoff` for a crew with `stream=True`."""
    return _watched(crew, inputs, options).chunks(CrewStreamingOutput)


def acrew_chunks(
    crew: CrewDefinition, inputs: Inputs | None, options: RunOptions = DEFAULT_OPTIONS
) -> CrewStreamingOutput:
    """Return the output of `akickoff` for a crew with `stream=True`."""
    return _watched(crew, inputs, options).achunks(CrewStreamingOutput)
