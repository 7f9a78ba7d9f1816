"""The listener that forwards events to a program's own `ConsoleFormatter`."""

import inspect
from functools import partial
from io import StringIO
from typing import Any, ClassVar

from crewgraph import events
from crewgraph.events import BaseEvent, BaseEventListener, EventBus
from crewgraph.overrides import override_of
from crewgraph_compat.stand_ins.console.formatter import ConsoleFormatter

__all__ = ["EventListener", "MemoryListener", "event_listener"]

_PRINTING = ("print", "print_panel", "create_panel")

_MEMORY: dict[type[BaseEvent], tuple[str, dict[str, Any]]] = {
    events.MemoryQueryFailedEvent: ("handle_memory_query_failed", {}),
    events.MemoryRetrievalStartedEvent: ("handle_memory_retrieval_started", {}),
    events.MemoryRetrievalCompletedEvent: ("handle_memory_retrieval_completed", {}),
    events.MemorySaveStartedEvent: ("handle_memory_save_started", {}),
    events.MemorySaveCompletedEvent: ("handle_memory_save_completed", {}),
    events.MemorySaveFailedEvent: ("handle_memory_save_failed", {}),
}

_ALL: dict[type[BaseEvent], tuple[str, dict[str, Any]]] = {
    events.CrewKickoffStartedEvent: ("handle_crew_started", {}),
    events.CrewKickoffCompletedEvent: ("handle_crew_status", {"status": "completed"}),
    events.CrewKickoffFailedEvent: ("handle_crew_status", {"status": "failed"}),
    events.CrewTestStartedEvent: ("handle_crew_test_started", {}),
    events.CrewTestCompletedEvent: ("handle_crew_test_completed", {}),
    events.CrewTestFailedEvent: ("handle_crew_test_failed", {}),
    events.CrewTrainStartedEvent: ("handle_crew_train_started", {}),
    events.CrewTrainCompletedEvent: ("handle_crew_train_completed", {}),
    events.CrewTrainFailedEvent: ("handle_crew_train_failed", {}),
    events.TaskStartedEvent: ("handle_task_started", {}),
    events.TaskCompletedEvent: ("handle_task_status", {"status": "completed"}),
    events.TaskFailedEvent: ("handle_task_status", {"status": "failed"}),
    events.AgentLogsStartedEvent: ("handle_agent_logs_started", {}),
    events.AgentLogsExecutionEvent: ("handle_agent_logs_execution", {}),
    events.LiteAgentExecutionStartedEvent: ("handle_lite_agent_execution", {"status": "started"}),
    events.LiteAgentExecutionCompletedEvent: ("handle_lite_agent_execution", {"status": "completed"}),
    events.LiteAgentExecutionErrorEvent: ("handle_lite_agent_execution", {"status": "failed"}),
    events.FlowCreatedEvent: ("handle_flow_created", {}),
    events.FlowStartedEvent: ("handle_flow_started", {}),
    events.FlowFinishedEvent: ("handle_flow_status", {"status": "completed"}),
    events.FlowFailedEvent: ("handle_flow_status", {"status": "failed"}),
    events.MethodExecutionStartedEvent: ("handle_method_status", {"status": "running"}),
    events.MethodExecutionFinishedEvent: ("handle_method_status", {"status": "completed"}),
    events.MethodExecutionFailedEvent: ("handle_method_status", {"status": "failed"}),
    events.ToolUsageStartedEvent: ("handle_tool_usage_started", {}),
    events.ToolUsageFinishedEvent: ("handle_tool_usage_finished", {}),
    events.ToolUsageErrorEvent: ("handle_tool_usage_error", {}),
    events.ToolFailureDetectedEvent: ("handle_tool_failure_detected", {}),
    events.LLMCallFailedEvent: ("handle_llm_call_failed", {}),
    events.KnowledgeRetrievalStartedEvent: ("handle_knowledge_retrieval_started", {}),
    events.KnowledgeRetrievalCompletedEvent: ("handle_knowledge_retrieval_completed", {}),
    events.KnowledgeQueryStartedEvent: ("handle_knowledge_query_started", {}),
    events.KnowledgeQueryCompletedEvent: ("handle_knowledge_query_completed", {}),
    events.KnowledgeQueryFailedEvent: ("handle_knowledge_query_failed", {}),
    events.KnowledgeSearchQueryFailedEvent: ("handle_knowledge_search_query_failed", {}),
    events.AgentReasoningStartedEvent: ("handle_reasoning_started", {}),
    events.AgentReasoningCompletedEvent: ("handle_reasoning_completed", {}),
    events.AgentReasoningFailedEvent: ("handle_reasoning_failed", {}),
    events.LLMGuardrailStartedEvent: ("handle_guardrail_started", {}),
    events.LLMGuardrailCompletedEvent: ("handle_guardrail_completed", {}),
    **_MEMORY,
}
"""Maps an event type to the formatter method that receives it, with arguments that the event itself lacks."""

