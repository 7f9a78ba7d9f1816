"""The trigger plan of a flow: which methods listen to which event, and which may run more than once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from crewgraph.core.digests import digest
from crewgraph.definitions.flow.definition import FlowTopology, plain_condition
from crewgraph.definitions.flow.method import FlowMethod, OrCondition, events_of, labels_in_code


@dataclass(frozen=True)
class TriggerPlan:
    """A flow's definition, indexed by its events."""

    definition: FlowTopology

    @cached_property
    def methods(self) -> Mapping[str, FlowMethod]:
        """The methods by name."""
        return self.definition.methods

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
    def emitted_labels(self) -> frozenset[str]:
        """The labels that plain methods fire by returning them."""
        return self.definition.emitted_labels

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
