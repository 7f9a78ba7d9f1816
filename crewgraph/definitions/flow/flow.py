"""Flows: methods that run when something has happened."""

from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel

from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.crew.process import KeepHistory
from crewgraph.definitions.flow.checkpoints import FlowCheckpoints, run_extension, state_inputs
from crewgraph.definitions.flow.conversation import FlowConversation
from crewgraph.definitions.flow.declaration import FlowDeclarations
from crewgraph.definitions.flow.definition import FlowDefinition, build_definition
from crewgraph.definitions.flow.memories import FlowMemories
from crewgraph.definitions.flow.method import FlowMethod, events_of
from crewgraph.definitions.flow.persistence import validate_persistence
from crewgraph.definitions.flow.state import (
    StateDict,
    create_state,
    is_incomplete,
    read_with_retries,
    state_id,
    state_source,
    with_inputs,
    with_new_id,
)
from crewgraph.definitions.flow.verbs import FlowVerbs, PendingFlowVerbs
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import FlowCreatedEvent
from crewgraph.extensions import extension
from crewgraph.lazy import lazy
from crewgraph.llm.usage import UsageMetrics

if TYPE_CHECKING:
    from crewgraph.runtime.flow.kickoff import load
else:
    load = lazy("crewgraph.runtime.flow.kickoff:load")

__all__ = ["Flow"]

State = TypeVar("State")


