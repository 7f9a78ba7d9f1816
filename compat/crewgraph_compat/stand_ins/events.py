"""Telemetry and events that programs name but crewgraph never emits, and event handlers for manual use."""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeGuard, TypeVar, Union, cast

from crewgraph import events
from crewgraph.agent import Agent
from crewgraph.events.a2a import AboutConversation
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import CircularDependencyError, Depends, EventBus, Handler, call_handler, event_bus
from crewgraph.events.skill import SkillEvent
from crewgraph.prompts.i18n import I18N

__all__ = [
    "A2APushNotificationReceivedEvent",
    "AgentMeta",
    "AsyncHandler",
    "AsyncHandlerSet",
    "CrewAIEventsBus",
    "EventHandler",
    "EventTypes",
    "ExecutionPlan",
    "HandlerGraph",
    "MCPConfigFetchFailedEvent",
    "SkillDownloadCompletedEvent",
    "SkillDownloadStartedEvent",
    "SyncHandler",
    "SyncHandlerSet",
    "TaskEvaluationEvent",
    "Telemetry",
    "build_execution_plan",
    "i18n",
    "is_async_handler",
    "is_call_handler_safe",
]


class _BusType(type):
    """Makes the constructor of a class return the bus of the process."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        """Return the bus, as CrewAI's constructor does."""
        return event_bus

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, EventBus)


class CrewAIEventsBus(EventBus, metaclass=_BusType):
    """The class of the event bus, of which a process has one."""


class Telemetry:
    """A telemetry client that sends nothing; all of its methods return None."""

    ready: bool = False
    trace_set: bool = False
    _instance: ClassVar["Telemetry | None"] = None

    def __new__(cls) -> Self:
        if not isinstance(cls._instance, cls):
            cls._instance = super().__new__(cls)
        return cls._instance

    def _is_telemetry_disabled(self) -> bool:
        return True

    def _should_execute_telemetry(self) -> bool:
        return False


def _do_nothing(self: Telemetry, *_given: Any, **_named: Any) -> None:
    """Do nothing."""


for _name in (
    *(
        "coding_agent_span",
        "create_crew_deployment_span",
        "crew_completed_span",
        "crew_creation",
        "crew_execution_span",
    ),
    *("deploy_signup_error_span", "end_crew", "env_context_span", "feature_usage_span", "flow_completed_span"),
    *("flow_creation_span", "flow_execution_span", "flow_method_failed_span", "flow_paused_span", "flow_plotting_span"),
    *("get_crew_logs_span", "hook_dispatched_span", "human_feedback_span", "individual_test_result_span"),
    *("remove_crew_span", "set_tracer", "start_deployment_span", "task_ended", "task_failed", "task_started"),
    *("template_installed_span", "test_execution_span", "tool_repeated_usage", "tool_usage", "tool_usage_error"),
):
    setattr(Telemetry, _name, _do_nothing)


class MCPConfigFetchFailedEvent(BaseEvent):
    """The configuration of a server could not be fetched from the hosted platform."""

    type: str = "mcp_config_fetch_failed"

    slug: str
    """The name of the server on the platform."""

    error: str
    """The error message."""

    error_type: str | None = None
    """The class of the error."""


SyncHandler = Callable[..., None]
"""A handler that takes the source and the event, and optionally the runtime state."""

AsyncHandler = Callable[..., Coroutine[Any, Any, None]]
"""An asynchronous handler."""

SyncHandlerSet = frozenset[SyncHandler]
"""A set of synchronous handlers."""

AsyncHandlerSet = frozenset[AsyncHandler]
"""A set of asynchronous handlers."""

_E = TypeVar("_E", bound=BaseEvent, contravariant=True)


class EventHandler(Protocol[_E]):
    """The signature of an event handler."""

    def __call__(self, source: Any, event: _E) -> Coroutine[Any, Any, None] | None:
        """Handle an event."""
        ...


def is_async_handler(handler: Any) -> TypeGuard[AsyncHandler]:
    """Return whether a handler is an `async def`, or an object whose `__call__` is one."""
    function: Any = handler
    while isinstance(function, partial):
        function = cast("Any", function).func
    own: Any = getattr(function.__class__, "__call__", None)  # noqa: B004  (an object with an async `__call__`)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own)


def is_call_handler_safe(handler: SyncHandler, source: Any, event: BaseEvent, state: Any = None) -> Exception | None:
    """Call a handler and return the exception that it raises, if any."""
    try:
        if call_handler(handler) is handler:
            handler(source, event)
        else:
            handler(source, event, state)
    except Exception as error:  # noqa: BLE001 - returned to the caller
        return error
    return None


ExecutionPlan = list[set[Handler]]
"""Handlers in stages: each stage depends only on earlier ones."""


class HandlerGraph:
    """Handlers and their dependencies.

    Args:
        handlers: the dependencies of each handler; those that are not keys themselves are ignored.
    """

    def __init__(self, handlers: Mapping[Handler, Sequence[Depends]]) -> None:
        self._needs = {
            handler: {item.handler for item in after if item.handler in handlers} for handler, after in handlers.items()
        }

    def get_execution_plan(self) -> ExecutionPlan:
        """Return the stages in order.

        Raises:
            CircularDependencyError: The dependencies are circular.
        """
        plan: ExecutionPlan = []
        waiting = dict(self._needs)
        while waiting:
            step = {handler for handler, needs in waiting.items() if not needs & waiting.keys()}
            if not step:
                raise CircularDependencyError(list(waiting))
            plan.append(step)
            waiting = {handler: needs for handler, needs in waiting.items() if handler not in step}
        return plan


def build_execution_plan(
    handlers: Sequence[Handler], dependencies: Mapping[Handler, Sequence[Depends]]
) -> ExecutionPlan:
    """Return the stages in which handlers are called.

    Raises:
        CircularDependencyError: The dependencies are circular.
    """
    return HandlerGraph({item: dependencies.get(item, ()) for item in handlers}).get_execution_plan()


AgentMeta: Any = type(Agent)
"""The metaclass of agents."""

_NAMED: list[Any] = [getattr(events, name) for name in events.__all__]  # each is loaded by its name
_EVENTS = [kind for kind in _NAMED if isinstance(kind, type) and issubclass(kind, BaseEvent)]

_union: Any = Union
EventTypes: Any = _union[tuple(kind for kind in _EVENTS if kind is not BaseEvent)]
"""Any event."""

i18n = I18N()
"""The default prompt texts."""


class A2APushNotificationReceivedEvent(AboutConversation):
    """A remote agent pushed a progress report."""

    type: str = "a2a_push_notification_received"

    state: str
    """The state of the remote task."""


class SkillDownloadStartedEvent(SkillEvent):
    """The download of a skill from a registry starts."""

    type: str = "skill_download_started"

    registry_ref: str
    """The requested skill, as `@org/name`."""

    version: str | None = None
    """The requested version."""


class SkillDownloadCompletedEvent(SkillEvent):
    """A skill was downloaded from a registry."""

    type: str = "skill_download_completed"

    registry_ref: str
    """The requested skill, as `@org/name`."""

    version: str | None = None
    """The downloaded version."""

    cache_path: Path | None = None
    """The folder it is cached in."""


class TaskEvaluationEvent(BaseEvent):
    """The output of a task is evaluated."""

    type: str = "task_evaluation"

    task: Any = None
    """The task."""

    _origin: ClassVar[str | None] = "task"

    evaluation_type: str
    """The kind of evaluation."""
