import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from crewgraph import events
from crewgraph.events import BaseEvent, EventBus
from crewgraph.observe.console import ConsoleListener

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RESEARCHER = SimpleNamespace(id="a1", role="Researcher")
RESEARCH = SimpleNamespace(
    id="t1", name="research", description="List ten findings.", agent=RESEARCHER, guardrail_max_retries=2
)
PRICES = SimpleNamespace(id="t2", name="prices", description="Look up prices.", agent=RESEARCHER)
CREW = SimpleNamespace(id="c", name="Market research")
USAGE = SimpleNamespace(prompt_tokens=1000, completion_tokens=234, successful_requests=3)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "72")


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def printed_lines(*emitted: BaseEvent, shows: Callable[[Any, BaseEvent], bool] | None = None) -> list[str]:
    """Return the lines printed to a stream that is not a terminal."""
    stream = io.StringIO()
    bus = EventBus()
    listener = ConsoleListener(stream=stream, shows=shows)
    listener.attach(bus)
    for event in emitted:
        bus.emit(None, event)
    listener.detach()
    return stream.getvalue().splitlines()


def a_run() -> Iterator[BaseEvent]:
    yield events.CrewKickoffStartedEvent(
        timestamp=at(0), crew=CREW, inputs={"topic": "AI", "limit": 3}, thread_id="3f2a"
    )
    yield events.TaskStartedEvent(timestamp=at(0.1), task=RESEARCH, context=None)
    yield events.AgentExecutionStartedEvent(
        timestamp=at(0.1), agent=RESEARCHER, task=RESEARCH, tools=None, task_prompt="secret prompt"
    )
    yield events.AgentStepEvent(agent=RESEARCHER, task=RESEARCH, step={"thought": "I should\nsearch."}, iteration=1)
    yield events.ToolUsageStartedEvent(tool_name="search", tool_args={"query": "AI", "limit": 3}, from_task=RESEARCH)
    yield events.ToolUsageFinishedEvent(
        tool_name="search", tool_args={}, from_task=RESEARCH, started_at=at(1), finished_at=at(1.8), output="12 hits"
    )
    yield events.LLMGuardrailCompletedEvent(
        success=False, result=None, error="Only 8 findings.", retry_count=0, from_task=RESEARCH
    )
    yield events.LLMGuardrailCompletedEvent(success=True, result="x", retry_count=1, from_task=RESEARCH)
    yield events.TaskCompletedEvent(timestamp=at(4.3), task=RESEARCH, output=SimpleNamespace(raw="Ten findings."))
    output = SimpleNamespace(raw="# Report\n\nTen findings.", token_usage=USAGE)
    yield events.CrewKickoffCompletedEvent(timestamp=at(125), crew=CREW, output=output, total_tokens=1234)


def test_a_run_is_reported_in_plain_lines_without_a_terminal():
    assert printed_lines(*a_run()) == [
        '[Market research] crew started on thread 3f2a: topic="AI", limit=3',
        "[research] task started: List ten findings.",
        "[research] agent started: Researcher",
        "[research] thought 1: I should search.",
        '[research] tool call: search(query="AI", limit=3)',
        "[research] tool search returned (800 ms): 12 hits",
        "[research] guardrail blocked (attempt 1/3): Only 8 findings.",
        "[research] guardrail passed (attempt 2/3)",
        "[research] task completed (4.2 s): Ten findings.",
        "[Market research] crew completed (2 min 05 s): 1,234 tokens (1,000 in, 234 out, 3 requests)",
        "[Market research] | # Report",
        "[Market research] |",
        "[Market research] | Ten findings.",
    ]


