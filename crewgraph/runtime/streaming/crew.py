"""Watched runs of crews: as items, and in CrewAI's form as pieces of answers."""

from collections.abc import AsyncGenerator, Generator, Mapping
from typing import Any

from crewgraph.definitions.chunks import CrewStreamingOutput
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.run_options import DEFAULT_OPTIONS, RunOptions
from crewgraph.definitions.stream import StreamItem
from crewgraph.runtime.crew.kickoff import kicked_off
from crewgraph.runtime.streaming.crew_audience import CrewAudience
from crewgraph.runtime.streaming.watched import WatchedRun

__all__ = ["achunked", "astream", "chunked", "stream"]


def _watched(crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions) -> WatchedRun:
    audience = CrewAudience(crew)
    return WatchedRun(kicked_off(crew, inputs, options, audience), audience)


def stream(
    crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS
) -> Generator[StreamItem]:
    """Run a crew and report on it; see `Crew.stream`."""
    return _watched(crew, inputs, options).items()


def astream(
    crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS
) -> AsyncGenerator[StreamItem]:
    """Run a crew on this event loop and report on it; see `Crew.astream`."""
    return _watched(crew, inputs, options).aitems()


def chunked(crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS) -> CrewStreamingOutput:
    """What `kickoff` returns for a crew that streams."""
    return _watched(crew, inputs, options).chunks(CrewStreamingOutput)


def achunked(
    crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS
) -> CrewStreamingOutput:
    """What `akickoff` returns for a crew that streams."""
    return _watched(crew, inputs, options).achunks(CrewStreamingOutput)