_CALLED = {
    "final_string_output": "output",
    "search_query": "query",
}
"""Event field names of parameters that are named differently."""

_PARAMETERS = {
    method: [
        one
        for one in inspect.signature(getattr(ConsoleFormatter, method)).parameters.values()
        if one.kind is not one.VAR_KEYWORD
    ][1:]
    for method, _ in _ALL.values()
}
"""The parameters of our own methods, which overriding methods receive too."""


class _Shows(BaseEventListener):
    """Forward events to a formatter whose methods a program has overridden."""

    _methods: ClassVar[dict[type[BaseEvent], tuple[str, dict[str, Any]]]] = {}

    def __init__(self, formatter: Any) -> None:
        self.formatter: Any = formatter
        """The formatter; it can be replaced."""
        super().__init__()

    def setup_listeners(self, crewai_event_bus: EventBus) -> None:
        """Subscribe to all events that a formatter method handles."""
        for event_type, (method, known) in self._methods.items():
            crewai_event_bus.register_handler(event_type, partial(self._forward, method, known), alone=True)

    def _forward(self, method: str, known: dict[str, Any], source: Any, event: BaseEvent) -> None:
        formatter = self.formatter
        if any(override_of(formatter, name) is not None for name in (method, *_PRINTING)):
            getattr(formatter, method)(*_arguments(method, known, source, event))


class EventListener(_Shows):
    """The listener of the process, a singleton.

    crewgraph itself prints lines for whatever is `verbose`. A `formatter` whose class overrides methods also receives
    the events of these methods.
    """

    _methods = _ALL
    _instance: ClassVar["EventListener | None"] = None

    execution_spans: dict[Any, Any]
    """Unused: no telemetry is sent."""

    next_chunk: int = 0
    """The position of the next chunk in `text_stream`, for programs that maintain one."""

    text_stream: StringIO = StringIO()
    """A text stream that a program may maintain."""

    knowledge_retrieval_in_progress: bool = False
    """Free for use by programs."""

    knowledge_query_in_progress: bool = False
    """Free for use by programs."""

    def __new__(cls) -> "EventListener":
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if "formatter" not in vars(self):
            self.execution_spans = {}
            super().__init__(ConsoleFormatter(verbose=True))


class MemoryListener(_Shows):
    """Forward memory events to a formatter.

    Args:
        formatter: the formatter.
    """

    _methods = _MEMORY


def _arguments(method: str, known: dict[str, Any], source: Any, event: BaseEvent) -> list[Any]:
    """Return the arguments for a method in the order of its parameters."""
    arguments: list[Any] = []
    for parameter in _PARAMETERS[method]:
        arguments.append(known[parameter.name] if parameter.name in known else _value(parameter, source, event))
    return arguments


def _value(parameter: inspect.Parameter, source: Any, event: BaseEvent) -> Any:
    name = parameter.name
    if name in ("source_id", "flow_id") and not hasattr(event, name):
        return str(getattr(source, "id", None) or getattr(source, "flow_id", ""))
    if name == "lite_agent_role":
        return getattr(event, "agent_info", {}).get("role", "")
    result = getattr(event, _CALLED.get(name, name), None)
    if result is None and parameter.default is not parameter.empty:
        return parameter.default
    return str(result) if name == "final_string_output" else result


event_listener: EventListener
"""The listener of this process; it starts listening when it is first accessed."""


def __getattr__(name: str) -> EventListener:
    if name == "event_listener":
        return EventListener()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
