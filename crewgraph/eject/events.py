"""The triggers of a flow as edges: from methods, from labels, and from several that are waited for."""

from dataclasses import dataclass, field

from crewgraph.compiler.flow.plan import Plan
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.method import (
    AndCondition,
    Condition,
    OrCondition,
    events_of,
    returned_labels,
    texts_in_code,
)
from crewgraph.eject.refusals import Refusals

__all__ = ["Events"]


@dataclass
class Events:
    """What leads to what.

    Args:
        definition: the flow.
        refusals: what has no translation.
    """

    definition: FlowDefinition
    refusals: Refusals
    edges: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By method, those that run whenever it has ended."""

    joins: list[tuple[tuple[str, ...], str]] = field(default_factory=list[tuple[tuple[str, ...], str]])
    """Methods that wait for several."""

    routes: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    """By method that says labels, and by label, those that run because of it."""

    waits: dict[str, str] = field(default_factory=dict[str, str])
    """By label that is waited for together with others, the node that stands for it."""

    starts: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.starts = list(Plan(self.definition).starts)
        for name, method in self.definition.methods.items():
            for condition, again in ((method.trigger, False), (method.condition, True)):
                if condition is not None:
                    self._add(name, condition, again=again)

    def speakers(self, label: str) -> list[str]:
        """The methods that may say a label."""
        found: list[str] = []
        for name, method in self.definition.methods.items():
            told = set(method.labels) | texts_in_code(method.func)
            computed = not method.labels and returned_labels(method.func) is None
            if (method.is_router and (label in told or computed)) or (
                not method.is_router and label in self.definition.said and label in told
            ):
                found.append(name)
        return found

    def unheard(self, name: str) -> bool:
        """Whether a method may say something that nobody waits for, so that the flow may end with it."""
        method = self.definition.methods[name]
        told = returned_labels(method.func)
        return told is None or not told or not set(told) <= set(self.routes.get(name, {}))

    def following(self, name: str) -> list[str]:
        """All that may run because of a method."""
        found = [*self.edges.get(name, []), *(one for ones in self.routes.get(name, {}).values() for one in ones)]
        waited = {node for node in self.waits.values() if node in found}
        found += [target for sources, target in self.joins if name in sources or waited & set(sources)]
        return [one for one in dict.fromkeys(found) if one in self.definition.methods]

    def is_sure(self, name: str) -> bool:
        """Whether something runs in any case when a method has ended."""
        return bool(self.edges.get(name)) or any(name in sources for sources, _ in self.joins)

    def _add(self, name: str, condition: Condition, *, again: bool) -> None:
        if isinstance(condition, str):
            self._event(name, condition, again=again)
        elif isinstance(condition, OrCondition) or len(events_of(condition)) == 1:
            for one in condition.conditions:
                self._add(name, one, again=again)
        elif isinstance(condition, AndCondition):
            if not all(isinstance(one, (str, OrCondition)) for one in condition.conditions):
                self.refusals.add(f"method `{name}`", "it waits for several, of which some are several themselves")
                return
            self.joins.append((tuple(dict.fromkeys(map(self._waited, condition.conditions))), name))

    def _event(self, name: str, event: str, *, again: bool) -> None:
        if event in self.definition.methods:
            if not again:
                self.edges.setdefault(event, []).append(name)
            return
        for speaker in self.speakers(event):
            self.routes.setdefault(speaker, {}).setdefault(event, []).append(name)

    def _waited(self, event: Condition) -> str:
        """The node that is waited for: a method's, or one for a label, or for any of several."""
        if not isinstance(event, str):
            return self._any_of(events_of(event))
        if event in self.definition.methods:
            return event
        if event not in self.waits:
            self.waits[event] = f"said {event}"
            for speaker in self.speakers(event):
                self.routes.setdefault(speaker, {}).setdefault(event, []).append(self.waits[event])
        return self.waits[event]

    def _any_of(self, events: tuple[str, ...]) -> str:
        """The node that any of several leads to."""
        key = " or ".join(events)
        if key not in self.waits:
            self.waits[key] = key
            for one in events:
                if one in self.definition.methods:
                    self.edges.setdefault(one, []).append(key)
                else:
                    for speaker in self.speakers(one):
                        self.routes.setdefault(speaker, {}).setdefault(one, []).append(key)
        return key
