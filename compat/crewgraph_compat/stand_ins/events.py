"""The class of the event bus, telemetry that sends nothing, and events that listeners name but crewgraph never emits."""

from typing import Any, ClassVar, Self

from crewgraph.events.a2a import A2AEventBase
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import EventBus, event_bus


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


class A2AAgentCardFetchedEvent(A2AEventBase):
    """The card of a remote agent was fetched."""


class A2AArtifactReceivedEvent(A2AEventBase):
    """A remote agent has sent an artifact."""


class A2AAuthenticationFailedEvent(A2AEventBase):
    """A remote agent rejected the authentication."""


class A2AConnectionErrorEvent(A2AEventBase):
    """A remote agent cannot be reached."""


class A2APollingStartedEvent(A2AEventBase):
    """Polling of a remote agent's progress starts."""


class A2APollingStatusEvent(A2AEventBase):
    """A remote agent has reported progress."""


class A2APushNotificationRegisteredEvent(A2AEventBase):
    """A remote agent has registered the URL for push notifications."""


class A2APushNotificationTimeoutEvent(A2AEventBase):
    """A push notification of a remote agent has not arrived in time."""


class A2AStreamingStartedEvent(A2AEventBase):
    """A remote agent starts to stream its answer."""


class A2APushNotificationReceivedEvent(A2AEventBase):
    """A remote agent pushed a progress report."""


class A2AParallelDelegationCompletedEvent(A2AEventBase):
    """Several remote agents have finished."""


class A2AParallelDelegationStartedEvent(A2AEventBase):
    """Work is delegated to several remote agents."""


class A2APushNotificationSentEvent(A2AEventBase):
    """A client was notified of the progress of its task."""


class A2AContentTypeNegotiatedEvent(A2AEventBase):
    """Client and server have agreed on content types."""


class A2AContextCompletedEvent(A2AEventBase):
    """All tasks of a context have finished."""


class A2AContextCreatedEvent(A2AEventBase):
    """A conversation context was created."""


class A2AContextExpiredEvent(A2AEventBase):
    """A context has expired."""


class A2AContextIdleEvent(A2AEventBase):
    """A context has been idle for a long time."""


class A2AContextPrunedEvent(A2AEventBase):
    """A context was removed."""


class A2AServerTaskCanceledEvent(A2AEventBase):
    """A task of a remote client was canceled."""


class A2AServerTaskCompletedEvent(A2AEventBase):
    """A task of a remote client has finished."""


class A2AServerTaskFailedEvent(A2AEventBase):
    """A task of a remote client has failed."""


class A2AServerTaskStartedEvent(A2AEventBase):
    """A task of a remote client has started."""


class A2ATransportNegotiatedEvent(A2AEventBase):
    """Client and server have agreed on a transport."""


class TaskEvaluationEvent(BaseEvent):
    """The output of a task is evaluated."""

    type: str = "task_evaluation"

    task: Any = None
    """The task."""

    _origin: ClassVar[str | None] = "task"

    evaluation_type: str
    """The kind of evaluation."""


class AgentEvaluationStartedEvent(BaseEvent):
    """The evaluation of an agent's work starts."""

    type: str = "agent_evaluation_started"

    iteration: int
    """The round of the evaluation."""


class AgentEvaluationCompletedEvent(BaseEvent):
    """An agent's work was evaluated."""

    type: str = "agent_evaluation_completed"

    iteration: int
    """The round of the evaluation."""

    metric_category: Any
    """The metric."""

    score: Any
    """The score."""


class AgentEvaluationFailedEvent(BaseEvent):
    """An agent's work could not be evaluated."""

    type: str = "agent_evaluation_failed"

    iteration: int
    """The round of the evaluation."""

    error: str
    """The error."""
