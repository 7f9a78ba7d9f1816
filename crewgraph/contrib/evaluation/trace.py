"""What agents do, written down as it happens."""

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
from crewgraph.events.bus import EventBus, is_replaying

__all__ = ["LITE_TASK", "EvaluationTraceCallback", "create_evaluation_callbacks"]

LITE_TASK = "lite_task"
"""Stands for the task where an agent works without one."""

_Trace = dict[str, Any]

_KEPT = 256  # traces; a process that runs for long must not keep all it ever did

_OPEN: ContextVar[Mapping[str, _Trace]] = ContextVar("crewgraph_evaluation_traces")
"""The traces of the running code, by agent and task: runs beside each other may be of the same ones."""

_BEGUN: ContextVar[frozenset[str]] = ContextVar("crewgraph_evaluation_tasks", default=frozenset())
"""The tasks, by their ids, that began in the running code and are not done."""

_PASSING = ("asking", "unstepped", "stepped")  # what a trace holds only while it is open


class EvaluationTraceCallback(BaseEventListener):
    """Writes down what each agent does for each task, from the moment that the first one is made; there is one for all.

    All attempts at a task, after a guardrail's refusal too, are one trace.

    A trace is a dict: `agent_id`, `task_id` ("lite_task" without a task), `asked` (without a task: what was asked), `tool_uses`,
    `llm_calls`, `start_time`, and when the agent is done `end_time` and `final_output`. Times are UTC.
    """

    _only: "EvaluationTraceCallback | None" = None

    def __new__(cls) -> "EvaluationTraceCallback":
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only._begin()
        return cls._only

    def _begin(self) -> None:
        self.traces: dict[str, _Trace] = {}
        """The latest trace of each agent and task, by "agent_task"; the last 256."""
        self.current_agent_id: Any = None
        self.current_task_id: Any = None
        self.current_llm_call: dict[str, Any] = {}
        self._heard = (
            (TaskStartedEvent, self._task_began),
            (TaskCompletedEvent, self._task_ended),
            (TaskFailedEvent, self._task_ended),
            (AgentExecutionStartedEvent, self._agent_began),
            (AgentExecutionCompletedEvent, self._agent_ended),
            (AgentStepEvent, self._stepped),
            (LiteAgentExecutionStartedEvent, self._lite_began),
            (LiteAgentExecutionCompletedEvent, self._lite_ended),
            (LLMCallStartedEvent, self._asked),
            (LLMCallCompletedEvent, self._answered),
            (ToolUsageFinishedEvent, self._tool_finished),
            (ToolUsageErrorEvent, self._tool_failed),
            (ToolExecutionErrorEvent, self._tool_failed),
            (ToolSelectionErrorEvent, self._tool_failed),
            (ToolValidateInputErrorEvent, self._tool_failed),
        )

    def setup_listeners(self, event_bus: EventBus) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - CrewAI's name
        """Listen, also in a scope of handlers that was opened since."""
        for event, handler in self._heard:
            event_bus.register_handler(event, handler, alone=True)

    def get_trace(self, agent_id: Any, task_id: Any) -> _Trace | None:
        """The latest trace of an agent and a task, or None."""
        return self.traces.get(_key(agent_id, task_id))

    def trace_of(self, event: BaseEvent) -> _Trace | None:
        """The trace of the work that an event belongs to, or None."""
        key = _key(event.agent_id, event.task_id or LITE_TASK)
        return _OPEN.get({}).get(key) or self.traces.get(key)

    # By hand: what happens to the agent that began last.

    def on_agent_start(self, agent: Any, task: Any) -> None:
        """An agent begins to work on a task."""
        self._open(agent.id, task.id)

    def on_agent_finish(self, agent: Any, task: Any, output: Any) -> None:
        """An agent is done with a task."""
        self._close(self.get_trace(agent.id, task.id), output)

    def on_lite_agent_start(self, agent_info: Mapping[str, Any]) -> None:
        """An agent without a task begins."""
        self._open(agent_info["id"], LITE_TASK)

    def on_lite_agent_finish(self, output: Any) -> None:
        """An agent without a task is done."""
        self._close(self._current(), output)

    def on_tool_use(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any] | str,
        result: Any,
        success: bool = True,
        error_type: str | None = None,
    ) -> None:
        """A tool was called."""
        _used(self._current(), tool_name, tool_args, result, success, error_type)

    def on_llm_call_start(self, messages: Any, tools: Sequence[Mapping[str, Any]] | None = None) -> None:
        """A model is asked."""
        if self._current() is not None:
            self.current_llm_call = _call(messages, tools)

    def on_llm_call_end(self, messages: Any, response: Any) -> None:
        """A model has answered."""
        _said(self._current(), self.current_llm_call, messages, response, _tokens(response))
        self.current_llm_call = {}

    # From events: what happens to the agent that they are about.

    def _task_began(self, source: Any, event: TaskStartedEvent) -> None:
        if not is_replaying():
            # A run that is resumed tells all from here on anew.
            _OPEN.set({key: kept for key, kept in _OPEN.get({}).items() if str(kept["task_id"]) != event.task_id})
            _BEGUN.set(_BEGUN.get() | {str(event.task_id)})

    def _task_ended(self, source: Any, event: TaskCompletedEvent | TaskFailedEvent) -> None:
        _BEGUN.set(_BEGUN.get() - {str(event.task_id)})
        traces = (_OPEN.get({}), self.traces.copy())
        ended = ([one for one in some.values() if str(one["task_id"]) == event.task_id] for some in traces)
        for trace in next(filter(None, ended), ()):
            trace.pop("goes_on", None)

    def _agent_began(self, source: Any, event: AgentExecutionStartedEvent) -> None:
        if is_replaying():
            return
        agent, task = event.agent_id, event.task_id or LITE_TASK
        trace = _OPEN.get({}).get(_key(agent, task))
        if trace is None and task not in _BEGUN.get():
            trace = self.traces.get(_key(agent, task))  # steps of a graph each have a context of their own
        if trace is None or "goes_on" not in trace:
            trace = self._open(agent, task)
            if task in _BEGUN.get():
                trace["goes_on"] = True
            return
        for ended in ("end_time", *_PASSING):
            trace.pop(ended, None)
        trace.update(final_output=None, unstepped=[], stepped=(None, len(trace["llm_calls"])))
        self.current_agent_id, self.current_task_id = agent, task

    def _agent_ended(self, source: Any, event: AgentExecutionCompletedEvent) -> None:
        self._close(self.trace_of(event), event.output)

    def _lite_began(self, source: Any, event: LiteAgentExecutionStartedEvent) -> None:
        if not is_replaying():
            self._open(event.agent_id, LITE_TASK)["asked"] = event.messages

    def _lite_ended(self, source: Any, event: LiteAgentExecutionCompletedEvent) -> None:
        key, trace = _key(event.agent_id, LITE_TASK), self.trace_of(event)
        self._close(trace, event.output)
        if trace is not None:
            self.traces[key] = trace
        _OPEN.set({name: kept for name, kept in _OPEN.get({}).items() if name != key})

    def _asked(self, source: Any, event: LLMCallStartedEvent) -> None:
        if (trace := self.trace_of(event)) is not None:
            trace["asking"] = {**trace.get("asking", {}), event.call_id: _call(event.messages, event.tools)}

    def _answered(self, source: Any, event: LLMCallCompletedEvent) -> None:
        if (trace := self.trace_of(event)) is not None:
            begun = trace.pop("asking", {})
            call = begun.pop(event.call_id, {})
            if begun:
                trace["asking"] = begun
            tokens = int((event.usage or {}).get("total_tokens") or 0)
            _said(trace, call, event.messages, event.response, tokens)

    def _stepped(self, source: Any, event: AgentStepEvent) -> None:
        # A run that is resumed tells its steps anew, but not the requests and calls that its record answers.
        if (trace := self.trace_of(event)) is None or "unstepped" not in trace:
            return
        step, number = event.step, event.iteration
        # Steps are counted from 1 again after an answer; several calls of one reply are steps of the same number.
        before, heard = trace.get("stepped", (None, 0))
        if number != before and len(trace["llm_calls"]) == heard:
            _said(trace, {}, None, step.text, 0)
        if isinstance(step, AgentAction):
            if _plain(step.tool) not in trace["unstepped"]:
                error = "usage_error" if step.failed else None
                _used(trace, step.tool, _arguments(step.tool_input), step.result, not step.failed, error)
            trace["unstepped"].remove(_plain(step.tool))
        trace["stepped"] = (None if isinstance(step, AgentFinish) else number, len(trace["llm_calls"]))

    def _tool_finished(self, source: Any, event: ToolUsageFinishedEvent) -> None:
        failed = event.failure is not None
        _used(
            self.trace_of(event),
            event.tool_name,
            event.tool_args,
            event.output,
            not failed,
            "tool_failure" if failed else None,
        )

    def _tool_failed(self, source: Any, event: Any) -> None:
        _used(self.trace_of(event), event.tool_name, event.tool_args, event.error, False, _FAILURES[type(event)])

    def _open(self, agent_id: Any, task_id: Any) -> _Trace:
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
        while len(self.traces) > _KEPT:
            self.traces.pop(next(iter(self.traces)), None)
        _OPEN.set({**_OPEN.get({}), key: trace})
        self.current_agent_id, self.current_task_id = agent_id, task_id
        return trace

    def _close(self, trace: _Trace | None, output: Any) -> None:
        if trace is not None:
            trace["final_output"], trace["end_time"] = output, _now()
            for passing in _PASSING:
                trace.pop(passing, None)
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
    """What writes down the work of agents; the same one each time."""
    return EvaluationTraceCallback()


