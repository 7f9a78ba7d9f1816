"""What one hook redacts is redacted for every later hook, event, trace and record."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from modes import Mode

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.events import BaseEvent, crewai_event_bus
from crewgraph.flow import Flow, listen, persist, start
from crewgraph.hooks import HookAborted, InterceptionPoint, register_hook
from crewgraph.settings import storage_dir
from crewgraph.tools import tool
from hooks.sample_crew import act, crew_of, fin

POINT = InterceptionPoint
KEY = "LIVE-4711"


class Traces(BaseTracer):
    """Collects what the runs of a trace show."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def _persist_run(self, run: Run) -> None:
        self._note(run)

    def _note(self, run: Run) -> None:
        self.texts.append(f"{run.run_type} {run.name}: {run.inputs} {run.outputs} {run.error}")
        for child in run.child_runs:
            self._note(child)


class Seen:
    """What events, the trace, the log and the database show of a run."""

    def __init__(self, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
        self.traces, self.hooks = Traces(), list[str]()
        self._events: list[BaseEvent] = []
        self._capsys, self._caplog = capsys, caplog

    def of(self, work: Callable[[Any], object]) -> object:
        def note(_: Any, event: BaseEvent) -> None:
            self._events.append(event)

        with crewai_event_bus.scoped_handlers(), self._caplog.at_level(logging.DEBUG):
            crewai_event_bus.on(BaseEvent)(note)
            return work({"callbacks": [self.traces]})

    def leaks(self) -> list[str]:
        """The places that show the key."""
        found = [f"event {type(event).__name__}" for event in self._events if KEY in _dump(event)]
        found += [f"trace {text}" for text in self.traces.texts if KEY in text]
        found += [f"hook {text}" for text in self.hooks if KEY in text]
        output = self._capsys.readouterr()
        found += [f"console {line}" for line in (output.out + output.err).splitlines() if KEY in line]
        found += [f"log {line}" for line in self._caplog.text.splitlines() if KEY in line]
        files = [path for path in Path(storage_dir()).rglob("*") if path.is_file()]
        return found + [f"file {path.name}" for path in files if KEY.encode() in path.read_bytes()]


def _dump(event: BaseEvent) -> str:
    return f"{event.model_dump_json(fallback=str)} {vars(event)}"


@pytest.fixture
def seen(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Seen:
    return Seen(capsys, caplog)


@tool("read_account")
def read_account(owner: str) -> str:
    """Read an account."""
    return f"the key of {owner} is {'-'.join(['LIVE', '4711'])}"


def redact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: redact(item) for name, item in cast("dict[str, Any]", value).items()}
    return value.replace(KEY, "[key]") if isinstance(value, str) else value


def replacing(field: str) -> Callable[[Any], Any]:
    return lambda context: redact(getattr(context, field))


def crew_that(*script: Any, **options: Any) -> Crew:
    return crew_of(ScriptedLLM([*script], native_tools=options.pop("native", False)), read_account, **options)


@pytest.mark.parametrize("point", [POINT.EXECUTION_START, POINT.INPUT])
def test_redacted_inputs_of_a_crew(mode: Mode, seen: Seen, tmp_path: Path, point: InterceptionPoint):
    register_hook(point, replacing("payload"))
    register_hook(POINT.INPUT, lambda context: seen.hooks.append(str(context.inputs)))
    crew = crew_that(fin("six"), verbose=True, output_log_file=str(tmp_path / "log.txt"))
    crew.tasks[0].description = "When is high tide for {key}?"
    seen.of(lambda config: mode.kickoff(crew, {"key": KEY}, thread_id="t", config=config))
    assert "[key]" in crew.agents[0].llm.requests[0].text
    assert seen.leaks() == []
    assert KEY not in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize("how", ["deny", "missing input", "before_kickoff"])
def test_redacted_inputs_of_a_crew_that_does_not_start(mode: Mode, seen: Seen, how: str):
    def deny(_: Any) -> None:
        raise HookAborted("no")

    crew = crew_that(verbose=True)
    if how == "before_kickoff":
        crew.before_kickoff_callbacks.append(redact)
    else:
        register_hook(POINT.EXECUTION_START, replacing("payload"))
    if how == "missing input":
        crew.tasks[0].description = "When for {key} and {other}?"
    else:
        register_hook(POINT.INPUT, deny)
    with pytest.raises((HookAborted, KeyError)):
        seen.of(lambda config: mode.kickoff(crew, {"key": KEY}, config=config))
    assert seen.leaks() == []


class Account(Flow[Any]):
    @start()
    def first(self) -> str:
        return f"read {self.state['key']}"

    @listen(first)
    def second(self, text: str) -> str:
        return f"{text}, {self.state['key']}"


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_redacted_inputs_of_a_flow(seen: Seen, asynchronous: bool, denied: bool, stored: bool):
    def deny(_: Any) -> None:
        raise HookAborted("no")

    register_hook(POINT.EXECUTION_START, replacing("payload"))
    if denied:
        register_hook(POINT.INPUT, deny)
    flow = (persist(type("Stored", (Account,), {})) if stored else Account)()
    inputs = {"key": KEY}

    def kickoff(config: Any) -> object:
        if asynchronous:
            return asyncio.run(flow.akickoff(inputs, config=config))
        return flow.kickoff(inputs, config=config)

    if denied:
        with pytest.raises(HookAborted):
            seen.of(kickoff)
    else:
        assert seen.of(kickoff) == "read [key], [key]"
    assert seen.leaks() == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_redacted_arguments_and_results_of_a_method(seen: Seen, asynchronous: bool):
    class Tides(Flow[Any]):
        @start()
        def first(self) -> str:
            return f"low {'-'.join(['LIVE', '4711'])}"

        @listen(first)
        def second(self, text: str) -> str:
            return f"{text}!"

    def after(context: Any) -> Any:
        return redact(context.payload) if context.step_name == "first" else None

    register_hook(POINT.POST_STEP, after)
    register_hook(POINT.PRE_STEP, lambda context: seen.hooks.append(str(context.payload)))
    flow = persist(Tides)()

    def run(config: Any) -> object:
        return asyncio.run(flow.akickoff(config=config)) if asynchronous else flow.kickoff(config=config)

    assert seen.of(run) == "low [key]!"
    assert seen.leaks() == []


def test_redacted_arguments_of_a_method_are_all_that_its_event_and_its_trace_show(seen: Seen):
    register_hook(POINT.PRE_STEP, replacing("payload"))

    class Tides(Flow[Any]):
        @start()
        def first(self, key: str) -> str:
            return f"low {key}"

    flow = Tides()
    with crewai_event_bus.scoped_handlers():
        assert flow.kickoff({"key": KEY}) == "low [key]"

    def shown(config: Any) -> object:
        return flow.kickoff({"key": KEY}, config=config)

    seen.of(shown)
    method = [text for text in seen.traces.texts if " first:" in text]
    assert method and not any(KEY in text.split("first:")[1].split("state")[0] for text in method)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_redacted_results_of_a_tool(mode: Mode, seen: Seen, native: bool, fails: bool):
    if fails:

        @tool("read_account")
        def read(owner: str) -> str:
            """Read an account."""
            raise ValueError(f"no account {'-'.join(['LIVE', '4711'])}")
    else:
        read = read_account
    register_hook(POINT.POST_TOOL_CALL, lambda context: setattr(context, "tool_result", redact(context.tool_result)))
    register_hook(POINT.POST_TOOL_CALL, lambda context: seen.hooks.append(str(context.tool_result)))
    call: Any = [ToolUse("read_account", {"owner": "Ann"})] if native else act("read_account", owner="Ann")
    llm = ScriptedLLM([call, "six" if native else fin("six")], native_tools=native)
    seen.of(lambda config: mode.kickoff(crew_of(llm, read, verbose=True), thread_id="t", config=config))
    assert "[key]" in llm.requests[-1].text and KEY not in llm.requests[-1].text
    leaks = [leak for leak in seen.leaks() if not fails or not leak.startswith(("trace", "log"))]
    assert leaks == []


@pytest.mark.parametrize("blocked", [False, True])
def test_redacted_arguments_of_a_tool(mode: Mode, seen: Seen, blocked: bool):
    def change(context: Any) -> None:
        context.tool_input["owner"] = "[key]"

    register_hook(POINT.PRE_TOOL_CALL, change)
    if blocked:
        register_hook(POINT.PRE_TOOL_CALL, lambda _: False)
    crew = crew_that(act("read_account", owner="Ann"), fin("six"))
    events: list[Any] = []

    def note(_: Any, event: BaseEvent) -> None:
        events.append(event)

    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(BaseEvent)(note)
        mode.kickoff(crew)
    shown = [event.tool_args for event in events if type(event).__name__.startswith("ToolUsage")]
    assert shown == [{"owner": "[key]"}] * 2


def test_redacted_messages_and_answers_of_a_model(mode: Mode, seen: Seen):
    def messages(context: Any) -> None:
        for message in context.messages:
            message["content"] = redact(message["content"])

    register_hook(POINT.PRE_MODEL_CALL, messages)
    register_hook(POINT.PRE_MODEL_CALL, lambda context: seen.hooks.append(str(context.messages)))
    register_hook(POINT.POST_MODEL_CALL, replacing_response)
    register_hook(POINT.POST_MODEL_CALL, lambda context: seen.hooks.append(str(context.response)))
    crew = crew_that(fin(f"the key is {KEY}"), verbose=True)
    result: Any = seen.of(lambda config: mode.kickoff(crew, thread_id="t", config=config))
    assert result.raw == "the key is [key]"
    assert [leak for leak in seen.leaks() if not leak.startswith("trace llm")] == []


def replacing_response(context: Any) -> None:
    context.response = redact(context.response)


def test_a_redacted_context_of_a_task(mode: Mode):
    register_hook(POINT.PRE_STEP, replacing("payload"))
    crew = crew_that(fin(f"the key is {KEY}"), fin("seven"))
    crew.tasks.append(crew.tasks[0].model_copy(update={"name": "then", "context": [crew.tasks[0]]}))
    contexts: list[Any] = []

    def note(_: Any, event: BaseEvent) -> None:
        contexts.append(getattr(event, "context", None) or "")

    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(BaseEvent)(note)
        mode.kickoff(crew)
    assert not any(KEY in context for context in contexts)
    assert "[key]" in crew.agents[0].llm.requests[1].text and KEY not in crew.agents[0].llm.requests[1].text


def test_a_redacted_output_is_what_memories_keep(mode: Mode, tmp_path: Path):
    saved: list[str] = []

    class Recorder:
        def save(self, value: Any, metadata: Any = None, **_: Any) -> None:
            saved.append(str(value))

        def search(self, *_: Any, **__: Any) -> list[Any]:
            return []

        def reset(self) -> None: ...

    from crewgraph.memory.kinds import ShortTermMemory

    register_hook(POINT.POST_STEP, lambda context: setattr(context.output, "raw", redact(context.output.raw)))
    down = ConnectionError("no entities")
    crew = crew_that(fin(f"the key is {KEY}"), down, short_term_memory=ShortTermMemory(storage=Recorder()), memory=True)
    mode.kickoff(crew)
    assert saved and not any(KEY in text for text in saved)
