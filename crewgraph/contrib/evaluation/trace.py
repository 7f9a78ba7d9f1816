"""Collects traces of what agents do from events, for evaluators."""

import json
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, cast

from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.events import (
    AgentExecutionCompletedEvent,
    AgentExecutionStartedEvent,
    AgentStepEvent,
    BaseEvent,
    BaseEventListener,
    LiteAgentExecutionCompletedEvent,
    LiteAgentExecutionStartedEvent,
    LLMCallCompletedEvent,
    LLMCallStartedEvent,
    TaskCompletedEvent,
    TaskFailedEvent,
    TaskStartedEvent,
    ToolExecutionErrorEvent,
    ToolSelectionErrorEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolValidateInputErrorEvent,
)
from crewgraph.events.base import brief
from crewgraph.events.bus import EventBus, is_replaying
from crewgraph.schema import PlainMapping

__all__ = ["LITE_TASK", "EvaluationTraceCallback", "create_evaluation_callbacks"]

LITE_TASK = "lite_task"
"""Task id of traces of agents that run without a task."""

_Trace = dict[str, Any]

_MAX_TRACES = 256  # bounds the memory of long-running processes

_OPEN: ContextVar[Mapping[str, _Trace]] = ContextVar("crewgraph_evaluation_traces")
"""Traces of the current context by agent and task; parallel runs may share agents and tasks."""

_BEGUN: ContextVar[frozenset[str]] = ContextVar("crewgraph_evaluation_tasks", default=frozenset())
"""Ids of the tasks that have started in the current context and not ended."""

_TRANSIENT = ("asking", "unstepped", "stepped")  # keys of a trace only while it is open