def _key(agent_id: Any, task_id: Any) -> str:
    return f"{agent_id}_{task_id}"


def _now() -> datetime:
    return datetime.now(UTC)


def _call(messages: Any, tools: Any) -> dict[str, Any]:
    # The list of a conversation grows; what was asked is what it holds now.
    kept = [*cast("list[Any]", messages)] if isinstance(messages, list) else messages
    return {"messages": kept, "tools": tools, "start_time": _now(), "response": None, "end_time": None}


def _said(trace: _Trace | None, call: Mapping[str, Any], messages: Any, response: Any, tokens: int) -> None:
    if trace is None:
        return
    ended = _now()
    trace["llm_calls"].append(
        {
            "messages": call.get("messages", messages),
            "response": response,
            "start_time": call.get("start_time", ended),
            "end_time": ended,
            "total_tokens": tokens,
        }
    )


def _used(trace: _Trace | None, name: str, args: Any, result: Any, success: bool, error_type: str | None) -> None:
    if trace is None:
        return
    use = {"tool": name, "args": args, "result": result, "success": success, "timestamp": _now()}
    trace["tool_uses"].append(use if success else {**use, "error": True, "error_type": error_type})
    if "unstepped" in trace:
        trace["unstepped"].append(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _arguments(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return written


def _tokens(response: Any) -> int:
    usage = getattr(response, "usage", None)
    return int(getattr(usage, "total_tokens", 0) or 0)
