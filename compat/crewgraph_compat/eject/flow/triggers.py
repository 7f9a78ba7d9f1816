"""The triggers of a flow as a graph: which methods may run concurrently, and which races have no translation."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any

from crewgraph.definitions.flow.definition import DerivedCache, FlowTopology
from crewgraph.definitions.flow.method import (
    AndCondition,
    Condition,
    OrCondition,
    events_of,
    returned_labels,
    texts_in_code,
)
from crewgraph_compat.eject.refusals import Refusals


@dataclass
class TriggerGraph:
    """The successors of each method.

    Args:
        definition: the flow.
        refusals: collects the parts that have no translation.
    """

    definition: FlowTopology
    refusals: Refusals
    edges: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By method, the methods that always run after it."""

    joins: list[tuple[tuple[str, ...], str]] = field(default_factory=list[tuple[tuple[str, ...], str]])
    """Methods that wait for several events."""

    routes: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    """By router and label, the methods that the label triggers."""

    waits: dict[str, str] = field(default_factory=dict[str, str])
    """By label that is part of a joint condition, the node that represents it."""

    starts: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.starts = list(self.definition.starts)
        for name, method in self.definition.methods.items():
            for condition, again in ((method.trigger, False), (method.condition, True)):
                if condition is not None:
                    self._add(name, condition, again=again)

    def emitters(self, label: str) -> list[str]:
        """Return the methods that may return a label."""
        results: list[str] = []
        for name, method in self.definition.methods.items():
            labels = set(method.labels) | texts_in_code(method.func)
            computed = not method.labels and returned_labels(method.func) is None
            if (method.is_router and (label in labels or computed)) or (
                not method.is_router and label in self.definition.emitted_labels and label in labels
            ):
                results.append(name)
        return results

    def unheard(self, name: str) -> bool:
        """Return whether a method may return a label without listeners, which ends the flow."""
        method = self.definition.methods[name]
        labels = returned_labels(method.func)
        return labels is None or not labels or not set(labels) <= set(self.routes.get(name, {}))

    def following(self, name: str) -> list[str]:
        """Return all methods that a method may trigger."""
        results = [*self.edges.get(name, []), *(item for ones in self.routes.get(name, {}).values() for item in ones)]
        waited = {node for node in self.waits.values() if node in results}
        results += [target for sources, target in self.joins if name in sources or waited & set(sources)]
        return [item for item in dict.fromkeys(results) if item in self.definition.methods]

    def is_sure(self, name: str) -> bool:
        """Return whether the end of a method always triggers something."""
        return bool(self.edges.get(name)) or any(name in sources for sources, _ in self.joins)

    def _add(self, name: str, condition: Condition, *, again: bool) -> None:
        if isinstance(condition, str):
            self._event(name, condition, again=again)
        elif isinstance(condition, OrCondition) or len(events_of(condition)) == 1:
            for item in condition.conditions:
                self._add(name, item, again=again)
        elif isinstance(condition, AndCondition):
            if not all(isinstance(entry, (str, OrCondition)) for entry in condition.conditions):
                self.refusals.add(f"method `{name}`", "it waits for a nested condition")
                return
            self.joins.append((tuple(dict.fromkeys(map(self._waited, condition.conditions))), name))

    def _event(self, name: str, event: str, *, again: bool) -> None:
        if event in self.definition.methods:
            if not again:
                self.edges.setdefault(event, []).append(name)
            return
        for emitter in self.emitters(event):
            self.routes.setdefault(emitter, {}).setdefault(event, []).append(name)

    def _waited(self, event: Condition) -> str:
        """Return the node to wait for: a method's, or one for a label or for any of several events."""
        if not isinstance(event, str):
            return self._any_of(events_of(event))
        if event in self.definition.methods:
            return event
        if event not in self.waits:
            self.waits[event] = f"label {event}"
            for emitter in self.emitters(event):
                self.routes.setdefault(emitter, {}).setdefault(event, []).append(self.waits[event])
        return self.waits[event]

    def _any_of(self, events: tuple[str, ...]) -> str:
        """Return the node that any of several events leads to."""
        key = " or ".join(events)
        if key not in self.waits:
            self.waits[key] = key
            for event in events:
                if event in self.definition.methods:
                    self.edges.setdefault(event, []).append(key)
                else:
                    for emitter in self.emitters(event):
                        self.routes.setdefault(emitter, {}).setdefault(event, []).append(key)
        return key


