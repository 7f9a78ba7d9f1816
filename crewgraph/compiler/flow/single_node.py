"""The node of a flow graph with one node for the whole flow, for flows that run tens of thousands of methods.

Completions are journaled if the run is checkpointed, so a killed run repeats only the executions in flight. A checkpoint is
written after every thousand completions, at questions, and at the end.
"""

from collections.abc import Sequence
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from crewgraph.compiler.flow.algebra import Execution, GraphState, GraphUpdate, Progress
from crewgraph.compiler.flow.completion import Completion, extra_updates, method_of, of_run
from crewgraph.compiler.flow.nodes import FlowNode
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.scheduler import Ended, retry_save, run_alone, wait_for_first
from crewgraph.compiler.flow.state_changes import apply_changes, merge_changes
from crewgraph.compiler.flow.updates import (
    answer_update,
    complete,
    finish_update,
    park_update,
    question_update,
    replay_completions,
)
from crewgraph.core.journal import Journal, Record
from crewgraph.core.operations import Program

__all__ = ["WHOLE", "SingleNode", "with_journal"]


WHOLE = "flow"
"""The name of the node."""

_MANY = 1_000


class SingleNode(FlowNode):
    """The node that runs all methods."""

    def __init__(self) -> None:
        super().__init__(WHOLE, self._steps)

    def _steps(self, run: FlowRun, state: GraphState, config: RunnableConfig) -> Program[object]:
        journal = Journal(config) if run.stored else None
        records: Sequence[Record] = ()
        if journal is not None:
            yield from journal.load()
            records = journal.appended()
        batch = _Batch(run, state, records)
        run.read(batch.values)
        try:
            unsaved = of_run(batch.values, "unsaved")
            if unsaved:
                yield from retry_save(run, unsaved)
                batch.besides["unsaved"] = None
            landed = yield from batch.run_on(journal)
        except GeneratorExit:
            raise
        except BaseException:  # also a cancellation and a question
            if journal is not None:
                yield from journal.keep()
            raise
        update = batch.besides if batch.is_empty else finish_update(run, batch.progress, batch.changed) | batch.besides
        if isinstance(landed, Parked):
            left = park_update(run, landed)
            merge_changes(batch.changed, left.get("state") or {})
            return Command(update={**update, **left, "state": batch.changed}, goto=WHOLE)
        if batch.is_empty and batch.progress["inflight"]:
            return Command(update=update | answer_update(run, (yield from question_update(run, config))), goto=WHOLE)
        return Command(update=update, goto=WHOLE if batch.progress["inflight"] else ())


def with_journal(plan: TriggerPlan, values: GraphState, records: Sequence[Record]) -> GraphUpdate:
    """Return the state of the graph after the completions journaled since a checkpoint."""
    progress, state = values["progress"], values.get("state")
    for record in records:
        if record["done"][0][0] not in progress["inflight"]:
            continue  # LangGraph exposes the node's final write, which includes the record, before it is a checkpoint
        completion = cast("Completion", record)
        progress = _with_following(replay_completions(plan, progress, completion["done"]), completion)
        state = apply_changes(state, completion["state"])
        values = {**values, **extra_updates(values, progress, state or {}, completion)}
    return {**values, "progress": progress, "state": state}


def _with_following(progress: Progress, completion: Completion) -> Progress:
    """Return a progress with the executions that ran next, also if an edited flow would run others."""
    source = completion["done"][-1][0]
    others: dict[str, Execution] = {
        name: {"method": method_of(name), "source": source, "label": None, "round": 1, "wave": None}
        for name in completion.get("following", ())
        if name not in progress["inflight"]
    }
    return {**progress, "inflight": {**progress["inflight"], **others}} if others else progress


class _Batch:
    """The completions between two checkpoints."""

    def __init__(self, run: FlowRun, state: GraphState, records: Sequence[Record]) -> None:
        self.run, self._before = run, state
        self.progress: Progress = state["progress"]
        self.changed: dict[str, object] = {}
        self.besides: dict[str, object] = {}
        self.is_empty = not records
        for record in records:
            completion = cast("Completion", record)
            self._take(replay_completions(run.plan, self.progress, completion["done"]), completion)

    @property
    def values(self) -> GraphUpdate:
        """Return the current state of the graph."""
        state = apply_changes(self._before.get("state"), self.changed)
        return {**self._before, **self.besides, "progress": self.progress, "state": state}

    def _take(self, progress: Progress, completion: Completion) -> None:
        merge_changes(self.changed, completion["state"])
        self.progress = progress
        full = apply_changes(self._before.get("state"), self.changed) if completion.get("marked") else {}
        self.besides |= extra_updates({**self._before, **self.besides}, progress, full, completion)

    def run_on(self, journal: Journal | None) -> Program[Ended | None]:
        """Run until the batch is full, a question is asked or nothing can continue; return the question or None."""
        run = self.run
        for _ in range(_MANY):
            inflight = self.progress["inflight"]
            if not inflight:
                break
            if len(inflight) == 1 and not run.works and not run.parked:
                ((name, execution),) = inflight.items()
                landed: Ended | None = yield from run_alone(run, self.progress, name, execution)
            else:
                landed = yield from wait_for_first(run, self.progress)
            if landed is None or isinstance(landed, Parked):
                return landed
            following, completion = yield from complete(run, self.progress, landed)
            if journal is not None:
                completion["following"] = [name for name in following["inflight"] if name not in inflight]
            self._take(following, completion)
            self.is_empty = False
            if journal is not None:
                yield from journal.append(cast("Record", completion))
            if run.unsaved is not None:
                yield from retry_save(run, run.unsaved[0])
        return None