ONE_LINE: list[tuple[BaseEvent, str]] = [
    (events.CrewKickoffFailedEvent(crew=CREW, error="No model."), "[Market research] crew failed: No model."),
    (
        events.CrewTrainStartedEvent(crew=CREW, n_iterations=2, filename="x.json", inputs=None),
        "[Market research] training started: 2 rounds, saved to x.json",
    ),
    (
        events.CrewTestResultEvent(crew=CREW, quality=8.5, execution_duration=2.0, model="gpt-4o"),
        "[Market research] test result (2.0 s): 8.5 of 10, scored by gpt-4o",
    ),
    (events.TaskFailedEvent(task=PRICES, error="No prices."), "[prices] task failed: No prices."),
    (
        events.LiteAgentExecutionStartedEvent(agent_info={"role": "Solo"}, tools=None, messages="hi"),
        "[Solo] agent started",
    ),
    (
        events.AgentReasoningCompletedEvent(from_task=PRICES, plan="First\nask.", ready=True),
        "[prices] plan: First ask.",
    ),
    (events.LLMCallFailedEvent(error="429", from_agent=RESEARCHER), "[Researcher] model call failed: 429"),
    (events.ToolUsageStartedEvent(tool_name="ask", tool_args="not json"), "[run] tool call: ask(not json)"),
    (
        events.ToolUsageFinishedEvent(
            tool_name="ask", tool_args={}, started_at=BEGIN, finished_at=BEGIN, from_cache=True, output={"a": [1]}
        ),
        '[run] tool ask returned from cache: {"a": [1]}',
    ),
    (
        events.ToolUsageErrorEvent(tool_name="ask", tool_args={}, error=ValueError("no")),
        "[run] tool ask failed: ValueError: no",
    ),
    (events.MemorySaveFailedEvent(error="Full.", from_task=PRICES), "[prices] memory failed: Full."),
    (events.KnowledgeQueryFailedEvent(error="No."), "[run] knowledge failed: No."),
    (events.FlowStartedEvent(flow_name="F", inputs={"id": "x"}), '[F] flow started: id="x"'),
    (
        events.CrewKickoffPausedEvent(crew_name="desk", thread_id="t", output=None),
        "[desk] crew paused for input: resume('t', ...)",
    ),
    (
        events.HumanInputRequestedEvent(
            kind="approval", message="May it?", tool_name="pay", tool_args={"to": "anna"}, task_name="post"
        ),
        '[post] input requested: allow pay(to="anna")?',
    ),
    (
        events.HumanInputReceivedEvent(
            kind="approval", message="May it?", tool_name="pay", answer="no", task_name="post"
        ),
        "[post] input received: no",
    ),
    (
        events.MethodExecutionFinishedEvent(flow_name="F", method_name="m", state={}, result={"a": 1}),
        '[F.m] method finished: {"a": 1}',
    ),
    (
        events.MethodExecutionPausedEvent(
            flow_name="F", method_name="m", state={}, flow_id="7", message="Good?", emit=["yes", "no"]
        ),
        "[F.m] method paused for input: Good? (yes, no)",
    ),
    (
        events.FlowInputReceivedEvent(flow_name="F", method_name="m", message="Who?", response="Anna"),
        "[F.m] input received: Anna",
    ),
    (events.FlowFailedEvent(flow_name="F", error=OSError("waves")), "[F] flow failed: OSError: waves"),
]


@pytest.mark.parametrize(("event", "line"), ONE_LINE, ids=lambda one: getattr(one, "type", None))
def test_an_event_is_one_line(event: BaseEvent, line: str):
    assert printed_lines(event) == [line]


def test_what_is_not_worth_a_line_is_not_printed():
    assert (
        printed_lines(
            events.LLMStreamChunkEvent(chunk="a"),
            events.LLMCallStartedEvent(),
            events.MemorySaveCompletedEvent(value="v", save_time_ms=1.0),
            events.LLMGuardrailCompletedEvent(success=True, result="x", retry_count=0),
            events.AgentStepEvent(agent=RESEARCHER, task=PRICES, step=SimpleNamespace(thought=""), iteration=1),
        )
        == []
    )


