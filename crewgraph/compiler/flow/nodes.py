"""The nodes of a flow graph, one for each method and one that waits, and the updates that they return.

LangGraph ends a step when the slowest of its nodes has ended, but a listener must not wait for the siblings of its trigger.
So a method that runs alone runs in its node; of several, the first node starts all in the background, and the waiting node
commits those that have ended, in separate steps.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from crewgraph.compiler.agent.inbox import of_front_end
from crewgraph.compiler.crew.state import MESSAGES
from crewgraph.compiler.flow.algebra import GraphState, GraphUpdate, Progress, labels_of, next_progress
from crewgraph.compiler.flow.asking import answers_of_inbox, flow_inbox_fields
from crewgraph.compiler.flow.record import is_feedback, method_of, of_run, with_run
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.saving import save_pending, save_state, take_pending
from crewgraph.compiler.flow.scheduler import Ended, MethodEnd, retry_save, run_alone, start_all, wait_for_first
from crewgraph.compiler.flow.state_changes import apply_changes
from crewgraph.core.journal import Journal
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import answer_text, plain
from crewgraph.core.pregel import OWN_KEY, RESUMING, answers_of, place_of
from crewgraph.definitions.flow.feedback import HumanFeedbackResult, label_value, output_value
from crewgraph.definitions.flow.state import run_extension
from crewgraph.errors import RunError
from crewgraph.schema import PlainDict, is_mapping

RUN = f"{OWN_KEY}flow_run"
"""The key of a flow's run in the config of its nodes."""


WAIT = "__wait__"
"""The name of the waiting node."""


