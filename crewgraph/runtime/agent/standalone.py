"""Tasks, agents and guardrails outside of crews: a graph of one node, part of the enclosing graph if any."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding, bind_agent
from crewgraph.compiler.agent.kickoff import continue_body, kickoff_body
from crewgraph.compiler.agent.prompt import task_prompt
from crewgraph.compiler.crew.state import INPUTS, schema
from crewgraph.compiler.preflight import check_agent
from crewgraph.compiler.surroundings import RunNotes
from crewgraph.compiler.task.binding import TaskBinding, single_binding
from crewgraph.compiler.task.body import answer_body, task_body_without_override
from crewgraph.compiler.task.briefing import ONGOING, standalone_briefing
from crewgraph.compiler.task.guardrails import judge_output
from crewgraph.core.effects import Body
from crewgraph.core.messages import Message
from crewgraph.core.node import BodyNode
from crewgraph.core.operations import Program, Saving
from crewgraph.core.plain import plain as plain_data
from crewgraph.core.pregel import InlineGraph
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.agent.foreign import as_agent
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.fields import without_strategy
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.guardrail import ModelGuardrail
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import DefinitionError, RunError
from crewgraph.events.lineage import running
from crewgraph.llm.conversation import read_messages
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import default_book
from crewgraph.runtime.crew.human_input import forget, place_to_ask, run_with_questions
from crewgraph.runtime.crew.results import output_of, recorded_files
from crewgraph.runtime.execution import Run, wait_for_listeners
from crewgraph.runtime.run_hooks import agent_observers, is_hooked, observed, run_entry_hooks, with_run_hooks
from crewgraph.runtime.runs.storage import RunPlace, place_in_flow, place_in_graph
from crewgraph.schema import PlainDict, PlainMapping, not_a_model
from crewgraph.storage.claims.owned_graph import OwnedGraph
from crewgraph.text import shorten

_EXAMPLE = '[{"role": "user", "content": "..."}]'

_UNSTORED = RunPlace(checkpointer=False, thread_id=None, detached=True)

_Body = Callable[[TaskBinding, Mapping[str, object]], Body[PlainDict]]


def prompt(task: TaskDefinition) -> str:
    """Return the prompt of a task; see `Task.prompt`."""
    book = default_book() if task.agent is None else task.agent.wording()
    return task_prompt(task, standalone_briefing(task, task.agent, ""), book)


def execute(
    task: TaskDefinition, agent: BaseAgentDefinition | None, context: str | None, tools: Sequence[object] | None
) -> Program[TaskOutput]:
    """Execute a task; see `Task.execute_sync`."""
    agent = task.agent if agent is None else as_agent(agent)
    if agent is None:
        raise RunError(f"{task.called} has no agent assigned; give it `agent=`, or pass one: `execute_sync(agent)`")
    assignment = single_binding(task, agent, context, tools)
    notes = RunNotes()
    plain = yield from _run_task_body(assignment, task_body_without_override, notes)
    output = output_of(assignment, plain, notes)
    _charge_usage(task, output.usage_by_model)
    return output


def answer(
    agent: BaseAgentDefinition, task: TaskDefinition, context: str | None, tools: Sequence[object] | None
) -> Program[str]:
    """Work on a task; see `Agent.execute_task`."""
    plain = yield from _run_task_body(single_binding(task, agent, context, tools), answer_body)
    _charge_usage(task, plain["usage"])
    _mark_reviewed(task)
    return plain["answer"]


def reply_program(
    agent: BaseAgentDefinition, messages: object, structure: type[BaseModel] | None, files: object = None
) -> Program[LiteAgentOutput]:
    """Return an agent's answer to a conversation; see `Agent.kickoff`."""
    check_agent(agent)
    binding = bind_agent(agent)
    if override_of(agent, "execute_task") is not None and not isinstance(agent, AgentDefinition):
        raise RunError(f"{binding.where} has its own execution logic, which works on tasks only: give it a `Task`")
    inputs: dict[str, object] = {"messages": _conversation(messages, binding.where)}
    structure = without_strategy(structure, "response_format")
    where = binding.where
    if structure is not None and (problem := not_a_model("response_format", structure)):
        raise DefinitionError(f"{where}: {problem}")
    hooks = is_hooked(agent)
    if hooks:
        hooked: PlainMapping = yield from run_entry_hooks(agent, inputs)
        inputs = {"messages": _conversation(hooked.get("messages"), binding.where)}
    inputs |= yield from recorded_files(files)
    run = _reply(agent, inputs, structure, binding)
    return (yield from with_run_hooks(agent, run)) if hooks else (yield from run)