class Flow(
    FlowDeclarations, FlowMemories, FlowConversation, PendingFlowVerbs, FlowCheckpoints, FlowVerbs, Generic[State]
):
    """The base of flows: classes whose methods are decorated with `start`, `listen` and `router`.

    `Flow[State]` says of which pydantic model the state is; without it is a dict.
    """

    initial_state: Any = None
    """The state that runs begin with (it is copied), or its class."""

    name: str | None = None
    """What the flow is called; its class where None."""

    max_method_calls: int = 100
    """How often one method may run in a run."""

    granularity: Literal["method", "flow"] = "method"
    """What becomes a node of the graph: each method; or all of them together, for runs of tens of thousands of methods, which
    then have a checkpoint after every thousand."""

    suppress_flow_events: bool = False
    """Whether events are not told."""

    verbose: bool = False
    """Whether runs are shown on the console."""

    streaming: bool = False
    """Given as `stream`: whether `kickoff` returns the pieces of the answers, to be iterated, instead of the result."""

    checkpointer: Any = None
    """Where runs are kept: a LangGraph checkpointer, False for nowhere, True for the default database; None: there, if anything
    is persisted."""

    keep_history: KeepHistory = "all"
    """How many checkpoints of a run are kept, for `history` and `fork`: "all", "latest", or so many of the latest. Resuming needs
    the latest alone. While a run goes on there are some more."""

    _definition: ClassVar[FlowDefinition]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(given := vars(cls).get("stream"), bool):
            cls.streaming = given
            delattr(cls, "stream")
        cls.define()

    @classmethod
    def define(cls) -> None:
        """Collect the methods of the class."""
        cls._definition = build_definition(cls, getattr(cls, "_definition", None))

    def __init__(
        self,
        initial_state: Any = None,
        persistence: Any = None,
        tracing: bool | None = None,
        suppress_flow_events: bool | None = None,
        checkpointer: Any = None,
        keep_history: KeepHistory | None = None,
        stream: bool | None = None,
        verbose: bool | None = None,
        memory: Any = None,
        checkpoint: CheckpointSettings | bool | None = None,
        input_provider: Any = None,
        **values: Any,
    ) -> None:
        """Make a flow.

        Args:
            initial_state: see `initial_state`.
            persistence: a backend that every method's state is saved to.
            tracing: without effect: LangSmith's variables switch traces on.
            suppress_flow_events: see `suppress_flow_events`.
            checkpointer: see `checkpointer`.
            keep_history: see `keep_history`.
            stream: see `streaming`.
            verbose: see `verbose`.
            memory: see `memory`.
            checkpoint: see `checkpoint`.
            input_provider: see `input_provider`.
            values: values for fields of the state.

        Raises:
            DefinitionError: the state cannot be made, `persistence` is no backend, or `memory` does not remember.
        """
        self._apply_options(
            initial_state=initial_state,
            suppress_flow_events=suppress_flow_events,
            checkpointer=checkpointer,
            keep_history=keep_history,
            streaming=stream,
            verbose=verbose,
            input_provider=input_provider,
        )
        self._init_memory(memory)
        self._init_checkpoint(checkpoint)
        self.persistence, self.tracing = validate_persistence(persistence), tracing
        self._lock, self._has_started = Lock(), False
        self._resumed_id: str | None = None
        self._last: Any = None
        """The run that this object began last, if it has begun one."""

        self._state: Any = self._make_initial_state(values)
        if not self.suppress_flow_events and crewai_event_bus.wants(FlowCreatedEvent):
            crewai_event_bus.emit(self, FlowCreatedEvent(flow_name=self.flow_name))

    def _make_initial_state(self, values: Mapping[str, Any]) -> Any:
        """The state that the object begins with; what a file says that it must have may still be missing."""
        fresh = self._fresh_state()
        return fresh if is_incomplete(fresh) and not values else with_inputs(fresh, values, self.flow_name)

    def _apply_options(self, **given: Any) -> None:
        """Set what is given, over what the class says."""
        for name, value in given.items():
            if value is not None:
                setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        # Programs switch `flow.stream` on as the field it is elsewhere; read, it is the verb.
        super().__setattr__("streaming" if name == "stream" and isinstance(value, bool) else name, value)

    @classmethod
    def topology(cls) -> FlowDefinition:
        """Its methods and what triggers them; `flow_definition` tells the whole flow as files do."""
        return cls._definition

    @property
    def flow_name(self) -> str:
        """What the flow is called."""
        given: Any = self.name  # which may be a method of the user's
        return given if isinstance(given, str) else type(self).__name__

    @property
    def state(self) -> State:
        """The state: inside a method that of its run, outside that of the last one."""
        return self.running_state(self._state)

    @state.setter
    def state(self, value: State) -> None:
        self._state = value

    @property
    def flow_id(self) -> str:
        """The `id` of the state."""
        return state_id(self.state)

    @property
    def method_outputs(self) -> list[Any]:
        """What the methods of the last run returned, in the order of their completion."""
        return list(self._last.outputs) if self._last is not None else []

    @property
    def usage_metrics(self) -> UsageMetrics:
        """What all models reported that the last run has asked in this process: those of crews, of agents, and by `LLM.call`."""
        return self._last.usage.total if self._last is not None else UsageMetrics()

    @property
    def human_feedback_history(self) -> list[Any]:
        """What people said in the last run, as `HumanFeedbackResult`s in their order."""
        return list(self._last.feedback) if self._last is not None else []

    @property
    def last_human_feedback(self) -> Any:
        """The last of them; None where there is none."""
        said = self.human_feedback_history
        return said[-1] if said else None

    def new_state(self, inputs: Mapping[str, Any], before: Any = None) -> Any:
        """The state that a run with these inputs begins with.

        Args:
            inputs: the inputs.
            before: the state that the run takes over; None for what the object holds.
        """
        extra = run_extension(inputs)
        with self._lock:
            first, self._has_started = not self._has_started, True
            if before is None and extra is not None:
                before = extra.state_before(self, self._state, inputs)
        # The first run takes over what was put into the object before; others, which may run at the same time, have copies.
        source = before if before is not None else self._state if first else self._state_copy()
        state = with_inputs(source, state_inputs(inputs), self.flow_name)
        if extra is not None:
            extra.begin(self, state, inputs)
        return state

    def detached_state(self, inputs: Mapping[str, Any]) -> Any:
        """The state that a run begins with which this object does not show: a copy, under an `id` of its own."""
        return with_inputs(with_new_id(self._state_copy()), inputs, self.flow_name)

    def _state_copy(self) -> Any:
        return read_with_retries(lambda: create_state(self._state, self.flow_name))

    def restored_state(self, values: Mapping[str, Any]) -> Any:
        """The state that holds these values."""
        state = self._fresh_state()
        if isinstance(state, BaseModel):
            return with_inputs(state, values, self.flow_name)
        return StateDict(values)

    def take_state(self, state: Any) -> None:
        """Show this state from now on."""
        self._state = state

    def reload(self, execution_data: Mapping[str, Any]) -> None:
        """Show the state that an earlier run left, from CrewAI's record of it; the next kickoff begins with it, at the start.

        Args:
            execution_data: the record: its `id`, and `execution_methods` with the `final_state` of each.
        """
        states: list[dict[str, Any]] = [
            one.get("final_state") or {} for one in execution_data.get("execution_methods", ())
        ]
        last = [one for one in states if one][-1:]
        self.take_state(self.restored_state({**(last[0] if last else {}), "id": execution_data["id"]}))

    def _load_state(self, flow_id: str) -> bool:
        """Show the state that is kept under an id, whose run the next `kickoff` goes on with; False where there is none."""
        found = load(self, flow_id)
        if found:
            self._resumed_id = flow_id
        return found

    def take_resumed_id(self) -> str | None:
        """The run that the next kickoff goes on with, told once.

        Raises:
            DefinitionError: the object was not made.
        """
        if "_taken_up" not in vars(self):
            raise DefinitionError(
                f"`__init__` of flow `{type(self).__name__}` does not call `super().__init__()`, which makes the state. "
                "Call it first there."
            )
        found, self._resumed_id = self._resumed_id, None
        return found

    def last_run(self) -> Any:
        """The run that this object shows; None where there is none."""
        return self._last

    def set_last_run(self, run: Any) -> None:
        """Show what this run gives."""
        self._last = run

    def _fresh_state(self) -> Any:
        source = self.initial_state if self.initial_state is not None else state_source(type(self))
        if source is None and self.conversational:
            source = extension("conversations.state")
        return create_state(source, self.flow_name)

    @property
    def _methods(self) -> Mapping[str, FlowMethod]:
        return MappingProxyType(dict(self._definition.methods))

    @property
    def _listeners(self) -> Mapping[str, list[FlowMethod]]:
        heard: dict[str, list[FlowMethod]] = {}
        for method in self._definition.methods.values():
            for event in events_of(method.trigger):
                heard.setdefault(event, []).append(method)
        return MappingProxyType(heard)

    @property
    def _routers(self) -> Mapping[str, FlowMethod]:
        methods = self._definition.methods
        return MappingProxyType({name: method for name, method in methods.items() if method.is_router})

    @property
    def _method_outputs(self) -> list[Any]:
        return self.method_outputs

    @property
    def _completed_methods(self) -> frozenset[str]:
        return frozenset(self._last.completed) if self._last is not None else frozenset()

    @property
    def _method_execution_counts(self) -> Mapping[str, int]:
        return MappingProxyType(dict(self._last.completed) if self._last is not None else {})


Flow.define()  # `__init_subclass__` is for subclasses
