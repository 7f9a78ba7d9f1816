"""Updates of the graph's state from what happened in a run."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.types import interrupt

from crewgraph.compiler.flow.algebra import Progress, advanced, labels_of
from crewgraph.compiler.flow.completion import Completion, Done
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.saving import pending_cleared, pending_saved, saved
from crewgraph.compiler.flow.scheduler import MethodEnd
from crewgraph.definitions.flow.checkpoints import run_extension
from crewgraph.definitions.flow.feedback import HumanFeedbackResult

__all__ = ["answer_update", "completed", "finish_update", "given", "parked", "question_update", "replayed"]


def completed(run: FlowRun, progress: Progress, ended: MethodEnd) -> tuple[Progress, Completion]:
    """Return the progress after some executions have ended, and their completions."""
    done: list[Done] = []
    completion = Completion(done=done, state=ended.changed)
    for name, value in ended.values:
        method = progress["inflight"][name]["method"]
        labels, result = labels_of(run.plan, method, _fired(value)), run.finish(name, method, value)
        done.append((name, labels, result))
        progress = advanced(run.plan, progress, name, labels, result)
        if not progress["inflight"] and (extra := run_extension(run.inputs)) is not None:
            extra.end(run.flow, run.state, value)
            completion["state"] = {**completion["state"], **run.changes()}
        saved(run, method)
        if method in run.marks:
            completion["marked"] = True
        FlowReport(run, name, method).ends(value)
    if run.plan.definition.is_declared:
        completion["is_declared"] = True
    if run.unsaved is not None:
        completion["unsaved"] = run.unsaved[0]
    run.forget(progress["results"])
    return progress, completion


def replayed(plan: TriggerPlan, progress: Progress, done: Sequence[Done]) -> Progress:
    """Return the progress after recorded completions."""
    for name, labels, result in done:
        progress = advanced(plan, progress, name, labels, result)
    return progress


def finish_update(run: FlowRun, progress: Progress, changed: Mapping[str, object]) -> dict[str, object]:
    """Return the update to a progress, with the changes of the flow's state."""
    update: dict[str, Any] = {"progress": progress}
    inflight = progress["inflight"]
    left = {name: answer for name, answer in run.answers.items() if name.rpartition(":")[0] in inflight}
    if len(left) < len(run.answers):
        update["answers"] = left
    if run.stored:
        update["state"] = changed
    elif not inflight:
        update["state"] = run.shown()
    return update | given(progress)


def given(progress: Progress) -> dict[str, Any]:
    """Return the result of a finished run."""
    last = progress["last"]
    if progress["inflight"]:
        return {}
    return {"output": progress["results"][last] if last is not None else None}


def parked(run: FlowRun, asking: Parked) -> dict[str, Any]:
    """Return the update that leaves a question pending; other methods continue."""
    question = asking.question
    FlowReport(run, question["execution"], question["method"]).pauses(question)
    update: dict[str, Any] = {"parked": {**run.parked, question["id"]: question}}
    if asking.returned:
        update["state"] = asking.changed
    if question["id"] in run.answers:  # an answer that could not be taken
        update["answers"] = {name: answer for name, answer in run.answers.items() if name != question["id"]}
    return update


def question_update(run: FlowRun) -> Any:
    """Put the questions that the run waits for to the graph around; what is answered."""
    pending_saved(run)
    told = interrupt({"questions": list(run.parked.values())})
    pending_cleared(run)
    return told


def answer_update(run: FlowRun, given: Any) -> dict[str, Any]:
    """Return the update with answers: a text for the first question, or texts by question id."""
    ids = list(run.parked)
    by_id: dict[str, Any] = {ids[0]: given}
    if isinstance(given, Mapping) and set(cast("Mapping[str, Any]", given)) <= set(ids):
        by_id = dict(cast("Mapping[str, Any]", given))
    told = {name: {"text": text, "output": run.parked[name].get("output")} for name, text in by_id.items()}
    left = {name: question for name, question in run.parked.items() if name not in told}
    return {"answers": {**run.answers, **told}, "parked": left}


def _fired(value: Any) -> Any:
    """Return the value that a method's labels are read from."""
    return value.outcome if isinstance(value, HumanFeedbackResult) and value.outcome is not None else value
