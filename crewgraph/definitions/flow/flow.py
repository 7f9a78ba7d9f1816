"""Flows: event-driven workflows of methods; the class `Flow` with its fields and its state."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crewgraph.extensions import extension

if TYPE_CHECKING:
    from crewgraph.flow import FlowDeclaration
import warnings
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from threading import Lock
from types import MappingProxyType
from typing import Generic, Self

from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

from crewgraph.definitions.checkpoints import CheckpointSettings, FlowCheckpoints
from crewgraph.definitions.crew.process import KeepHistory
from crewgraph.definitions.flow.definition import FlowTopology, build_definition
from crewgraph.definitions.flow.fields import set_declared_fields
from crewgraph.definitions.flow.method import FlowMethod, events_of
from crewgraph.definitions.flow.persistence import validate_persistence
from crewgraph.definitions.flow.state import (
    CURRENT_WRITER,
    StateDict,
    assigned,
    create_state,
    is_incomplete,
    read_with_retries,
    run_extension,
    state_id,
    state_inputs,
    state_source,
    with_inputs,
    with_new_id,
)
from crewgraph.definitions.run_options import Inputs
from crewgraph.deprecations import UnknownKeyword, user_stacklevel
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import FlowCreatedEvent
from crewgraph.llm.usage import UsageMetrics
from crewgraph.memory.memory import Memory
from crewgraph.memory.records import MemoryMatch, MemoryRecord, sanitize_scope_name
from crewgraph.text import suggestion

State = TypeVar("State", default=Any)

_SETTINGS = {"name", "max_method_calls"}
"""Attributes that the constructor sets if the state has no field of the name."""


class FlowDefinition(FlowCheckpoints, Generic[State]):
    """The fields, the state and the methods of a flow, whose methods are decorated with `start`, `listen` and `router`.

    `Flow[State]` sets the pydantic model of the state; the default state is a dict.
    """

    initial_state: Any = None
    """The state that runs start with, which is copied, or its class: `initial_state = Report`, or `{"topic": "rain"}`. None takes
    the class in `Flow[Report]`, else a dict."""

    name: str | None = None
    """The flow's name; None uses the name of the class."""

    max_method_calls: int = 100
    """Maximum number of executions of one method per run, after which the run fails with `FlowLoopError`."""

    granularity: str = "method"
    """The nodes of the graph: one per method, which is the only choice."""

    suppress_flow_events: bool = False
    """Whether a run emits only the events of its start and end."""

    verbose: bool = False
    """Whether progress is printed to the console."""

    streaming: bool = False
    """Set as `stream=`: whether `kickoff` returns a `StreamSession`, an iterator of frames, instead of the result."""

    checkpointer: Any = None
    """Where runs are stored: a LangGraph checkpointer, False for nowhere, True for the default database. None uses the default
    database if the flow is persisted or asks for feedback."""

    keep_history: KeepHistory = "all"
    """How many checkpoints of a run are kept for `history` and `fork`: "all", "latest", or the number of latest ones. Resuming
    needs only the latest. During a run there may be a few more."""

    conversational: ClassVar[bool] = False
    """Whether the flow is a conversation."""

    memory: Any = None
    """The memory of the flow: a `Memory`, a scope or slice of one, or an object with `remember` and `recall`; for None, a
    memory of its own below the scope `/flow/<its name>`."""

    input_provider: Any = None
    """Answers questions of `self.ask`; see `InputProvider`. None uses that of `flow_config`."""

    _definition: ClassVar[FlowTopology]
    _fields: ClassVar[Mapping[str, type]] = {}

    _declared: ClassVar["FlowDeclaration | None"] = None
    """The declaration that the class was created from, if any."""

    @classmethod
    def from_declaration(
        cls,
        *,
        contents: "FlowDeclaration | str | dict[str, Any] | None" = None,
        path: Path | str | None = None,
        **kwargs: object,
    ) -> Any:
        """Create a flow from a YAML or JSON declaration. Python names in it are imported: load only files that you trust.

        Args:
            contents: YAML or JSON text, its parsed data, or a `FlowDeclaration`.
            path: A file to read if `contents` is None; file names in it are relative to its folder.
            kwargs: Arguments of the flow's constructor, such as `checkpointer`.

        Raises:
            DefinitionError: Neither argument is given, the text cannot be parsed, or a name in it cannot be resolved.
            FileNotFoundError: The file, or that of a crew, does not exist.
            ValidationError: The declaration is invalid; lists all faults.
            ScriptRefused: It contains a script, and `CREWGRAPH_ALLOW_FLOW_SCRIPTS` is not set.
        """
        return extension("declared.flow")(cls, contents, path, kwargs)

    @classmethod
    def flow_definition(cls) -> "FlowDeclaration":
        """Return the flow as a declaration for `from_declaration`: the original one, or one derived from the class."""
        return cls._declared if cls._declared is not None else extension("declared.written")(cls)

    @classmethod
    def define(cls) -> None:
        """Collect the decorated methods of the class."""
        cls._definition = build_definition(cls, getattr(cls, "_definition", None))

    def __init__(
        self,
        initial_state: object = None,
        persistence: object = None,
        tracing: bool | None = None,
        suppress_flow_events: bool | None = None,
        checkpointer: object = None,
        keep_history: KeepHistory | None = None,
        stream: bool | None = None,
        verbose: bool | None = None,
        memory: object = None,
        checkpoint: CheckpointSettings | bool | None = None,
        input_provider: object = None,
        **values: object,
    ) -> None:
        """Create a flow. None leaves a setting as the class has it.

        Args:
            initial_state: The state that runs start with, or its class.
            persistence: A backend that the state is saved to after every method.
            tracing: No effect: LangSmith's environment variables turn tracing on.
            suppress_flow_events: Whether a run emits only the events of its start and end.
            checkpointer: Where runs are stored: a LangGraph checkpointer, True or False.
            keep_history: How many checkpoints of a run are kept: "all", "latest", or a number.
            stream: Whether `kickoff` returns an iterator of chunks; the field is `streaming`.
            verbose: Whether progress is printed to the console.
            memory: What `remember` and `recall` of the flow use.
            checkpoint: Whether runs make checkpoints from which another process can continue.
            input_provider: Answers questions of `self.ask`.
            values: Values for fields that the class declares, and for fields of the state; then `name` and `max_method_calls`,
                if they are not fields of the state. Others have no effect, and cause a warning.

        Raises:
            DefinitionError: The state cannot be created, `persistence` is not a backend, or `memory` is not a memory.
        """
        if self._fields:
            values = set_declared_fields(self, self._fields, values)
        options: dict[str, object] = {
            "initial_state": initial_state,
            "suppress_flow_events": suppress_flow_events,
            "checkpointer": checkpointer,
            "keep_history": keep_history,
            "streaming": stream,
            "verbose": verbose,
            "input_provider": input_provider,
        }
        for name, value in options.items():
            if value is not None:
                setattr(self, name, value)
        if memory is not None:
            self.memory = self._checked_memory(memory)
        elif self.memory is None:
            self.memory = Memory(root_scope=f"/flow/{sanitize_scope_name(self.flow_name)}")
        self._init_checkpoint(checkpoint)
        self.persistence, self.tracing = validate_persistence(persistence), tracing
        self._lock, self._has_started = Lock(), False
        self._resumed_id: str | None = None
        self._last: Any = None
        """The last run of this object; None before any."""

        self._state: Any = self._make_initial_state(values)
        if not self.suppress_flow_events and crewai_event_bus.wants(FlowCreatedEvent):
            crewai_event_bus.emit(self, FlowCreatedEvent(flow_name=self.flow_name))

    def _make_initial_state(self, values: Mapping[str, object]) -> object:
        """Return the first state of the object; fields that a declaration requires may still be missing."""
        state = self._fresh_state()
        if values:
            values = self._state_values(state, values)
        return state if is_incomplete(state) and not values else with_inputs(state, values, self.flow_name)

    def _state_values(self, state: object, values: Mapping[str, object]) -> dict[str, object]:
        """Set the settings among values of the constructor, warn of unknown ones, and return those of the state."""
        fields = type(state).model_fields if isinstance(state, BaseModel) else {}
        for name in _SETTINGS & values.keys() - fields.keys():
            setattr(self, name, values[name])
        of_state = {name: value for name, value in values.items() if name in fields or name not in _SETTINGS}
        if isinstance(state, BaseModel) and state.model_config.get("extra") != "allow":
            kind, known = type(state).__name__, {*fields, "id"}
            for name in of_state.keys() - known:
                warnings.warn(
                    f"`{type(self).__name__}` has no keyword `{name}`, and its state `{kind}` no such field; it has no effect."
                    + suggestion(name, sorted({*known, *self._fields})),
                    UnknownKeyword,
                    stacklevel=user_stacklevel(),
                )
        return of_state

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the last run, which holds what only this process has."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_last")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=Lock(), _last=None)

    def __setattr__(self, name: str, value: Any) -> None:
        # `flow.stream = True` sets the field, as in CrewAI; reading it gives the method.
        super().__setattr__("streaming" if name == "stream" and isinstance(value, bool) else name, value)

    @classmethod
    def stored_classes(cls) -> tuple[type[Any], ...]:
        """Return the classes of values in checkpoints that the code of the class does not name."""
        return extension("conversations").STORED_CLASSES if cls.conversational else ()

    @classmethod
    def topology(cls) -> FlowTopology:
        """Return the methods and their triggers; `flow_definition` returns the flow as a declaration."""
        return cls._definition

    @property
    def flow_name(self) -> str:
        """The flow's name, else that of its class."""
        name = self.name  # may be a method of a subclass
        return name if isinstance(name, str) else type(self).__name__

    @property
    def state(self) -> State:
        """The state: inside a method that of the current run, outside that of the last run."""
        return self.running_state(self._state)

    @state.setter
    def state(self, value: State) -> None:
        if (current := self.running_state(None)) is value:  # as after `self.state |= {...}`
            return
        if current is not None:
            raise AttributeError(
                f"`self.state` of flow `{self.flow_name}` cannot be replaced while it runs. Assign to its fields, as in "
                "`self.state.topic = ...`, or `self.state.update(...)` if it is a dict."
            )
        self._state = value

    def running_state(self, otherwise: object) -> Any:
        """Return the state of the current run of this flow, or `otherwise` outside of runs."""
        writer = CURRENT_WRITER.get()
        return writer.state if writer is not None and writer.flow is self else otherwise

    @property
    def flow_id(self) -> str:
        """The `id` of the state."""
        return state_id(self.state)

    @property
    def method_outputs(self) -> list[Any]:
        """The return values of the last run's methods, in order of completion."""
        return list(self._last.outputs) if self._last is not None else []

    @property
    def usage_metrics(self) -> UsageMetrics:
        """Token usage of the last run in this process: of crews, agents and `LLM.call`."""
        return self._last.usage.total if self._last is not None else UsageMetrics()

    @property
    def human_feedback_history(self) -> list[Any]:
        """The `HumanFeedbackResult`s of the last run, in order."""
        return list(self._last.feedback) if self._last is not None else []

    @property
    def last_human_feedback(self) -> Any:
        """The last `HumanFeedbackResult` of the last run, or None."""
        history = self.human_feedback_history
        return history[-1] if history else None

    def new_state(self, inputs: Inputs, before: object = None) -> Any:
        """Create the state that a run with these inputs starts with.

        Args:
            inputs: The inputs of the run.
            before: The state to start from; None uses the object's state.
        """
        extra = run_extension(inputs)
        with self._lock:
            first, self._has_started = not self._has_started, True
            if before is None and extra is not None:
                before = extra.state_before(self, self._state, inputs)
        # The first run uses the object's state itself; later ones, which may be concurrent, use copies.
        source = before if before is not None else self._state if first else self._state_copy()
        state = with_inputs(source, state_inputs(inputs), self.flow_name)
        if extra is not None:
            extra.begin(self, state, inputs)
        return state

    def detached_state(self, inputs: Inputs) -> Any:
        """Create the state of a run that is not shown by this object: a copy with its own `id`."""
        return with_inputs(with_new_id(self._state_copy()), inputs, self.flow_name)

    def detached(self) -> Self:
        """Return a flow with the settings of this one that shares no state with it, for one run of many."""
        flow = copy(self)
        flow._state, flow._lock, flow._has_started = self._state_copy(), Lock(), False
        flow._last = flow._resumed_id = None
        return flow

    def _state_copy(self) -> object:
        return read_with_retries(lambda: create_state(self._state, self.flow_name))

    def restored_state(self, values: Mapping[str, object]) -> Any:
        """Create a state with these values; those of other types are kept, as methods may leave them."""
        state = self._fresh_state()
        if isinstance(state, BaseModel):
            defaults = vars(state)  # may be values that their types forbid, and are no inputs then
            changed = {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}
            try:
                return with_inputs(state, changed, self.flow_name)
            except DefinitionError as error:
                warnings.warn(f"{error}. The values are kept as they are.", stacklevel=user_stacklevel())
            for name, value in changed.items():
                with suppress(ValidationError):
                    value = assigned(state, name, value)
                object.__setattr__(state, name, value)
            return state
        return StateDict(values)

    def take_state(self, state: Any) -> None:
        """Set the state of the object."""
        self._state = state

    def take_resumed_id(self) -> str | None:
        """Return the id of the run that the next kickoff continues, and clear it; None if there is none.

        Raises:
            DefinitionError: `Flow.__init__` was not called.
        """
        if "_resumed_id" not in vars(self):
            raise DefinitionError(
                f"`__init__` of flow `{type(self).__name__}` does not call `super().__init__()`, which makes the state. "
                "Call it first there."
            )
        flow_id, self._resumed_id = self._resumed_id, None
        return flow_id

    def last_run(self) -> Any:
        """Return the last run of this object, or None."""
        return self._last

    def set_last_run(self, run: object) -> None:
        """Set the last run of this object."""
        self._last = run

    def _fresh_state(self) -> object:
        source = self.initial_state if self.initial_state is not None else state_source(type(self))
        if source is None and self.conversational:
            source = extension("conversations.state")
        return create_state(source, self.flow_name)

    def remember(self, content: str | list[str], **words: Any) -> MemoryRecord | list[MemoryRecord] | None:
        """Store one or several texts; see `Memory.remember` and `Memory.remember_many` for the arguments.

        Storing a memory is a side effect of the method, like writing a file: it stays if the method fails later. A method that
        runs again after a crash stores it again, which makes no second record of the same text in the same scope.

        Raises:
            StorageError: it cannot be kept.
        """
        memory = self._checked_memory(self.memory)
        if isinstance(content, list):
            return memory.remember_many(content, **words)
        return memory.remember(content, **words)

    async def aremember(self, content: str | list[str], **words: object) -> MemoryRecord | list[MemoryRecord] | None:
        """Store one or several texts, on the current event loop; see `remember`."""
        memory = self._checked_memory(self.memory)
        if isinstance(content, list):
            return await memory.aremember_many(content, **words)
        return await memory.aremember(content, **words)

    def recall(self, query: str, **words: object) -> list[MemoryMatch]:
        """Return the memories that match a query, best first; see `Memory.recall` for the arguments.

        Raises:
            StorageError: it cannot be read.
        """
        return self._checked_memory(self.memory).recall(query, **words)

    async def arecall(self, query: str, **words: object) -> list[MemoryMatch]:
        """Return the memories that match a query, on the current event loop; see `recall`."""
        return await self._checked_memory(self.memory).arecall(query, **words)

    def extract_memories(self, content: str) -> list[str]:
        """Return the statements in a text that are worth remembering; see `Memory.extract_memories`. Nothing is stored."""
        return self._checked_memory(self.memory).extract_memories(content)

    async def aextract_memories(self, content: str) -> list[str]:
        """Return the statements in a text that are worth remembering, on the current event loop; see `extract_memories`."""
        return await self._checked_memory(self.memory).aextract_memories(content)

    def _checked_memory(self, memory: Any) -> Any:
        """Return a memory unchanged if flows can use it.

        Raises:
            DefinitionError: it does not remember; the class may have something else under the name `memory`.
        """
        if all(callable(getattr(memory, method_name, None)) for method_name in ("remember", "recall")):
            return memory
        raise DefinitionError(
            f"`memory` of flow `{type(self).__name__}` is {memory!r:.60}; pass a `Memory()`, a scope or a slice of one, or leave "
            "it out for a memory of its own"
        )

    @property
    def _methods(self) -> Mapping[str, FlowMethod]:
        return MappingProxyType(dict(self._definition.methods))

    @property
    def _listeners(self) -> Mapping[str, list[FlowMethod]]:
        listeners: dict[str, list[FlowMethod]] = {}
        for method in self._definition.methods.values():
            for event in events_of(method.trigger):
                listeners.setdefault(event, []).append(method)
        return MappingProxyType(listeners)

    @property
    def _routers(self) -> Mapping[str, FlowMethod]:
        methods = self._definition.methods
        return MappingProxyType({name: method for name, method in methods.items() if method.is_router})

    @property
    def _method_outputs(self) -> list[object]:
        return self.method_outputs

    @property
    def _completed_methods(self) -> frozenset[str]:
        return frozenset(self._last.completed) if self._last is not None else frozenset()

    @property
    def _method_execution_counts(self) -> Mapping[str, int]:
        return MappingProxyType(dict(self._last.completed) if self._last is not None else {})
