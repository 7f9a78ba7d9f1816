"""The algebra of triggers: which methods run after one has completed. Pure functions.

An *execution* is one run of one method; its id is the method's name and the *round* it runs in. An execution inherits the
round of its trigger; running again in the same round starts a new one. A *wave* groups the labels that the routers of one
event return: an `or_` over labels of one wave, and over that event, fires once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypeAlias, cast

from typing_extensions import TypedDict  # typing's own has no JSON schema before Python 3.12, which Studio needs

from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.definitions.flow.method import Condition, is_met, label_of
from crewgraph.errors import FlowLoopError
from crewgraph.schema import PlainDict

__all__ = [
    "Execution",
    "GraphState",
    "GraphUpdate",
    "Progress",
    "check_calls",
    "initial_progress",
    "labels_of",
    "next_progress",
]

GraphState: TypeAlias = Mapping[str, Any]
"""The state of a flow's graph, by channel."""

GraphUpdate: TypeAlias = dict[str, Any]
"""A change of that state, as a node returns it."""

_BEGINNING = ""
"""The wave of the first routers of a run."""


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

    definition: NotRequired[str]
    """A digest of the methods and triggers that the run began with; empty if it began with a restored question."""


def initial_progress(plan: TriggerPlan, starting: Sequence[str], run: str) -> Progress:
    """Return the progress of a new run that starts with these methods."""
    return {
        "run": run,
        "definition": plan.digest,
        "inflight": {
            f"{name}#1": {
                "method": name,
                "source": None,
                "label": None,
                "round": 1,
                "wave": _BEGINNING if plan.methods[name].is_router else None,
            }
            for name in starting
        },
        "pending": {},
        "fired": {},
        "ran": {name: (1, 1) for name in starting if name in plan.repeating},
        "results": {},
        "last": None,
    }


def labels_of(plan: TriggerPlan, method: str, value: object) -> list[str]:
    """Return the labels that a method fires by returning a value."""
    if plan.methods[method].is_router:
        values = cast("Sequence[object]", value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
        return [label_of(item) for item in values if item is not None]
    return [value] if isinstance(value, str) and value in plan.emitted_labels else []


def next_progress(plan: TriggerPlan, progress: Progress, done: str, labels: Sequence[str], result: object) -> Progress:
    """Return the progress after an execution has completed.

    Args:
        plan: the flow.
        progress: the progress before.
        done: the execution's id.
        labels: what it fires besides its own name; see `labels_of`.
        result: its return value, in the form of checkpoints.
    """
    step = _Step(plan, progress, done)
    step.fire(progress["inflight"][done]["method"], None)
    for label in labels:
        step.fire(label, label)
    return step.progress(result)


def check_calls(plan: TriggerPlan, progress: Progress, method: str, limit: int) -> None:
    """Check that a method has not reached its limit of runs.

    Raises:
        FlowLoopError: it has run `limit` times.
    """
    _, times = progress["ran"].get(method, (1, 1))
    if times > limit:
        raise FlowLoopError(
            f"method `{method}` of flow `{plan.definition.name}` has run {limit} times (`max_method_calls`). If the loop is "
            "meant to run longer, raise `max_method_calls` of the flow's class; a stored run can then be resumed."
        )


class _Step:
    """Collects the effects of one completion."""

    def __init__(self, plan: TriggerPlan, progress: Progress, done: str) -> None:
        self.plan, self.before, self.done = plan, progress, done
        self.cause = progress["inflight"][done]
        method = plan.methods.get(self.cause["method"])  # an edited flow may lack one that a run has completed
        self.by_router = method is not None and method.is_router
        self.pending, self.fired = dict(progress["pending"]), dict(progress["fired"])
        self.ran = dict(progress["ran"])
        self.new: dict[str, Execution] = {}
        self._triggered: set[str] = set()

    def fire(self, event: str, label: str | None) -> None:
        """Trigger the listeners of an event."""
        for name in self.plan.listeners.get(event, ()):
            method = self.plan.methods[name]
            if name in self._triggered:
                continue
            if event in self.plan.triggers[name] and self._is_due(name, event, label):
                self._receive(name, name, method.trigger, event, label)
            if label is not None and event in self.plan.again[name] and name not in self._triggered:
                self._receive(name, f"{name}@", method.condition, event, label)

    def _is_due(self, name: str, event: str, label: str | None) -> bool:
        """Whether a listener has not run in this round; labels of different waves trigger it separately."""
        if name not in self.plan.racing or name not in self.fired:
            return True
        number, wave = self.fired[name]
        return self.cause["round"] > number or (self._is_routed(label) and self.cause["wave"] != wave)

    def _is_routed(self, label: str | None) -> bool:
        return label is not None and self.by_router

    def _receive(self, name: str, key: str, condition: Condition | None, event: str, label: str | None) -> None:
        assert condition is not None
        seen = {**self.pending.get(key, {}), event: self.cause["round"]}
        if not is_met(condition, seen):
            self.pending[key] = seen
            return
        self.pending.pop(key, None)
        number, routed = max(seen.values()), self._is_routed(label)
        if name in self.plan.racing:
            self.fired[name] = (number, self.cause["wave"] if routed else self.done)
        wave = None
        if self.plan.methods[name].is_router:
            wave = self.cause["wave"] if routed else self.done
        self._triggered.add(name)
        number = self._next_round(name, number)
        self.new[f"{name}#{number}"] = {
            "method": name,
            "source": self.done,
            "label": label,
            "round": number,
            "wave": wave,
        }

    def _next_round(self, name: str, number: int) -> int:
        """Return the round that a method runs in."""
        if name not in self.plan.repeating:
            return number
        last, times = self.ran.get(name, (0, 0))
        number = last + 1 if last >= number else number
        self.ran[name] = (number, times + 1)
        return number

    def progress(self, result: object) -> Progress:
        """Return the resulting progress."""
        before: Mapping[str, Execution] = self.before["inflight"]
        inflight = {**{name: execution for name, execution in before.items() if name != self.done}, **self.new}
        needed = {name for item in inflight.values() for name in (item["source"], item["wave"])}
        return {
            "inflight": inflight,
            "pending": self.pending,
            "fired": self.fired,
            "ran": self.ran,
            "results": {
                **{name: value for name, value in self.before["results"].items() if name in needed},
                self.done: result,
            },
            "last": self.done,
            "run": self.before["run"],
            "definition": self.before.get("definition", ""),
        }