def without_later_events(definition: FlowTopology) -> FlowTopology:
    """Return a flow without the events of `or_` that only come after another one of it, which has triggered the listener."""
    methods = {
        name: replace(method, trigger=_first_events(definition, method.trigger))
        if isinstance(method.trigger, OrCondition) and not method.is_router
        else method
        for name, method in definition.methods.items()
    }
    return replace(definition, methods=methods, derived=DerivedCache())


def _first_events(definition: FlowTopology, trigger: OrCondition) -> Condition:
    events = trigger.conditions
    first = tuple(event for event in events if not any(each in events for each in _always_before(definition, event)))
    return first[0] if len(first) == 1 else replace(trigger, conditions=first)


def _always_before(definition: FlowTopology, event: Condition) -> Iterator[str]:
    """Yield the methods that a method runs directly behind, and those behind which they do."""
    passed: set[object] = set()
    while isinstance(event, str) and event in definition.methods and event not in passed:
        passed.add(event)
        method = definition.methods[event]
        if method.is_start or not isinstance(method.trigger, str) or method.trigger not in definition.methods:
            return
        event = method.trigger
        yield event


def has_parallel_branches(events: TriggerGraph) -> bool:
    """Return whether any methods of a flow run concurrently."""
    return any(len(branches) > 1 for _, branches in _forks(events))


def may_run_concurrently(events: TriggerGraph, left: str, other: str) -> bool:
    """Return whether two methods may run concurrently: they are on different branches and neither precedes the other."""
    for fork, branches in _forks(events):
        reached = {branch: _reached(events, branch, fork) for branch in branches}
        for first in branches:
            for second in branches:
                if first == second or left not in reached[first] or other not in reached[second]:
                    continue
                if other not in _reached(events, left, fork) and left not in _reached(events, other, fork):
                    return True
    return False


def _forks(events: TriggerGraph) -> list[tuple[str, list[str]]]:
    results = [("", list(events.starts))]
    for name in events.definition.methods:
        sure = [*events.edges.get(name, ())]
        ways = [*events.routes.get(name, {}).values()]
        if returns_several_labels(events.definition.methods[name].func):
            ways.append([target for targets in ways for target in targets])
        for targets in ways:
            results.append(
                (
                    name,
                    list(
                        dict.fromkeys([*sure, *(target for target in targets if target in events.definition.methods)])
                    ),
                )
            )
        results.append((name, sure))
    return [(name, branches) for name, branches in results if len(branches) > 1]


def returns_several_labels(function: Any) -> bool:
    """Return whether a router may return several labels: some path returns a list or a value that cannot be determined."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return any(isinstance(item, (ast.List, ast.Tuple, ast.ListComp)) for item in values)


def _reached(events: TriggerGraph, start: str, without: str) -> set[str]:
    """Return a method and its successors, excluding those reachable only through another method."""
    result, todo = {start}, [start]
    while todo:
        for name in events.following(todo.pop()):
            if name not in result and name != without:
                result.add(name)
                todo.append(name)
    return result


@dataclass(frozen=True)
class _Source:
    """One of the sources that a method waits for."""

    methods: tuple[str, ...]
    """The method, or all methods of a joint condition."""

    label: str | None = None
    """The label of a router."""

    def __str__(self) -> str:
        suffix = f" with the label `{self.label}`" if self.label is not None else ""
        return " with ".join(f"`{method}`" for method in self.methods) + suffix


def refuse_races(events: TriggerGraph, refusals: Refusals) -> None:
    """Refuse methods that would run twice, or once too few, if each of their triggers were an edge."""
    for name, method in events.definition.methods.items():
        trigger = method.trigger
        if not isinstance(trigger, OrCondition) or len(trigger.conditions) < 2:
            continue
        sources = list(dict.fromkeys(_sources(events, trigger)))
        if why := _why(events, name, sources):
            instead = "make it wait for one of them, or for all of them (`and_`)"
            refusals.add(f"method `{name}`", f"{why}; {instead}")


def always_in_same_step(definition: FlowTopology, left: str, other: str) -> bool:
    """Return whether two methods always run in the same step: both start the flow or both wait for the same event."""
    first, second = definition.methods[left], definition.methods[other]
    if first.is_start or second.is_start:
        return first.is_start and second.is_start and first.condition == second.condition
    return isinstance(first.trigger, str) and first.trigger == second.trigger


def _why(events: TriggerGraph, name: str, sources: list[_Source]) -> str:
    """Return why edges cannot express a method's triggers; empty if they can."""
    definition = events.definition
    is_router = definition.methods[name].is_router
    for first, other in combinations(sources, 2):
        if _meet(events, first, other) and (is_router or not _same_step(definition, first, other)):
            return f"it waits for the first of {first} and {other}, which may finish in different steps of the graph"
    if is_router:  # it runs once per source, as with edges
        return ""
    for first, other in permutations(sources, 2):
        if first.methods != other.methods and _is_behind(events, name, first, other):
            return f"it runs once for {first} and {other}, but the second may run after the first"
    return ""


