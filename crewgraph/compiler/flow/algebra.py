"""The algebra of triggers: which methods run after one has completed. Pure functions.

An *execution* is one run of one method; its id is the method's name and the *round* it runs in. An execution inherits the
round of its trigger; running again in the same round starts a new one. A *wave* groups the labels that the routers of one
event return: an `or_` over labels of one wave, and over that event, fires once.

The routers of an event run first, one after another, each with all that follows it; then the event's listeners, with all that
follows them; then the listeners of the routers' labels. What has to wait for others is kept as *follow-ups*.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NotRequired, TypeAlias, cast

from typing_extensions import TypedDict  # typing's own has no JSON schema before Python 3.12, which Studio needs

from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import Condition, is_met, label_of
from crewgraph.errors import FlowLoopError
from crewgraph.schema import PlainDict

GraphState: TypeAlias = Mapping[str, Any]
"""The state of a flow's graph, by channel."""

GraphUpdate: TypeAlias = dict[str, Any]
"""A change of that state, as a node returns it."""

_BEGINNING = ""
"""The wave of the first routers of a run."""

_LABELS = ":labels"
"""Distinguishes the follow-ups of the labels that an execution returned from those of its own name."""


class Execution(TypedDict):
    """One run of one method."""

    method: str
    source: str | None
    """The execution that triggered it; None at the beginning."""

    label: str | None
    """The label that triggered it, if any."""

    round: int
    wave: str | None
    """For a router: the wave of the labels that it fires, which is the execution that triggered the first of its routers."""

    in_turn: NotRequired[bool]
    """For a router: whether others wait for it, and its labels are fired after theirs."""

    before: NotRequired[str]
    """The key of the follow-ups that begin once it and all that follows it have completed; see `Progress.follow_ups`."""


class FollowUp(TypedDict):
    """An event whose listeners, or one execution, that run once others have completed."""

    done: str
    """The execution whose completion fires the event."""

    cause: Execution
    """That execution."""

    event: str
    label: str | None

    routers: bool
    """Whether the routers are meant, or the other listeners."""

    execution: NotRequired[Execution]
    """The router that runs then, if its trigger has been received already."""


class FollowUps(TypedDict):
    """What runs one after another, each with all that follows it."""

    next: list[FollowUp]
    """The next ones, in order."""

    open: int
    """How many executions, with what follows each, have to complete before the next begins."""

    before: str | None
    """The key of those that begin once these and all that follows them have completed."""


class Progress(TypedDict):
    """The progress of a run."""

    inflight: dict[str, Execution]
    """The running and scheduled executions, by id."""

    pending: dict[str, dict[str, int]]
    """The events received for each unmet condition, with their rounds."""

    fired: dict[str, tuple[int, str | None]]
    """The round and the wave in which each racing listener ran last."""

    ran: dict[str, tuple[int, int]]
    """For methods that may repeat: the last round and the number of runs."""

    results: PlainDict
    """The results that other executions still need, and those of the last ones."""

    last: str | None
    """The execution that completed last."""

    run: str
    """A unique id of the run."""

    follow_ups: NotRequired[dict[str, FollowUps]]
    """What has to wait, by the execution that it follows; missing in flows without routers."""

    definition: str
    """A digest of the methods and triggers that the run began with; empty if it began with a restored question."""


def initial_progress(topology: FlowTopology, starting: Sequence[str], run: str) -> Progress:
    """Return the progress of a new run that starts with these methods."""
    progress: Progress = {
        "run": run,
        "definition": topology.digest,
        "inflight": {
            f"{name}#1": {
                "method": name,
                "source": None,
                "label": None,
                "round": 1,
                "wave": _BEGINNING if topology.methods[name].is_router else None,
            }
            for name in starting
        },
        "pending": {},
        "fired": {},
        "ran": {name: (1, 1) for name in starting if name in topology.repeating},
        "results": {},
        "last": None,
    }
    if topology.has_routers:
        progress["follow_ups"] = {}
    return progress


