"""Methods that wait for the first of several: when edges do for them, and what has no translation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.method import Condition, OrCondition, events_of
from crewgraph.eject.concurrent import at_once, says_several
from crewgraph.eject.events import Events
from crewgraph.eject.refusals import Refusals

__all__ = ["beside", "refuse_races"]


@dataclass(frozen=True)
class _Source:
    """One of those that are waited for."""

    methods: tuple[str, ...]
    """The method; all of them, where it is several that are waited for together."""

    label: str | None = None
    """What a router says."""

    def __str__(self) -> str:
        said = f" saying `{self.label}`" if self.label is not None else ""
        return " with ".join(f"`{one}`" for one in self.methods) + said


def refuse_races(events: Events, refusals: Refusals) -> None:
    """Refuse methods that would run twice, or once too few, if each of what they wait for led to them by an edge."""
    for name, method in events.definition.methods.items():
        trigger = method.trigger
        if not isinstance(trigger, OrCondition) or len(trigger.conditions) < 2:
            continue
        sources = list(dict.fromkeys(_sources(events, trigger)))
        if why := _why(events, name, sources):
            instead = "let it wait for one of them, or for all (`and_`)"
            refusals.add(f"method `{name}`", f"{why}; {instead}")


def beside(definition: FlowDefinition, one: str, other: str) -> bool:
    """Whether two methods run in the same step each time: both begin the flow, or both wait for the same event."""
    first, second = definition.methods[one], definition.methods[other]
    if first.is_start or second.is_start:
        return first.is_start and second.is_start and first.condition == second.condition
    return isinstance(first.trigger, str) and first.trigger == second.trigger


def _why(events: Events, name: str, sources: list[_Source]) -> str:
    """Why edges do not do for a method; empty where they do."""
    definition = events.definition
    is_router = definition.methods[name].is_router
    for one, other in combinations(sources, 2):
        if _meet(events, one, other) and (is_router or not _same_step(definition, one, other)):
            return f"it waits for the first of {one} and {other}, which may end in different steps of the graph"
    if is_router:  # it runs for each of them, as edges have it
        return ""
    for one, other in permutations(sources, 2):
        if one.methods != other.methods and _is_behind(events, name, one, other):
            return f"it runs once for {one} and {other}, of which the second may come after the first"
    return ""


def _sources(events: Events, trigger: OrCondition) -> Iterator[_Source]:
    for one in trigger.conditions:
        yield from _sources_of(events, one)


def _sources_of(events: Events, condition: Condition) -> Iterator[_Source]:
    methods = events.definition.methods
    if isinstance(condition, OrCondition):
        yield from _sources(events, condition)
    elif not isinstance(condition, str):
        found = [source.methods for one in events_of(condition) for source in _sources_of(events, one)]
        yield _Source(tuple(dict.fromkeys(one for ones in found for one in ones)))
    elif condition in methods:
        yield _Source((condition,))
    else:
        for speaker in events.speakers(condition):
            yield _Source((speaker,), condition if methods[speaker].is_router else None)


def _meet(events: Events, one: _Source, other: _Source) -> bool:
    """Whether two may happen at once, or each is a part of the other."""
    if one.methods == other.methods:
        return False
    return any(first == second or at_once(events, first, second) for first in one.methods for second in other.methods)


def _same_step(definition: FlowDefinition, one: _Source, other: _Source) -> bool:
    names = [*one.methods, *other.methods]
    if len(names) > 2 or (one.label is None) != (other.label is None):
        return False
    return beside(definition, *names)


def _is_behind(events: Events, name: str, one: _Source, other: _Source) -> bool:
    """Whether one may come after another without anything having run again, which would be another round.

    What a router says is a signal of its own, but where it follows another router at once.
    """
    methods = events.definition.methods
    before = _before(events, one.methods, name)
    found, todo = set[str](), _after(events, one)
    while todo:
        method = todo.pop()
        if method in found or method in before:
            continue
        if other.label is not None and (one.label is None or not methods[method].is_router):
            continue
        found.add(method)
        todo += events.following(method)
    return any(method in found for method in other.methods)


def _after(events: Events, source: _Source) -> list[str]:
    """What runs because of a source."""
    found = [one for name in source.methods for one in events.following(name)]
    if source.label is None or says_several(events.definition.methods[source.methods[0]].func):
        return found
    speaker = source.methods[0]
    routes = events.routes.get(speaker, {})
    heard = {*events.edges.get(speaker, ()), *routes.get(source.label, ())}
    unheard = {one for label, ones in routes.items() if label != source.label for one in ones} - heard
    return [one for one in found if one not in unheard]


def _before(events: Events, names: Iterable[str], without: str) -> set[str]:
    """Methods, and all that lead to them, but for those that do so by way of another one."""
    found, todo = set[str](), list(names)
    while todo:
        name = todo.pop()
        if name not in found and name != without:
            found.add(name)
            todo += [one for one in events.definition.methods if name in events.following(one)]
    return found
