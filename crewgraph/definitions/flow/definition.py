"""A flow as data: its methods, collected once when its class is defined, their triggers by event, and the checks on them."""

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from crewgraph.core.digests import digest
from crewgraph.definitions.flow.method import (
    AndCondition,
    Condition,
    FlowCondition,
    FlowMethod,
    OrCondition,
    build_method,
    events_of,
    get_metadata,
    is_conversational_only,
    labels_in_code,
    returned_labels,
    texts_in_code,
    uncalled_usage,
)
from crewgraph.definitions.revision import DerivedCache
from crewgraph.errors import DefinitionError
from crewgraph.extensions import extension
from crewgraph.text import suggestion

_RESERVED_NAMES = frozenset(
    (
        "kickoff",
        "kickoff_async",
        "akickoff",
        "state",
        "flow_id",
        "flow_name",
        "topology",
        "initial_state",
        "checkpointer",
        "granularity",
        "max_method_calls",
        "suppress_flow_events",
        "persistence",
        "new_state",
        "detached_state",
        "restored_state",
        "take_state",
        "set_last_run",
        "take_resumed_id",
        "running_state",
    )
)
"""Attributes that every flow needs, so that no method may have these names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FlowTopology:
    """The methods and settings declared by the decorators of a class and its bases."""

    name: str
    methods: Mapping[str, FlowMethod]
    """The methods by name, those of base classes first, in order of definition."""

    persistence: Any = None
    """Where every method's state is saved: a `FlowPersistence`, True for the default, None for nowhere."""

    verbose: bool = False
    """Whether to print each save."""

    is_declared: bool = False
    """Whether the flow is declared in a file: return values are then kept for expressions, and only routers return labels."""

    unfinished: Mapping[str, str] = field(default_factory=dict[str, str])
    """The correct form of decorators that were left without brackets, by name."""

    derived: DerivedCache = field(default_factory=DerivedCache, repr=False)
    """Objects derived from it by other modules, such as its compiled graph."""

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels: events that a method listens to and that are not methods."""
        return frozenset(
            event
            for method in self.methods.values()
            for event in (*events_of(method.trigger), *events_of(method.condition))
            if event not in self.methods
        )

    @cached_property
    def emitted_labels(self) -> frozenset[str]:
        """The labels that plain methods trigger by returning them: those that no router may return.

        If the code of a router does not tell what it returns, it may return any label, apart from those that routers wait for.
        """
        if self.is_declared:
            return frozenset()
        routers = [method for method in self.methods.values() if method.is_router]
        routed = {text for router in routers for text in (*texts_in_code(router.func), *router.labels)}
        if any(_computes_labels(router) for router in routers):
            return self.labels.intersection(event for router in routers for event in events_of(router.trigger)) - routed
        return self.labels - routed

    @cached_property
    def is_persisted(self) -> bool:
        """Whether any state of a run is saved."""
        methods = self.methods.values()
        return self.persistence is not None or any(
            method.persistence not in (None, False) or method.feedback for method in methods
        )

    @cached_property
    def marks(self) -> frozenset[str]:
        """The methods after which the state is saved, if the class does not save it after each."""
        if self.persistence is not None:
            return frozenset()
        return frozenset(name for name, method in self.methods.items() if method.persistence not in (None, False))

    @cached_property
    def digest(self) -> str:
        """A digest of the methods and their triggers, which tells whether a run began with the same ones."""
        return digest(
            {
                name: (
                    method.is_start,
                    method.is_router,
                    plain_condition(method.trigger),
                    plain_condition(method.condition),
                )
                for name, method in self.methods.items()
            }
        )[:12]

    @cached_property
    def has_routers(self) -> bool:
        """Whether any method is a router."""
        return any(method.is_router for method in self.methods.values())

    @cached_property
    def kinds_of_listeners(self) -> Mapping[str, Sequence[bool]]:
        """By event: True if routers listen to it, and then False if other methods do."""
        kinds = {
            event: {self.methods[name].is_router for name in listening} for event, listening in self.listeners.items()
        }
        return {event: sorted(found, reverse=True) for event, found in kinds.items()}

    @cached_property
    def ordered_events(self) -> frozenset[str]:
        """The events whose listeners do not all run at once: several listen to them, one of which is a router."""
        return frozenset(
            event
            for event, listening in self.listeners.items()
            if len(listening) > 1 and True in self.kinds_of_listeners[event]
        )

    @cached_property
    def triggers(self) -> Mapping[str, frozenset[str]]:
        """The events that each method waits for."""
        return {name: frozenset(events_of(method.trigger)) for name, method in self.methods.items()}

    @cached_property
    def again(self) -> Mapping[str, frozenset[str]]:
        """The events that start each method again."""
        return {name: frozenset(events_of(method.condition)) for name, method in self.methods.items()}

    @cached_property
    def listeners(self) -> Mapping[str, tuple[str, ...]]:
        """The listeners of each event: routers first, then others, in definition order."""
        listeners: dict[str, list[str]] = {}
        for name in sorted(self.methods, key=lambda name: not self.methods[name].is_router):
            for event in self.triggers[name] | self.again[name]:
                listeners.setdefault(event, []).append(name)
        return {event: tuple(names) for event, names in listeners.items()}

    @cached_property
    def racing(self) -> frozenset[str]:
        """The listeners that run once per round, on the first of several events."""
        return frozenset(
            name
            for name, method in self.methods.items()
            if isinstance(method.trigger, OrCondition) and len(method.trigger.conditions) > 1 and not method.is_router
        )

    @cached_property
    def starts(self) -> tuple[str, ...]:
        """Return the methods that a run starts with: the starts without a condition, or else all starts."""
        starts = [name for name, method in self.methods.items() if method.is_start]
        return tuple([name for name in starts if self.methods[name].condition is None] or starts)

    @cached_property
    def repeating(self) -> frozenset[str]:
        """Return the methods that may run more than once: on a cycle, with several triggers, or downstream of such a method.

        The others need no counters in the checkpoints, which would grow with the flow.
        """
        following = {name: set(self._following(name)) for name in self.methods}
        incoming = Counter(chain.from_iterable(following.values()))
        once = [name for name in self.methods if not incoming[name] and not self._several(name)]
        for name in once:
            once += (one for one in following[name] if incoming[one] == 1 and not self._several(one))
        return frozenset(self.methods.keys() - set(once))

    def _several(self, name: str) -> bool:
        """Whether a method has several triggering events."""
        method = self.methods[name]
        events = len(self.triggers[name]) + len(self.again[name])
        return events > 1 or (method.is_start and events > 0)

    def _following(self, name: str) -> Iterator[str]:
        """Return the methods that a method may trigger."""
        yield from (listener for listener in self.listeners.get(name, ()) if name in self.triggers[listener])
        labels = labels_in_code(self.methods[name].func)
        for event, listeners in self.listeners.items():
            if (
                self.methods[name].is_router or event in self.emitted_labels
            ):  # a router may name any label, and any method
                yield from listeners if labels is None or event in labels else ()

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """The errors that prevent the flow from running."""
        return tuple(self._find_faults())

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about methods that probably do not behave as intended."""
        return tuple(self._find_warnings())

    def with_persistence(self, persistence: object, verbose: bool) -> "FlowTopology":
        """Return this definition with the state saved after every method."""
        return replace(self, persistence=persistence, verbose=verbose, derived=DerivedCache())

    def _find_faults(self) -> Iterator[str]:
        for name, written in self.unfinished.items():
            yield f"method `{name}` of flow `{self.name}` is decorated without brackets. Write `{written}`."
        if not any(method.is_start for method in self.methods.values()) and "@start()" not in self.unfinished.values():
            yield f"flow `{self.name}` has no `@start()` method, so that nothing would run. Decorate the first method with it."
        for method in self.methods.values():
            if method.name in events_of(method.trigger):
                yield (
                    f"method `{method.name}` of flow `{self.name}` listens to `{method.name}`, which is its own name. Name "
                    "the method or the label otherwise."
                )
            if method.is_router and method.trigger is None and not method.is_start:
                yield (
                    f"router `{method.name}` of flow `{self.name}` has no trigger. Give `@router` the method that it "
                    "routes, or make it a `@start()`."
                )

    def _find_warnings(self) -> Iterator[str]:
        for method in self.methods.values():
            subject = f"method `{method.name}` of flow `{self.name}`"
            ways = ((f"{subject} listens to", method.trigger), (f"{subject} is started again by", method.condition))
            for what, condition in ways:
                for event in events_of(condition):
                    if event in self.labels and not self._can_occur(event):
                        never = " and can never complete" if _requires(condition, event) else ""
                        yield f"{what} `{event}`{never}: there is no such method, and none returns that.{self._suggestion(event)}"
            for event in events_of(method.condition):
                if event in self.methods and not self._can_occur(event, of_routers=True):
                    yield f"{subject} is started again by `{event}`, a method; only labels do that. Add `@listen` to `@start`."

    def _suggestion(self, event: str) -> str:
        """Return a hint about the name that was probably meant."""
        emitted_labels = {label for method in self.methods.values() for label in method.labels}
        return suggestion(event, [*self.methods, *sorted((self.labels | emitted_labels) - {event})])

    def _can_occur(self, label: str, of_routers: bool = False) -> bool:
        """Whether a method returns a label, or may do so."""
        return any(
            label in method.labels or label in texts_in_code(method.func) or _computes_labels(method)
            for method in self.methods.values()
            if method.is_router or not of_routers
        )