def _sources(events: TriggerGraph, trigger: OrCondition) -> Iterator[_Source]:
    for condition in trigger.conditions:
        yield from _sources_of(events, condition)


def _sources_of(events: TriggerGraph, condition: Condition) -> Iterator[_Source]:
    methods = events.definition.methods
    if isinstance(condition, OrCondition):
        yield from _sources(events, condition)
    elif not isinstance(condition, str):
        results = [source.methods for item in events_of(condition) for source in _sources_of(events, item)]
        yield _Source(tuple(dict.fromkeys(item for ones in results for item in ones)))
    elif condition in methods:
        yield _Source((condition,))
    else:
        for emitter in events.emitters(condition):
            yield _Source((emitter,), condition if methods[emitter].is_router else None)


def _meet(events: TriggerGraph, left: _Source, other: _Source) -> bool:
    """Return whether two sources may occur concurrently, or one is a part of the other."""
    if left.methods == other.methods:
        return False
    return any(
        first == second or may_run_concurrently(events, first, second)
        for first in left.methods
        for second in other.methods
    )


def _same_step(definition: FlowTopology, first: _Source, other: _Source) -> bool:
    names = [*first.methods, *other.methods]
    if len(names) > 2 or (first.label is None) != (other.label is None):
        return False
    return always_in_same_step(definition, *names)


def _is_behind(events: TriggerGraph, name: str, first: _Source, other: _Source) -> bool:
    """Return whether one source may follow another without a repeated method, which would be another round.

    A router's label is a separate event, except directly after another router.
    """
    methods = events.definition.methods
    before = _before(events, first.methods, name)
    result, todo = set[str](), _after(events, first)
    while todo:
        method = todo.pop()
        if method in result or method in before:
            continue
        if other.label is not None and (first.label is None or not methods[method].is_router):
            continue
        result.add(method)
        todo += events.following(method)
    return any(method in result for method in other.methods)


def _after(events: TriggerGraph, source: _Source) -> list[str]:
    """Return the methods that a source triggers."""
    results = [item for name in source.methods for item in events.following(name)]
    if source.label is None or returns_several_labels(events.definition.methods[source.methods[0]].func):
        return results
    emitter = source.methods[0]
    routes = events.routes.get(emitter, {})
    triggered = {*events.edges.get(emitter, ()), *routes.get(source.label, ())}
    unheard = {item for label, ones in routes.items() if label != source.label for item in ones} - triggered
    return [item for item in results if item not in unheard]


def _before(events: TriggerGraph, names: Iterable[str], without: str) -> set[str]:
    """Return methods and their predecessors, excluding those that lead to them only through another method."""
    result, todo = set[str](), list(names)
    while todo:
        name = todo.pop()
        if name not in result and name != without:
            result.add(name)
            todo += [method for method in events.definition.methods if name in events.following(method)]
    return result
