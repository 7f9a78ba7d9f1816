"""Spans of OpenTelemetry that user code opens below a run: a handler that has the spans of runs, as OpenInference's does."""

from typing import Any
from uuid import UUID

import pytest
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from modes import Mode
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crewgraph import ScriptedLLM, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task


class SpansOfRuns(BaseTracer):
    """A handler that makes a span of each run and leaves the current context alone."""

    def __init__(self, tracer: trace.Tracer) -> None:
        super().__init__()
        self._tracer, self._spans = tracer, dict[UUID, trace.Span]()

    def get_span(self, run_id: UUID) -> trace.Span | None:
        return self._spans.get(run_id)

    def _start_trace(self, run: Run) -> None:
        super()._start_trace(run)
        above = None if run.parent_run_id is None else self._spans.get(run.parent_run_id)
        context = None if above is None else trace.set_span_in_context(above)
        self._spans[run.id] = self._tracer.start_span(run.name, context=context)

    def _end_trace(self, run: Run) -> None:
        super()._end_trace(run)
        self._spans[run.id].end()

    def _persist_run(self, run: Run) -> None:
        """Keep nothing."""


class Backend:
    """Where spans arrive."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.tracer = provider.get_tracer("test")

    def above(self, name: str) -> list[str | None]:
        """The names of the spans above those with a name."""
        spans = self._spans.get_finished_spans()
        by_id = {self._id(span.context): span.name for span in spans}
        return [by_id.get(self._id(span.parent)) for span in spans if span.name == name]

    def _id(self, context: Any) -> int | None:
        return None if context is None else context.span_id


@pytest.fixture
def backend() -> Backend:
    return Backend()


def test_spans_in_tools_and_callbacks_nest_below_them(mode: Mode, backend: Backend):
    @tool
    def search() -> str:
        """Search."""
        with backend.tracer.start_as_current_span("SELECT"):
            return "found"

    def stepped(step: Any) -> None:
        with backend.tracer.start_as_current_span("stepped"):
            pass

    model = ScriptedLLM([ToolUse("search", {}), ToolUse("search", {}), "done"])
    one = crew(task("look", agent(model, "Clerk", tools=[search], step_callback=stepped, cache=False)))
    mode.kickoff(one, config={"callbacks": [SpansOfRuns(backend.tracer)]})
    assert backend.above("SELECT") == ["search", "search"]
    # A span cannot stay open across the steps of a graph.
    assert set(backend.above("stepped")) == {"Agent: Clerk" if mode.granularity == "task" else None}
    assert not trace.get_current_span().get_span_context().is_valid


def test_without_such_a_handler_spans_keep_what_is_around(mode: Mode, backend: Backend):
    @tool
    def search() -> str:
        """Search."""
        with backend.tracer.start_as_current_span("SELECT"):
            return "found"

    one = crew(task("look", agent(ScriptedLLM([ToolUse("search", {}), "done"]), tools=[search])))
    with backend.tracer.start_as_current_span("request"):
        mode.kickoff(one)
    assert backend.above("SELECT") == ["request"]