class FlowNode(Runnable[Any, Any]):
    """The node of a method, or the one that waits; see `core.node.BodyNode` for why it is a Runnable.

    Args:
        name: its name.
    """

    name: str | None

    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return drive(self._run_program(input, config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return await adrive(self._run_program(input, config))

    def _run_program(self, state: Any, config: RunnableConfig | None) -> Program[Any]:
        config = ensure_config(config) if config is None else config
        conf = config.get("configurable", {})
        run: FlowRun = conf[RUN]
        run.answers, run.parked = state.get("answers") or {}, state.get("parked") or {}
        steps = _wait(run, state, config) if self.name == WAIT else _begin(str(self.name), run, state)
        return _answered(steps, config) if conf.get(RESUMING) else steps


def _answered(steps: Program[object], config: RunnableConfig) -> Program[object]:
    """Take the steps of a node.

    The value that the run was resumed with is forgotten once a question has taken it, or when another question stops the node.
    """
    known = len(answers_of(config))
    try:
        update = yield from steps
    except GraphInterrupt:
        yield from Journal(config).forget_answer(taken=False)
        raise
    if len(answers_of(config)) > known:
        yield from Journal(config).forget_answer(taken=True)
    return update


def _begin(method: str, run: FlowRun, state: GraphState) -> Program[object]:
    """Run a method that is alone and commit it; of several, start all."""
    progress: Progress = state["progress"]
    run.read(state)
    if MESSAGES in state and progress["last"] is None and not run.running:
        run.hear(state[MESSAGES])
    inflight = progress["inflight"]
    if len(inflight) == 1:
        ((name, execution),) = inflight.items()
        if execution["method"] == method:
            return (yield from _committed(run, state, (yield from run_alone(run, progress, name, execution))))
    elif any(execution["method"] == method for execution in inflight.values()):
        yield from start_all(run, progress)
        return Command(goto=WAIT)
    raise _not_due(method)


def _wait(run: FlowRun, state: GraphState, config: RunnableConfig) -> Program[object]:
    """Wait for background methods and commit those that have ended."""
    progress: Progress = state["progress"]
    run.read(state)
    unsaved = of_run(state, "unsaved")
    if unsaved:
        yield from retry_save(run, unsaved)
        return Command(
            update={"unsaved": None, **_result_update(run, progress)}, goto=WAIT if progress["inflight"] else ()
        )
    if not progress["inflight"]:
        raise _not_due(WAIT)
    landed = yield from wait_for_first(run, progress)
    if landed is None:
        return Command(update=_answer_update(run, (yield from _question_update(run, config))), goto=WAIT)
    return (yield from _committed(run, state, landed))


def _not_due(node: str) -> RunError:
    return RunError(
        f"`{node}` has nothing to do at this point of the run: what runs next follows from the triggers of the flow's methods, "
        "and a `Command(goto=...)` cannot change it. `flow.fork(...)` continues a run from another of its steps."
    )


def _committed(run: FlowRun, state: GraphState, landed: Ended) -> Program[object]:
    """Return the update with the completed executions, and the next nodes."""
    if isinstance(landed, Parked):
        return Command(update=_park_update(run, landed), goto=WAIT)
    update = yield from _completed(run, state, landed)
    return Command(update=update, goto=_next(run, state["progress"], update["progress"]))


def _next(run: FlowRun, before: Progress, progress: Progress) -> Sequence[str] | str:
    inflight = progress["inflight"]
    if not inflight and run.unsaved is None:
        return ()
    if run.failed or run.unsaved is not None:
        return WAIT
    new = [execution["method"] for name, execution in inflight.items() if name not in before["inflight"]]
    return list(dict.fromkeys(new)) or WAIT


def _completed(run: FlowRun, values: GraphState, ended: MethodEnd) -> Program[GraphUpdate]:
    """Return the update of the graph's state after some executions have ended."""
    progress: Progress = values["progress"]
    results: PlainDict = {}
    changed, is_marked = ended.changed, False
    for name, value in ended.values:
        method = progress["inflight"][name]["method"]
        labels, results[name] = (
            labels_of(run.topology, method, label_value(method, value)),
            run.finish(name, method, value),
        )
        progress = next_progress(run.topology, progress, name, labels, results[name])
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
    return update | _result_update(run, progress)


def _kept(run: FlowRun, values: GraphState, progress: Progress, results: PlainDict) -> GraphUpdate:
    """Return what is kept of results: feedback, those of a declared flow, and after which a save failed."""
    kept: GraphUpdate = {}
    feedback = [result for name, result in results.items() if is_feedback(name, result)]
    if feedback:
        kept["feedback"] = [*(of_run(values, "feedback") or ()), *feedback]
    if run.topology.is_declared:
        returned = {method_of(name): result for name, result in results.items()}
        kept["outputs"] = {**(of_run(values, "outputs") or {}), **returned}
    if run.unsaved is not None or of_run(values, "unsaved"):
        kept["unsaved"] = run.unsaved and run.unsaved[0]
    return {channel: with_run(progress, value) for channel, value in kept.items()}


def _result_update(run: FlowRun, progress: Progress) -> GraphUpdate:
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


def _park_update(run: FlowRun, parked_method: Parked) -> GraphUpdate:
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


def _question_update(run: FlowRun, config: RunnableConfig) -> Program[Any]:
    """Interrupt the enclosing graph with the questions of the run; return the update with the answers."""
    yield from save_pending(run)
    questions = list(run.parked.values())
    answers = interrupt({"questions": questions, **flow_inbox_fields([plain(run.revived(item)) for item in questions])})
    yield from take_pending(run, place_of(config).task)
    return answers


def _answer_update(run: FlowRun, answer: object) -> GraphUpdate:
    """Return the update with answers: a text for the first question, texts by question id, or the reply of an inbox."""
    ids, answer = list(run.parked), of_front_end(answer)
    by_id: dict[str, object] = {ids[0]: answer}
    if is_mapping(answer) and set(answer) <= set(ids):
        by_id = dict(answer)
    resolved = answers_of_inbox(run.parked, answer) or {name: {"text": text} for name, text in by_id.items()}
    answers = {name: {**values, "output": run.parked[name].get("output")} for name, values in resolved.items()}
    remaining = {name: question for name, question in run.parked.items() if name not in answers}
    return {"answers": {**run.answers, **answers}, "parked": remaining}
