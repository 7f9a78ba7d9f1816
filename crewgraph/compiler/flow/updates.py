"""Updates of the graph's state from what happened in a run."""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from crewgraph.compiler.agent.inbox import of_front_end
from crewgraph.compiler.crew.state import MESSAGES
from crewgraph.compiler.flow.algebra import GraphState, GraphUpdate, Progress, labels_of, next_progress
from crewgraph.compiler.flow.asking import answers_of_inbox, flow_inbox_fields
from crewgraph.compiler.flow.completion import is_feedback, method_of, of_run, with_run
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.saving import save_pending, save_state, take_pending
from crewgraph.compiler.flow.scheduler import MethodEnd
from crewgraph.compiler.flow.state_changes import apply_changes
from crewgraph.core.operations import Program
from crewgraph.core.plain import answer_text, plain
from crewgraph.core.pregel import place_of
from crewgraph.definitions.flow.checkpoints import run_extension
from crewgraph.definitions.flow.feedback import HumanFeedbackResult, label_value, output_value
from crewgraph.schema import PlainDict, is_mapping


def completed(run: FlowRun, values: GraphState, ended: MethodEnd) -> Program[GraphUpdate]:
    """Return the update of the graph's state after some executions have ended."""
    progress: Progress = values["progress"]
    results: PlainDict = {}
    changed, is_marked = ended.changed, False
    for name, value in ended.values:
        method = progress["inflight"][name]["method"]
        labels, results[name] = labels_of(run.plan, method, label_value(method, value)), run.finish(name, method, value)
        progress = next_progress(run.plan, progress, name, labels, results[name])
        if not progress["inflight"] and (extra := run_extension(run.inputs)) is not None:
            extra.end(run.flow, run.state, output_value(method, value))
            changed = {**changed, **run.changes()}
        yield from save_state(run, method)
        is_marked = is_marked or method in run.marks
        FlowReport(run, name, method).finished(value)
    if len(results) > 1:  # else an edited flow could not tell what each of them fires
        progress["results"] = {**results, **progress["results"]}
    run.forget(progress["results"])
    update: GraphUpdate = {"progress": progress, **_kept(run, values, progress, results)}
    inflight = progress["inflight"]
    remaining = {name: answer for name, answer in run.answers.items() if name.rpartition(":")[0] in inflight}
    if len(remaining) < len(run.answers):
        update["answers"] = remaining
    if run.stored:
        update["state"] = changed
    elif not inflight:
        update["state"] = run.final_state()
    if is_marked:
        update["saved"] = {"state": apply_changes(values.get("state"), changed), "progress": progress}
    return update | result_update(run, progress)


def _kept(run: FlowRun, values: GraphState, progress: Progress, results: PlainDict) -> GraphUpdate:
    """Return what is kept of results: feedback, those of a declared flow, and after which a save failed."""
    kept: GraphUpdate = {}
    feedback = [result for name, result in results.items() if is_feedback(name, result)]
    if feedback:
        kept["feedback"] = [*(of_run(values, "feedback") or ()), *feedback]
    if run.plan.definition.is_declared:
        returned = {method_of(name): result for name, result in results.items()}
        kept["outputs"] = {**(of_run(values, "outputs") or {}), **returned}
    if run.unsaved is not None or of_run(values, "unsaved"):
        kept["unsaved"] = run.unsaved and run.unsaved[0]
    return {channel: with_run(progress, value) for channel, value in kept.items()}


def result_update(run: FlowRun, progress: Progress) -> GraphUpdate:
    """Return the result of a finished run."""
    last = progress["last"]
    if progress["inflight"]:
        return {}
    if last is None or (result := progress["results"][last]) is None:
        return {"output": None}
    if isinstance(result, HumanFeedbackResult) or is_feedback(last, result):
        output = output_value(method_of(last), run.revived(result))
        result = run.recorded_value(output, f"the result of flow `{run.name}`")
    if run.speaker is None:
        return {"output": result}
    said = AIMessage(answer_text(run.revived(result)), name=run.speaker, id=run.key)
    return {"output": result, MESSAGES: [said]}


def park_update(run: FlowRun, parked_method: Parked) -> GraphUpdate:
    """Return the update that leaves the questions of a method pending; other methods continue."""
    questions = {question["id"]: question for question in parked_method.questions}
    for question in questions.values():
        FlowReport(run, question["execution"], question["method"]).paused(question)
    update: GraphUpdate = {"parked": {**run.parked, **questions}}
    if parked_method.returned:
        update["state"] = parked_method.changed
    if questions.keys() & run.answers.keys():  # answers that could not be taken
        update["answers"] = {name: answer for name, answer in run.answers.items() if name not in questions}
    return update


def question_update(run: FlowRun, config: RunnableConfig) -> Program[Any]:
    """Interrupt the enclosing graph with the questions of the run; return the update with the answers."""
    yield from save_pending(run)
    questions = list(run.parked.values())
    answers = interrupt({"questions": questions, **flow_inbox_fields([plain(run.revived(item)) for item in questions])})
    yield from take_pending(run, place_of(config).task)
    return answers


def answer_update(run: FlowRun, answer: object) -> GraphUpdate:
    """Return the update with answers: a text for the first question, texts by question id, or the reply of an inbox."""
    ids, answer = list(run.parked), of_front_end(answer)
    by_id: dict[str, object] = {ids[0]: answer}
    if is_mapping(answer) and set(answer) <= set(ids):
        by_id = dict(answer)
    resolved = answers_of_inbox(run.parked, answer) or {name: {"text": text} for name, text in by_id.items()}
    answers = {name: {**values, "output": run.parked[name].get("output")} for name, values in resolved.items()}
    remaining = {name: question for name, question in run.parked.items() if name not in answers}
    return {"answers": {**run.answers, **answers}, "parked": remaining}
