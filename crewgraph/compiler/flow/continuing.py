"""Whether a flow runs all that is left of a stored run, and nothing twice, if it began the run with other methods or triggers.

The run's completions are replayed with the edited triggers. The run can be continued if they lead to where it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.compiler.flow.algebra import FollowUp, GraphState, Progress, initial_progress, labels_of, next_progress
from crewgraph.compiler.flow.record import is_feedback, method_of
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.loops.bridge import call
from crewgraph.core.operations import Program, collected
from crewgraph.core.past import lineage
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.feedback import label_value
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.errors import DefinitionChanged

_FORGOTTEN = "has earlier steps that are not stored any more (`keep_history`), so that what is left to do is not known"


def check_flow_continues(
    run: FlowRun,
    saver: Any,
    place: Mapping[str, object],
    progress: Progress,
    *,
    rewound: str | None = None,
    forks: bool = False,
    can_fork: bool = True,
) -> Program[None]:
    """Check that a flow can continue a stored run.

    Args:
        run: the live state of the run.
        saver: its checkpointer.
        place: the thread, the namespace, and the checkpoint to continue from if that is not the latest.
        progress: the stored progress.
        rewound: the execution to whose completion the run is set back first.
        forks: whether it continues from the checkpoint, without what nodes wrote after it.
        can_fork: whether the run is stored where `flow.fork` finds it.

    Raises:
        DefinitionChanged: the flow has been edited since, so that it would lose or repeat a part of the run.
    """
    name, step = place["thread_id"], None
    if progress["definition"] in ("", run.topology.digest):
        problem = _unknown_method(run.topology, progress)
    else:
        thread = {name: value for name, value in place.items() if name != "checkpoint_id"}
        checkpoints: list[CheckpointTuple] = yield collected(saver, "list", {"configurable": thread})
        past = _Past(run)
        past.read(lineage(checkpoints, cast("str | None", place.get("checkpoint_id"))), forks)
        problem, step = past.compare(rewound)
    if problem is None:
        return
    fork = f", or continue from an earlier step: `flow.fork(flow.history({name!r})[{step}])`"
    raise DefinitionChanged(
        f"the run `{name}` of flow `{run.name}` {problem}: the flow has changed since, and nothing was run. Resume with the "
        f"methods and triggers that the run began with{'' if step is None or not can_fork else fork}."
    )


@dataclass
class _Reached:
    """A point in the past of a run: its beginning, or the completion of an execution."""

    labels: Sequence[str] = ()
    """What the execution fires besides its own name in the edited flow."""

    progress: Progress | None = None
    """The progress then; None if it was stored only after others had completed, too."""

    step: int | None = None
    """The number of the step in the history."""


class _Past:
    """What a run has done, from its checkpoints.

    Args:
        run: the live state of the run, with the edited flow.
    """

    def __init__(self, run: FlowRun) -> None:
        self._run, self._topology = run, run.topology
        self._beginning: GraphState = {}
        self._points: dict[str | None, _Reached] = {}
        """By execution, in order, the beginning under None; empty if the beginning is not known."""

        self._number, self._last = 0, cast("str | None", "")

    def read(self, checkpoints: Sequence[CheckpointTuple], forks: bool) -> None:
        """Read checkpoints, oldest first, and what nodes wrote after the last one unless the run forks there."""
        for checkpoint in checkpoints:
            values: GraphState = checkpoint.checkpoint["channel_values"]
            if "progress" in values:
                if values["progress"]["last"] is None:
                    self._beginning = values
                self._reach(values["progress"])
        if checkpoints and not forks:
            for _, channel, value in checkpoints[-1].pending_writes or ():
                if channel == "progress":  # what a node wrote before the process died
                    self._reach(value)

    def compare(self, rewound: str | None) -> tuple[str | None, int | None]:
        """Return why the flow cannot continue the run, and the last step in its history from which it can."""
        if not self._points:
            return _FORGOTTEN, None
        if rewound is not None:
            self._set_back(rewound)  # what comes after it runs again
        problem, step, count, points = None, None, 0, list(self._points.items())
        for count, replayed in enumerate(self._replayed()):
            point = points[count][1]
            difference = self._difference(point.progress, replayed)
            if difference is None:
                step = step if point.step is None else point.step
            elif count + 1 == len(points):
                problem = difference
        if count + 1 < len(points):
            method = method_of(str(points[count + 1][0]))
            problem = f"has completed method `{method}`, which the flow would not have run yet"
        return problem, step

    def _reach(self, progress: Progress) -> None:
        last = progress["last"]
        if last is None and not self._points:
            self._points[None] = _Reached()
        elif not self._points:
            return
        elif not self._set_back(last):
            before = self._latest.progress
            assert before is not None
            inflight = progress["inflight"]
            ended = {name: None for name in before["inflight"] if name not in inflight and name != last}
            for name in [
                *filter(ended.__contains__, progress["results"]),
                *ended.keys() - progress["results"].keys(),
                str(last),
            ]:
                self._complete(name, progress)
        self._latest.progress = progress
        if last != self._last:
            self._latest.step = self._number
            self._number += 1
        self._last = last

    @property
    def _latest(self) -> _Reached:
        return next(reversed(self._points.values()))

    def _set_back(self, last: str | None) -> bool:
        """Forget what followed an execution, or the beginning; return False if it was not reached before."""
        if last not in self._points or self._points[last].progress is None:
            return False
        while next(reversed(self._points)) != last:
            self._points.popitem()
        return True

    def _complete(self, name: str, progress: Progress) -> None:
        fired = [item["label"] for item in progress["inflight"].values() if item["source"] == name and item["label"]]
        known = name in progress["results"]
        labels = self._labels(name, progress["results"][name], fired) if known else fired
        self._points[name] = _Reached(labels)

    def _labels(self, name: str, result: object, fired: Sequence[str]) -> Sequence[str]:
        """Return the labels of a result; those that it fired if the flow does not have the method any more."""
        method = self._topology.methods.get(method_of(name))
        if method is None:
            return fired
        is_plain = not method.is_router and not is_feedback(name, result)
        value = result if is_plain else label_value(method.name, self._run.revived(result))
        return labels_of(self._topology, method.name, value)

    def _replayed(self) -> Iterator[Progress]:
        """Yield the progress in the edited flow after each completion, as long as it would have run them."""
        topology, begun = self._topology, self._points[None].progress
        assert begun is not None
        started = {item["method"] for item in begun["inflight"].values()}
        starting = [name for name in topology.starts if name in started or self._starts(topology.methods[name])]
        progress = initial_progress(topology, starting, begun["run"])
        yield progress
        for execution, point in self._points.items():
            if execution is None:
                continue
            if execution in progress["inflight"]:
                progress = next_progress(topology, progress, execution, point.labels, None)
            elif method_of(execution) in topology.methods:
                return
            yield progress

    def _starts(self, method: FlowMethod) -> bool:
        """Whether a start method would have run at the beginning."""
        if method.predicate is None:
            return True
        inputs, state = (
            {name: self._run.revived(value) for name, value in self._beginning[channel].items()}
            for channel in ("inputs", "state")
        )
        return bool(call(method.predicate, {"inputs": inputs, "state": self._run.flow.restored_state(state)}))

    def _difference(self, stored: Progress | None, replayed: Progress) -> str | None:
        """Return how the run differs after some completions from what the edited flow would have come to."""
        if stored is None:
            return None
        if (unknown := _unknown_method(self._topology, stored)) is not None:
            return unknown
        inflight = {name: item["method"] for name, item in stored["inflight"].items()}
        place = f"continues with method `{next(iter(inflight.values()))}`" if inflight else "is done"
        missing = [item["method"] for name, item in replayed["inflight"].items() if name not in inflight]
        if missing:
            return f"{place}, and has no result of method `{missing[0]}`"
        early = [method for name, method in inflight.items() if name not in replayed["inflight"]]
        if early:
            return f"continues with method `{early[0]}`, which would not run yet"
        if (left_out := _left_out(self._topology, stored, replayed)) is not None:
            return f"{place}, and would not run method `{left_out}` then"
        changed = _counted_otherwise(self._topology, stored, replayed)
        return changed and f"{place}, and has counted other events for method `{changed}` than it would now"


def _follow_ups(progress: Progress) -> list[FollowUp]:
    return [item for waiting in progress.get("follow_ups", {}).values() for item in waiting["next"]]


def _unknown_method(topology: FlowTopology, progress: Progress) -> str | None:
    """Return what is wrong if a method that is running, or that follows others, is not in the flow."""
    later = [item["execution"] for item in _follow_ups(progress) if "execution" in item]
    ahead = [item["method"] for item in (*progress["inflight"].values(), *later)]
    unknown = next((method for method in ahead if method not in topology.methods), None)
    return None if unknown is None else f"continues with method `{unknown}`, which the flow does not have"


def _counted_otherwise(topology: FlowTopology, stored: Progress, replayed: Progress) -> str | None:
    """Return a method that would miss events, or run again for some, since those so far were counted for other triggers."""
    for name in topology.methods:
        for key, events in ((name, topology.triggers[name]), (f"{name}@", topology.again[name])):
            received = {event: item for event, item in stored["pending"].get(key, {}).items() if event in events}
            if received != replayed["pending"].get(key, {}):
                return name
        if name in topology.racing and _first(stored["fired"], name) != _first(replayed["fired"], name):
            return name
        if name in topology.repeating and tuple(stored["ran"].get(name, ())) != tuple(replayed["ran"].get(name, ())):
            return name
    return None


def _left_out(topology: FlowTopology, stored: Progress, replayed: Progress) -> str | None:
    """Return a method that would still run in the edited flow, but that the stored run does not wait for."""
    known = set(map(_key_of, _follow_ups(stored)))
    missing = next((item for item in _follow_ups(replayed) if _key_of(item) not in known), None)
    if missing is None:
        return None
    if "execution" in missing:
        return missing["execution"]["method"]
    return next(
        name for name in topology.listeners[missing["event"]] if topology.methods[name].is_router is missing["routers"]
    )


def _key_of(item: FollowUp) -> tuple[str, str, bool, str | None]:
    execution = item.get("execution")
    return item["done"], item["event"], item["routers"], None if execution is None else execution["method"]


def _first(values: Mapping[str, Sequence[Any]], name: str) -> object:
    return values[name][0] if name in values else None