def _computes_labels(method: FlowMethod) -> bool:
    """Whether a method's annotation and code do not tell which labels it returns."""
    return not method.labels and returned_labels(method.func) is None


def build_definition(flow: type, base: FlowTopology | None) -> FlowTopology:
    """Return the definition of a class.

    Args:
        flow: the class.
        base: that of its base, whose persistence it inherits.

    Raises:
        DefinitionError: a method has the name of something that flows are run by.
    """
    methods: dict[str, FlowMethod] = {}
    conversational: bool = getattr(flow, "conversational", False)
    for kind in reversed(flow.__mro__):
        for name, value in vars(kind).items():
            notes = get_metadata(value)
            if is_conversational_only(value) and not conversational:
                continue
            if notes is not None:
                if name in _RESERVED_NAMES:
                    raise DefinitionError(
                        f"method `{name}` of flow `{flow.__name__}` has a name that every flow needs for itself. Name it "
                        "otherwise."
                    )
                methods[name] = build_method(name, value, notes)
            elif name in methods and callable(value):  # an override keeps the metadata of the decorators
                methods[name] = replace(methods[name], func=value)
    declared: Mapping[str, FlowMethod] = getattr(flow, "_declared_methods", {})
    methods |= declared
    return FlowTopology(
        name=flow.__name__,
        is_declared=bool(declared),
        methods=extension("conversations.methods")(methods) if conversational else methods,
        unfinished={
            name: written
            for name, value in ChainMap(*[dict(vars(kind)) for kind in flow.__mro__]).items()
            if (written := uncalled_usage(value)) is not None
        },
        persistence=base.persistence if base else None,
        verbose=base.verbose if base else False,
    )


def plain_condition(condition: Condition | None) -> Any:
    """Return a condition as plain data."""
    if not isinstance(condition, FlowCondition):
        return condition
    return {
        "type": condition.type,
        "conditions": [plain_condition(item) for item in condition.conditions],
    }


def _requires(condition: Condition | None, event: str) -> bool:
    """Whether a condition requires an event."""
    if not isinstance(condition, FlowCondition):
        return False
    needed = [item == event if isinstance(item, str) else _requires(item, event) for item in condition.conditions]
    return any(needed) if isinstance(condition, AndCondition) else all(needed)