def _reply(
    agent: BaseAgentDefinition, inputs: Inputs, structure: type[BaseModel] | None, binding: AgentBinding
) -> Program[LiteAgentOutput]:
    body = partial(kickoff_body, structure, binding)
    place, observers = agent_observers(agent, inputs)
    with running(), observed(observers):
        name = f"Kickoff: {binding.slug}"
        plain = yield from run_standalone(name, binding.slug, body, inputs=inputs, binding=binding, own_place=place)
        yield from wait_for_listeners()
    return LiteAgentOutput.from_plain(plain, structure)


def next_answer_program(
    binding: AgentBinding, task: TaskDefinition | None, messages: Sequence[Message]
) -> Program[PlainDict]:
    """Continue a conversation of an agent to its next answer; see `continue_body`."""
    body = partial(continue_body, binding, task, messages)
    result = yield from run_standalone(f"Continue: {binding.slug}", binding.slug, body, binding=binding)
    if task is not None:
        _charge_usage(task, result["usage"])
    return result


def _conversation(messages: object, where: str) -> list[PlainDict]:
    return plain_data(read_messages(messages))


def _run_task_body(assignment: TaskBinding, body: _Body, notes: RunNotes | None = None) -> Program[Any]:
    name = f"Task: {assignment.slug}"
    return (yield from run_standalone(name, assignment.slug, partial(body, assignment), notes, binding=assignment))


def judge(guardrail: ModelGuardrail, output: TaskOutput) -> Program[tuple[bool, str | None]]:
    """Have a model judge an output; see `LLMGuardrail`."""
    guardrail.check_alone()
    model = as_model(guardrail.llm)
    description = getattr(output, "description", "")  # an agent's own output has no task

    def body(_: Mapping[str, object]) -> Body[PlainDict]:
        verdict = yield from judge_output(guardrail, output.raw, description, "", model, default_book(), UsageLedger())
        return {"verdict": verdict}

    verdict = yield from run_standalone(f"Guardrail: {shorten(guardrail.description, 60)}", "verdict", body)
    return (True, output.raw) if verdict["accepted"] else (False, verdict["error"])


class _StandaloneGraph(OwnedGraph, InlineGraph):
    """The graph of a body."""


def run_standalone(
    name: str,
    node: str,
    body: Callable[[PlainMapping], Body[PlainDict]],
    notes: RunNotes | None = None,
    inputs: Inputs | None = None,
    binding: AgentBinding | None = None,
    own_place: RunPlace | None = None,
) -> Program[Any]:
    """Run a body in a separate graph and return its result.

    Args:
        name: the name of the graph in traces.
        node: the name of its node.
        body: the body, as a function of the graph's state.
        notes: collects notes on the tasks.
        inputs: the inputs in the graph's state.
        binding: the agent or task, which may ask people; None if it asks no one.
        own_place: where the run is stored unless an enclosing graph stores it; a stored run is resumed.
    """
    outer = place_in_flow() or place_in_graph()
    place = place_to_ask(outer or own_place or _UNSTORED, [] if binding is None else [binding])
    graph = StateGraph(schema("AloneState", [INPUTS, node]))
    graph.add_node(node, BodyNode(node, body, stored=place.checkpointer is not False))
    graph.add_edge(START, node)
    graph.add_edge(node, END)
    compiled = _StandaloneGraph(**vars(graph.compile(checkpointer=place.checkpointer, name=name)))
    config: RunnableConfig = {"configurable": place.configurable} if place.configurable else {}
    state = (yield Saving(compiled, "get_state", config)) if place.known or own_place is not None else None
    if state is not None and node in state.values:
        return state.values[node]
    first_value = {INPUTS: inputs or {}}
    if state is not None and state.created_at is not None:
        first_value = None if place.method is None else place.answers(state.interrupts)

    def start(value: object) -> Run:
        durability, again = place.durability, place.again
        return Run(compiled, value, config, durability=durability, detached=place.detached, again=again, notes=notes)

    try:
        tasks = [binding] if isinstance(binding, TaskBinding) else []
        run = yield from run_with_questions(place, config, first_value, start, tasks)
    finally:
        if place.temporary:
            forget(place)
    if run.questions:
        place.leave(run.questions)
    return run.written[node]


def _mark_reviewed(task: TaskDefinition) -> None:
    """Mark the current task as reviewed by a person, if it requires a review."""
    ongoing = ONGOING.get()
    if ongoing is not None and ongoing.task is task:
        ongoing.reviewed = True


def _charge_usage(task: TaskDefinition, usage: Mapping[str, object]) -> None:
    """Charge the usage of a built-in method that a user's override calls to the current task."""
    ongoing = ONGOING.get()
    if ongoing is not None and ongoing.task is task:
        ongoing.usage.add(usage)