def test_nobody_is_asked_to_make_events_that_are_not_shown():
    bus = EventBus()
    listener = ConsoleListener(stream=io.StringIO())
    listener.attach(bus)
    assert bus.wants(events.TaskStartedEvent)
    assert not bus.wants(events.LLMStreamChunkEvent)
    assert not bus.wants(events.LLMCallStartedEvent)
    listener.detach()
    listener.detach()
    assert not bus.wants(events.TaskStartedEvent)


def test_only_what_is_to_be_shown_is_shown():
    assert printed_lines(
        events.TaskFailedEvent(task=PRICES, error="No."),
        events.TaskFailedEvent(task=RESEARCH, error="No."),
        shows=lambda _, event: event.task_name == "prices",
    ) == ["[prices] task failed: No."]


def test_a_long_text_says_how_much_is_cut():
    event = events.ToolUsageErrorEvent(tool_name="t", tool_args={}, error="x" * 1534)
    assert printed_lines(event) == [f"[run] tool t failed: {'x' * 300} ... [+1,234 characters]"]
    line = "y" * 99 + "\n"
    body = printed_lines(events.FlowFinishedEvent(flow_name="F", result=line * 100))
    assert len(body) == 1 + 40
    assert body[-1] == f"[F] | {'y' * 99} ... [+5,999 characters]"


# What must not happen


def test_secrets_of_the_environment_are_covered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter2")
    monkeypatch.setenv("SHORT_TOKEN", "yes")
    monkeypatch.setenv("KEYBOARD", "qwertyuiop")
    error = "Incorrect key sk-1234567890 or hunter2hunter2; yes, qwertyuiop"
    assert printed_lines(events.LLMCallFailedEvent(error=error)) == [
        "[run] model call failed: Incorrect key *** or ***; yes, qwertyuiop"
    ]


def test_arguments_named_like_secrets_are_covered():
    values = {
        "api_key": "a", "apiKey": "b", "Authorization": "c", "user": {"password": "d", "name": "ada"},
        "max_tokens": 5, "token": "e",
    }  # fmt: skip
    assert printed_lines(events.ToolUsageStartedEvent(tool_name="t", tool_args=values)) == [
        '[run] tool call: t(api_key="***", apiKey="***", Authorization="***", '
        'user={"password": "***", "name": "ada"}, max_tokens=5, token="***")'
    ]


def test_control_characters_are_shown_and_not_executed():
    nasty = "a\x1b[2Jb\rc\x07d\u202ee\x9bf\udcffg\ttab\r\nnext"
    assert printed_lines(events.FlowFinishedEvent(flow_name="F", result=nasty))[1:] == [
        "[F] | a\\x1b[2Jb\\rc\\x07d\\u202ee\\x9bf\\udcffg\ttab",
        "[F] | next",
    ]


def test_what_a_stream_cannot_encode_is_written_in_escapes():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    bus = EventBus()
    ConsoleListener(stream=stream).attach(bus)
    bus.emit(None, events.FlowFinishedEvent(flow_name="Flöw", result="日本"))
    assert raw.getvalue() == "[Flöw] flow finished\n[Flöw] | \\u65e5\\u672c\n".encode("latin-1")


def test_a_console_that_is_gone_is_reported_once_and_the_next_one_is_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    reader, writer = os.pipe()
    os.close(reader)
    bus = EventBus()
    ConsoleListener().attach(bus)
    closed = io.StringIO()
    closed.close()
    broken = open(writer, "w", closefd=False)  # noqa: SIM115
    for gone in (broken, closed, None):
        monkeypatch.setattr("sys.stdout", gone)
        bus.emit(None, events.FlowFinishedEvent(flow_name="F"))
        bus.emit(None, events.FlowFinishedEvent(flow_name="F"))
    with pytest.raises(BrokenPipeError):
        broken.close()  # since Python 3.13 the collector reports that a file could not be closed
    os.close(writer)
    monkeypatch.setattr("sys.stdout", next_one := io.StringIO())
    bus.emit(None, events.FlowFinishedEvent(flow_name="F"))
    assert next_one.getvalue() == "[F] flow finished\n"
    shown = "the events of the run cannot be shown any longer, the run continues: "
    assert caplog.messages == [f"{shown}[Errno 32] Broken pipe", f"{shown}I/O operation on closed file"]


