"""CrewAI's console panels and event listener, used directly by programs."""

import contextvars
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from crewgraph_compat.stand_ins.console import listener as listening
from crewgraph_compat.stand_ins.console.formatter import ConsoleFormatter
from crewgraph_compat.stand_ins.console.listener import EventListener, MemoryListener
from crewgraph_compat.stand_ins.console.panels import set_suppress_console_output, should_suppress_console_output
from rich.console import Console
from rich.text import Text

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.events import MemorySaveFailedEvent, crewai_event_bus
from crewgraph.tools import tool
from crewgraph.tools.failure import ToolFailure, ToolFailureReason


@pytest.fixture(autouse=True)
def listened_for_each_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The listener of the process is another one for each test."""
    monkeypatch.setattr(EventListener, "_instance", None)
    with crewai_event_bus.scoped_handlers():
        yield


def shown(formatter: ConsoleFormatter) -> StringIO:
    into = StringIO()
    formatter.console = Console(file=into, width=80)
    return into


@tool
def depth(place: str) -> str:
    """Tells how deep the sea is."""
    return "11 m"


def office(**more: Any) -> Crew:
    llm = ScriptedLLM([ToolUse("depth", {"place": "bay"}), "deep"], repeat_last=True)
    pilot = Agent(role="Pilot", goal="g", backstory="b", llm=llm, tools=[depth])
    return Crew(agents=[pilot], tasks=[Task(description="d", expected_output="e", agent=pilot)], name="port", **more)


def test_a_formatter_prints_panels_where_it_is_verbose_or_about_a_flow():
    loud, quiet = ConsoleFormatter(verbose=True), ConsoleFormatter()
    said, stored = shown(loud), shown(quiet)
    for formatter in (loud, quiet):
        formatter.handle_crew_status("port", "7", "failed")
        formatter.print_panel(Text("the tide"), "Flow", is_flow=True)
    assert "Status: failed" in said.getvalue() and "the tide" in said.getvalue()
    assert "failed" not in stored.getvalue() and "the tide" in stored.getvalue()
    status = loud.create_status_content("Crew", "port", "green", tool_args={"a": 1}, ID="7").plain
    assert status == "Crew\nName: port\nID: 7\nTool Args: {'a': 1}\n"
    loud.handle_llm_stream_chunk("the ti")
    loud.handle_llm_stream_chunk("the tide rises")
    loud.handle_llm_stream_completed()
    loud.resume_live_updates()
    assert "the tide rises" in said.getvalue()


def test_uses_of_tools_are_counted_over_all_formatters():
    ConsoleFormatter.tool_usage_counts.clear()
    formatter = ConsoleFormatter(verbose=True)
    said = shown(formatter)
    ConsoleFormatter().handle_tool_usage_started("depth", {"place": "bay"})
    formatter.handle_tool_usage_started("depth", {"place": "bay"}, 1)
    assert ConsoleFormatter.tool_usage_counts == {"depth": 2} and "use 2" in said.getvalue()


def test_only_failures_that_nobody_reported_are_shown_as_such():
    raised, reported = (
        ToolFailure(message="x", reason=reason)
        for reason in (ToolFailureReason.EXCEPTION, ToolFailureReason.TOOL_REPORTED)
    )
    assert not ConsoleFormatter.should_render_failure_panel(raised)
    assert ConsoleFormatter.should_render_failure_panel(reported)
    assert not ConsoleFormatter.should_render_success_panel(reported)
    assert ConsoleFormatter.should_render_success_panel(None)


def test_every_method_prints_what_it_is_told():
    formatter = ConsoleFormatter(verbose=True)
    for name in dir(formatter):
        if name.startswith("handle_") and "stream" not in name:
            said = shown(formatter)
            method = getattr(formatter, name)
            names = method.__func__.__code__.co_varnames[1 : method.__func__.__code__.co_argcount]
            numbers = ("number", "count", "turns", "time_ms", "seconds", "attempt")
            shown_text = {one: 3 if one.endswith(numbers) or one.startswith("replan") else one for one in names}
            if "refinements" in shown_text:
                shown_text["refinements"] = ["anew"]
            method(**shown_text)
            assert "─" in said.getvalue(), name


def test_a_custom_formatter_is_told_about_runs(monkeypatch: pytest.MonkeyPatch):
    shown_text: list[Any] = []

    class Mine(ConsoleFormatter):
        def handle_crew_started(self, crew_name: str, source_id: str) -> None:
            shown_text.append(("crew", crew_name))

        def handle_tool_usage_finished(self, tool_name: str, output: str, run_attempts: int | None = None) -> None:
            shown_text.append((tool_name, output))

    event_listener = listening.event_listener
    assert EventListener() is event_listener and event_listener.formatter.verbose
    monkeypatch.setattr(event_listener, "formatter", Mine())
    office().kickoff()
    assert shown_text == [("crew", "port"), ("depth", "11 m")]


def test_a_patched_method_is_called_too(monkeypatch: pytest.MonkeyPatch):
    shown_text: list[Any] = []

    def patched(*given: Any) -> None:
        shown_text.append(given[2:4])

    monkeypatch.setattr(ConsoleFormatter, "handle_task_status", patched)
    assert listening.event_listener
    office().kickoff()
    assert shown_text == [("Pilot", "completed")]


def test_a_listener_for_memories_tells_a_formatter_of_its_own(monkeypatch: pytest.MonkeyPatch):
    class Mine(ConsoleFormatter):
        def handle_memory_save_failed(self, error: str, source_type: str) -> None:
            shown_text.append((error, source_type))

    shown_text: list[Any] = []
    MemoryListener(Mine())
    crewai_event_bus.emit(None, MemorySaveFailedEvent(error="full", source_type="short_term_memory"))
    assert shown_text == [("full", "short_term_memory")]


def test_nothing_of_a_context_that_is_to_be_quiet_comes_onto_the_console(capsys: pytest.CaptureFixture[str]):
    def quiet() -> None:
        set_suppress_console_output(True)
        assert should_suppress_console_output()
        ConsoleFormatter(verbose=True).handle_crew_started("port", "7")
        office(verbose=True).kickoff()

    contextvars.copy_context().run(quiet)
    assert capsys.readouterr().out == "" and not should_suppress_console_output()
    office(verbose=True).kickoff()
    assert "crew started" in capsys.readouterr().out