def labels_of(topology: FlowTopology, method: str, value: object) -> list[str]:
    """Return the labels that a method fires by returning a value."""
    if topology.methods[method].is_router:
        values = cast("Sequence[object]", value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
        return [label_of(item) for item in values if item is not None]
    return [value] if isinstance(value, str) and value in topology.emitted_labels else []


def next_progress(
    topology: FlowTopology, progress: Progress, done: str, labels: Sequence[str], result: object
) -> Progress:
    """Return the progress after an execution has completed.

    Args:
        topology: the flow.
        progress: the progress before.
        done: the execution's id.
        labels: what it fires besides its own name; see `labels_of`.
        result: its return value, in the form of checkpoints.
    """
    cause = progress["inflight"][done]
    step = _ProgressStep(topology, progress, done)
    if "follow_ups" in progress:
        step.complete(cause, labels)
    else:
        step.fire(cause["method"], None)
        for label in labels:
            step.fire(label, label)
    return step.progress(result)


def check_calls(topology: FlowTopology, progress: Progress, method: str, limit: int) -> None:
    """Check that a method has not reached its limit of runs.

    Raises:
        FlowLoopError: it has run `limit` times.
    """
    _, times = progress["ran"].get(method, (1, 1))
    if times > limit:
        raise FlowLoopError(
            f"method `{method}` of flow `{topology.name}` has run {limit} times (`max_method_calls`). If the loop is "
            "meant to run longer, raise `max_method_calls` of the flow's class; a stored run can then be resumed."
        )


class _ProgressStep:
    """Collects the effects of one completion."""

    def __init__(self, topology: FlowTopology, progress: Progress, done: str) -> None:
        self.topology, self.before, self.completed = topology, progress, done
        self.pending, self.fired = dict(progress["pending"]), dict(progress["fired"])
        self.ran = dict(progress["ran"])
        self.new: dict[str, Execution] = {}
        self.done, self.cause = done, progress["inflight"][done]
        """The completion whose events are fired."""

        self._triggered = set[str]()
        self.follow_ups = dict(progress.get("follow_ups", {}))

    def fire(self, event: str, label: str | None, *, routers: bool | None = None) -> dict[str, Execution]:
        """Trigger the listeners of an event: all of them, or only routers or others; return what is to run."""
        started: dict[str, Execution] = {}
        for name in self.topology.listeners.get(event, ()):
            method = self.topology.methods[name]
            if name in self._triggered or (routers is not None and method.is_router is not routers):
                continue
            if event in self.topology.triggers[name] and self._is_due(name, event, label):
                started |= self._receive(name, name, method.trigger, event, label)
            if label is not None and event in self.topology.again[name] and name not in self._triggered:
                started |= self._receive(name, f"{name}@", method.condition, event, label)
        self.new |= started
        return started

    def _is_due(self, name: str, event: str, label: str | None) -> bool:
        """Whether a listener has not run in this round; labels of different waves trigger it separately."""
        if name not in self.topology.racing or name not in self.fired:
            return True
        number, wave = self.fired[name]
        return self.cause["round"] > number or (self._is_routed(label) and self.cause["wave"] != wave)

    def _is_routed(self, label: str | None) -> bool:
        if label is None:
            return False
        method = self.topology.methods.get(self.cause["method"])  # an edited flow may lack one that a run has completed
        return method is not None and method.is_router

    def _receive(
        self, name: str, key: str, condition: Condition | None, event: str, label: str | None
    ) -> dict[str, Execution]:
        assert condition is not None
        seen = {**self.pending.get(key, {}), event: self.cause["round"]}
        if not is_met(condition, seen):
            self.pending[key] = seen
            return {}
        self.pending.pop(key, None)
        number, routed = max(seen.values()), self._is_routed(label)
        if name in self.topology.racing:
            self.fired[name] = (number, self.cause["wave"] if routed else self.done)
        wave = None
        if self.topology.methods[name].is_router:
            wave = self.cause["wave"] if routed else self.done
        self._triggered.add(name)
        number = self._next_round(name, number)
        return {
            f"{name}#{number}": {
                "method": name,
                "source": self.done,
                "label": label,
                "round": number,
                "wave": wave,
            }
        }

    def _next_round(self, name: str, number: int) -> int:
        """Return the round that a method runs in."""
        if name not in self.topology.repeating:
            return number
        last, times = self.ran.get(name, (0, 0))
        number = last + 1 if last >= number else number
        self.ran[name] = (number, times + 1)
        return number

    def progress(self, result: object) -> Progress:
        """Return the resulting progress, with what the execution returned."""
        before: Mapping[str, Execution] = self.before["inflight"]
        inflight = {**{name: execution for name, execution in before.items() if name != self.completed}, **self.new}
        needed = {name for item in inflight.values() for name in (item["source"], item["wave"])}
        if self.follow_ups:
            needed |= self._needed_by_follow_ups()
        progress: Progress = {
            "inflight": inflight,
            "pending": self.pending,
            "fired": self.fired,
            "ran": self.ran,
            "results": {
                **{name: value for name, value in self.before["results"].items() if name in needed},
                self.completed: result,
            },
            "last": self.completed,
            "run": self.before["run"],
            "definition": self.before["definition"],
        }
        if "follow_ups" in self.before:
            progress["follow_ups"] = self.follow_ups
        return progress

    def complete(self, cause: Execution, labels: Sequence[str]) -> None:
        """Begin what follows a completion in a flow with routers, or what waited for it."""
        done, before = self.completed, cause.get("before")
        heard = [event for event in (cause["method"], *labels) if event in self.topology.listeners]
        if before is None and len(heard) < 2 and not self.topology.ordered_events.intersection(heard):
            for event in heard:
                self.fire(event, event if event in labels else None)
            return
        own = self._follow_ups(done, cause, cause["method"], None)
        of_labels = [item for label in labels for item in self._follow_ups(done, cause, label, label)]
        routed = [item for item in of_labels if item["routers"]]
        others = [item for item in of_labels if not item["routers"]]
        if before is not None and cause.get("in_turn"):
            waiting = self.follow_ups[before]
            routers = list(takewhile(lambda item: "execution" in item, waiting["next"]))
            self.follow_ups[before] = {
                **waiting,
                "next": [*routers, *routed, *waiting["next"][len(routers) :], *others],
            }
        elif own and (routed or others):
            after = f"{done}{_LABELS}"
            self.follow_ups[after] = {"next": [*routed, *others], "open": 1, "before": before}
            before = after
        else:
            own += [*routed, *others]
        self._begin(done, own, before)

    def _follow_ups(self, done: str, cause: Execution, event: str, label: str | None) -> list[FollowUp]:
        return [
            {"done": done, "cause": cause, "event": event, "label": label, "routers": routers}
            for routers in self.topology.kinds_of_listeners.get(event, ())
        ]

    def _begin(self, key: str, follow_ups: Sequence[FollowUp], before: str | None) -> None:
        """Begin the first of which something runs; the others follow it, and then those that wait for them."""
        left = list(follow_ups)
        while left:
            follow_up = left.pop(0)
            ran = dict(self.ran) if follow_up["routers"] else {}
            started = self._take(follow_up)
            if not started:
                continue
            if follow_up["routers"]:
                (name, first), *others = started.items()
                left = [*self._put_off(follow_up, others, ran), *left]
                started = {name: first}
                if left:
                    first["in_turn"] = True
            if left:
                self.follow_ups[key] = {"next": left, "open": len(started), "before": before}
                before = key
            elif before is not None:
                waiting = self.follow_ups[before]
                self.follow_ups[before] = {**waiting, "open": waiting["open"] + len(started) - 1}
            if before is not None:
                for execution in started.values():
                    execution["before"] = before
            return
        if before is not None:
            self._leave(before)

    def _put_off(
        self, follow_up: FollowUp, routers: Sequence[tuple[str, Execution]], ran: Mapping[str, tuple[int, int]]
    ) -> Iterator[FollowUp]:
        """Yield the follow-ups of routers that run after the first one of their event."""
        for name, execution in routers:
            del self.new[name]
            if execution["method"] in self.ran:
                self.ran[execution["method"]] = ran.get(execution["method"], (0, 0))
            yield {**follow_up, "execution": execution}

    def _take(self, follow_up: FollowUp) -> dict[str, Execution]:
        if "execution" in follow_up:
            execution = follow_up["execution"]
            number = self._next_round(execution["method"], execution["round"])
            started: dict[str, Execution] = {f"{execution['method']}#{number}": {**execution, "round": number}}
            self.new |= started
            return started
        self.done, self.cause, self._triggered = follow_up["done"], follow_up["cause"], set()
        return self.fire(follow_up["event"], follow_up["label"], routers=follow_up["routers"])

    def _leave(self, key: str) -> None:
        """Note that one of the executions that others wait for has completed, with all that follows it."""
        waiting = self.follow_ups[key]
        if waiting["open"] > 1:
            self.follow_ups[key] = {**waiting, "open": waiting["open"] - 1}
            return
        del self.follow_ups[key]
        self._begin(key, waiting["next"], waiting["before"])

    def _needed_by_follow_ups(self) -> set[str | None]:
        items = [item for waiting in self.follow_ups.values() for item in waiting["next"]]
        executions = [item["execution"] for item in items if "execution" in item]
        return {name for item in items for name in (item["done"], item["cause"]["wave"])} | {
            name for item in executions for name in (item["source"], item["wave"])
        }