def test_lines_of_parallel_tasks_are_never_torn():
    stream, bus = io.StringIO(), EventBus()
    ConsoleListener(stream=stream).attach(bus)

    def work(n: int) -> None:
        for _ in range(50):
            bus.emit(None, events.FlowFinishedEvent(flow_name=f"F{n}", result="one\ntwo"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    blocks = [tuple(lines[i : i + 3]) for i in range(0, len(lines), 3)]
    assert len(blocks) == 400
    assert set(blocks) == {(f"[F{n}] flow finished", f"[F{n}] | one", f"[F{n}] | two") for n in range(8)}


# On a terminal


on_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


def terminal_output(*emitted: BaseEvent, encoding: str = "utf-8") -> str:
    """Return the output on a terminal."""
    upper, lower = os.openpty()
    with open(lower, "w", encoding=encoding) as stream:
        bus = EventBus()
        ConsoleListener(stream=stream).attach(bus)
        for event in emitted:
            bus.emit(None, event)
        stream.write("<end>")
        stream.flush()
        output = b""
        while not output.endswith(b"<end>"):
            output += os.read(upper, 1 << 16)
    os.close(upper)
    return output.decode(encoding).removesuffix("<end>").replace("\r\n", "\n")


@on_a_terminal
def test_a_run_is_laid_out_in_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal_output(*a_run()) == (
        'Market research      │ ▸ crew started on thread 3f2a  topic="AI",\n'
        "                     │   limit=3\n"
        "research             │ ▸ task started  List ten findings.\n"
        "research             │ · agent started  Researcher\n"
        "research             │ · thought 1  I should search.\n"
        'research             │ · tool call  search(query="AI", limit=3)\n'
        "research             │ · tool search returned (800 ms)  12 hits\n"
        "research             │ ! guardrail blocked (attempt 1/3)  Only 8\n"
        "                     │   findings.\n"
        "research             │ · guardrail passed (attempt 2/3)\n"
        "research             │ ✓ task completed (4.2 s)  Ten findings.\n"
        "Market research      │ ✓ crew completed (2 min 05 s)  1,234 tokens\n"
        "                     │   (1,000 in, 234 out, 3 requests)\n"
        "                     │   # Report\n"
        "                     │\n"
        "                     │   Ten findings.\n"
    )


@on_a_terminal
def test_every_task_has_a_color_and_no_markup_is_interpreted():
    output = terminal_output(
        events.TaskFailedEvent(task=PRICES, error="[red]no[/red] :smile:"),
        events.TaskFailedEvent(task=RESEARCH, error="no"),
        events.TaskFailedEvent(task=PRICES, error="no"),
    )
    name = "\x1b[{}m{:20}\x1b[0m \x1b[2m│\x1b[0m \x1b[31m✗\x1b[0m \x1b[31mtask failed\x1b[0m  "
    assert output.splitlines() == [
        name.format(36, "prices") + "[red]no[/red] :smile:",
        name.format(35, "research") + "no",
        name.format(36, "prices") + "no",
    ]


@on_a_terminal
def test_wide_characters_keep_the_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    task = SimpleNamespace(id="t", name="市场研究任务市场研究任务", description="市场研究" * 10)
    assert terminal_output(events.TaskStartedEvent(task=task, context=None)) == (
        "市场研究任务市场研 … │ ▸ task started\n"
        "                     │   市场研究市场研究市场研究市场研究市场研究市场研\n"
        "                     │   究市场研究市场研究市场研究市场研究\n"
    )


@on_a_terminal
def test_a_terminal_without_unicode_gets_ascii(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    output = terminal_output(events.TaskFailedEvent(task=PRICES, error="日"), encoding="latin-1")
    assert output == "prices               | x task failed  \\u65e5\n"