class EvaluationTraceCallback(BaseEventListener):
    """Singleton that traces what each agent does for each task, from its first construction on.

    All attempts at a task, including retries after a guardrail, form one trace.

    A trace is a dict: `agent_id`, `task_id` ("lite_task" without a task), `asked` (the messages, without a task), `tool_uses`,
    `llm_calls`, `start_time`, and once the agent has finished `end_time` and `final_output`. Times are UTC.
    """

    _instance: "EvaluationTraceCallback | None" = None

    def __new__(cls) -> "EvaluationTraceCallback":
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance._begin()
        return cls._instance

    def _begin(self) -> None:
        self.traces: dict[str, _Trace] = {}
        """The latest trace of each agent and task, by "agent_task"; the last 256."""
        self.current_agent_id: object = None
        self.current_task_id: object = None
        self.current_llm_call: dict[str, object] = {}
        self._handlers = (
            (TaskStartedEvent, self._task_started),
            (TaskCompletedEvent, self._task_ended),
            (TaskFailedEvent, self._task_ended),
            (AgentExecutionStartedEvent, self._agent_started),
            (AgentExecutionCompletedEvent, self._agent_ended),
            (AgentStepEvent, self._step_finished),
            (LiteAgentExecutionStartedEvent, self._lite_started),
            (LiteAgentExecutionCompletedEvent, self._lite_ended),
            (LLMCallStartedEvent, self._llm_call_started),
            (LLMCallCompletedEvent, self._llm_call_completed),
            (ToolUsageFinishedEvent, self._tool_finished),
            (ToolUsageErrorEvent, self._tool_failed),
            (ToolExecutionErrorEvent, self._tool_failed),
            (ToolSelectionErrorEvent, self._tool_failed),
            (ToolValidateInputErrorEvent, self._tool_failed),
        )

    def setup_listeners(self, event_bus: EventBus) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - CrewAI's name
        """Register the listeners, which also works in a scope of handlers opened later."""
        for event, handler in self._handlers:
            event_bus.register_handler(event, handler, alone=True)

    def get_trace(self, agent_id: object, task_id: Any) -> _Trace | None:
        """Return the latest trace of an agent and a task, or None."""
        return self.traces.get(_key(agent_id, task_id))

    def trace_of(self, event: BaseEvent) -> _Trace | None:
        """Return the trace that an event belongs to, or None."""
        key = _key(event.agent_id, event.task_id or LITE_TASK)
        return _OPEN.get({}).get(key) or self.traces.get(key)

    # Methods for manual use; they apply to the agent that started last.

    def on_agent_start(self, agent: Any, task: Any) -> None:
        """Open a trace for an agent's work on a task."""
        self._open(agent.id, task.id)

    def on_agent_finish(self, agent: Any, task: Any, output: object) -> None:
        """Close the trace of an agent's work on a task."""
        self._close(self.get_trace(agent.id, task.id), output)

    def on_lite_agent_start(self, agent_info: Mapping[str, object]) -> None:
        """Open a trace for an agent without a task."""
        self._open(agent_info["id"], LITE_TASK)

    def on_lite_agent_finish(self, output: object) -> None:
        """Close the trace of an agent without a task."""
        self._close(self._current(), output)

    def on_tool_use(
        self,
        tool_name: str,
        tool_args: PlainMapping | str,
        result: Any,
        success: bool = True,
        error_type: str | None = None,
    ) -> None:
        """Record a tool call."""
        _record_tool_use(self._current(), tool_name, tool_args, result, success, error_type)

    def on_llm_call_start(self, messages: object, tools: Sequence[PlainMapping] | None = None) -> None:
        """Record the start of a model call."""
        if self._current() is not None:
            self.current_llm_call = _call(messages, tools)

    def on_llm_call_end(self, messages: object, response: object) -> None:
        """Record the end of a model call."""
        _record_llm_call(self._current(), self.current_llm_call, messages, response, _tokens(response))
        self.current_llm_call = {}

    # Event handlers; they apply to the agent of the event.

    def _task_started(self, source: object, event: TaskStartedEvent) -> None:
        if not is_replaying():
            # A resumed run emits all events of the task again.
            _OPEN.set({key: trace for key, trace in _OPEN.get({}).items() if str(trace["task_id"]) != event.task_id})
            _BEGUN.set(_BEGUN.get() | {str(event.task_id)})

    def _task_ended(self, source: object, event: TaskCompletedEvent | TaskFailedEvent) -> None:
        _BEGUN.set(_BEGUN.get() - {str(event.task_id)})
        traces = (_OPEN.get({}), self.traces.copy())
        matches = ([trace for trace in group.values() if str(trace["task_id"]) == event.task_id] for group in traces)
        for trace in next(filter(None, matches), ()):
            trace.pop("goes_on", None)

    def _agent_started(self, source: object, event: AgentExecutionStartedEvent) -> None:
        if is_replaying():
            return
        agent, task = event.agent_id, event.task_id or LITE_TASK
        trace = _OPEN.get({}).get(_key(agent, task))
        if trace is None and task not in _BEGUN.get():
            trace = self.traces.get(_key(agent, task))  # each step of a graph runs in its own context
        if trace is None or "goes_on" not in trace:
            trace = self._open(agent, task)
            if task in _BEGUN.get():
                trace["goes_on"] = True
            return
        for key in ("end_time", *_TRANSIENT):
            trace.pop(key, None)
        trace.update(final_output=None, unstepped=[], stepped=(None, len(trace["llm_calls"])))
        self.current_agent_id, self.current_task_id = agent, task

    def _agent_ended(self, source: object, event: AgentExecutionCompletedEvent) -> None:
        self._close(self.trace_of(event), event.output)

    def _lite_started(self, source: object, event: LiteAgentExecutionStartedEvent) -> None:
        if not is_replaying():
            self._open(event.agent_id, LITE_TASK)["asked"] = event.messages

    def _lite_ended(self, source: object, event: LiteAgentExecutionCompletedEvent) -> None:
        key, trace = _key(event.agent_id, LITE_TASK), self.trace_of(event)
        self._close(trace, event.output)
        if trace is not None:
            self.traces[key] = trace
        _OPEN.set({name: item for name, item in _OPEN.get({}).items() if name != key})

    def _llm_call_started(self, source: object, event: LLMCallStartedEvent) -> None:
        if (trace := self.trace_of(event)) is not None:
            trace["asking"] = {**trace.get("asking", {}), event.call_id: _call(event.messages, event.tools)}

    def _llm_call_completed(self, source: object, event: LLMCallCompletedEvent) -> None:
        if (trace := self.trace_of(event)) is not None:
            open_calls = trace.pop("asking", {})
            call = open_calls.pop(event.call_id, {})
            if open_calls:
                trace["asking"] = open_calls
            tokens = int((event.usage or {}).get("total_tokens") or 0)
            _record_llm_call(trace, call, event.messages, event.response, tokens)

    def _step_finished(self, source: object, event: AgentStepEvent) -> None:
        # A resumed run emits its steps again, but not the model and tool calls that are answered from its journal.
        if (trace := self.trace_of(event)) is None or "unstepped" not in trace:
            return
        step, number = event.step, event.iteration
        # Iterations restart at 1 after an answer; several tool calls of one reply share an iteration.
        last_number, call_count = trace.get("stepped", (None, 0))
        if number != last_number and len(trace["llm_calls"]) == call_count:
            _record_llm_call(trace, {}, None, step.text, 0)
        if isinstance(step, AgentAction):
            if _plain(step.tool) not in trace["unstepped"]:
                error = "usage_error" if step.failed else None
                _record_tool_use(trace, step.tool, _arguments(step.tool_input), step.result, not step.failed, error)
            trace["unstepped"].remove(_plain(step.tool))
        trace["stepped"] = (None if isinstance(step, AgentFinish) else number, len(trace["llm_calls"]))

    def _tool_finished(self, source: object, event: ToolUsageFinishedEvent) -> None:
        failed = event.failure is not None
        _record_tool_use(
            self.trace_of(event),
            event.tool_name,
            event.tool_args,
            event.output,
            not failed,
            "tool_failure" if failed else None,
        )

    def _tool_failed(self, source: object, event: Any) -> None:
        _record_tool_use(
            self.trace_of(event), event.tool_name, event.tool_args, brief(event.error), False, _FAILURES[type(event)]
        )

    def _open(self, agent_id: object, task_id: Any) -> _Trace:
        trace: _Trace = {
            "agent_id": agent_id,
            "task_id": task_id,
            "tool_uses": [],
            "llm_calls": [],
            "start_time": _now(),
            "final_output": None,
            "unstepped": [],
        }
        key = _key(agent_id, task_id)
        self.traces.pop(key, None)
        self.traces[key] = trace
        while len(self.traces) > _MAX_TRACES:
            self.traces.pop(next(iter(self.traces)), None)
        _OPEN.set({**_OPEN.get({}), key: trace})
        self.current_agent_id, self.current_task_id = agent_id, task_id
        return trace

    def _close(self, trace: _Trace | None, output: object) -> None:
        if trace is not None:
            trace["final_output"], trace["end_time"] = output, _now()
            for key in _TRANSIENT:
                trace.pop(key, None)
            if trace is self._current():
                self.current_agent_id = self.current_task_id = None
                self.current_llm_call = {}

    def _current(self) -> _Trace | None:
        return self.get_trace(self.current_agent_id, self.current_task_id)


_FAILURES: dict[type[BaseEvent], str] = {
    ToolUsageErrorEvent: "usage_error",
    ToolExecutionErrorEvent: "execution_error",
    ToolSelectionErrorEvent: "selection_error",
    ToolValidateInputErrorEvent: "validation_error",
}


def create_evaluation_callbacks() -> EvaluationTraceCallback:
    """Return the trace callback, which is the same object each time."""
    return EvaluationTraceCallback()


def _key(agent_id: object, task_id: Any) -> str:
    return f"{agent_id}_{task_id}"


def _now() -> datetime:
    return datetime.now(UTC)


def _call(messages: object, tools: Any) -> dict[str, object]:
    # Copied, because the list of a conversation keeps growing.
    copied = [*cast("list[Any]", messages)] if isinstance(messages, list) else messages
    return {"messages": copied, "tools": tools, "start_time": _now(), "response": None, "end_time": None}


def _record_llm_call(
    trace: _Trace | None, call: Mapping[str, object], messages: object, response: object, tokens: int
) -> None:
    if trace is None:
        return
    end_time = _now()
    trace["llm_calls"].append(
        {
            "messages": call.get("messages", messages),
            "response": response,
            "start_time": call.get("start_time", end_time),
            "end_time": end_time,
            "total_tokens": tokens,
        }
    )


def _record_tool_use(
    trace: _Trace | None, name: str, args: Any, result: Any, success: bool, error_type: str | None
) -> None:
    if trace is None:
        return
    use = {"tool": name, "args": args, "result": result, "success": success, "timestamp": _now()}
    trace["tool_uses"].append(use if success else {**use, "error": True, "error_type": error_type})
    if "unstepped" in trace:
        trace["unstepped"].append(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _arguments(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _tokens(response: object) -> int:
    usage = getattr(response, "usage", None)
    return int(getattr(usage, "total_tokens", 0) or 0)
