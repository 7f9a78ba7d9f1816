"""Tasks, agents and guardrails outside of crews: a graph of one node, part of the enclosing graph if any."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field

from crewgraph.compiler.agent.binding import AgentBinding, bind_agent
from crewgraph.compiler.agent.kickoff import continue_body, kickoff_body
from crewgraph.compiler.agent.prompt import task_prompt
from crewgraph.compiler.crew.state import INPUTS, schema
from crewgraph.compiler.preflight import check_agent
from crewgraph.compiler.task.binding import TaskBinding, single_binding
from crewgraph.compiler.task.body import answer_body, plan_body, task_body_without_override
from crewgraph.compiler.task.briefing import ONGOING, standalone_briefing
from crewgraph.compiler.task.events import RunNotes
from crewgraph.compiler.task.guardrails import judge_output
from crewgraph.core.effects import Body
from crewgraph.core.messages import Message
from crewgraph.core.node import BodyNode
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain as plain_data
from crewgraph.core.saving import InlineGraph
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool, find_coworker
from crewgraph.definitions.agent.lite_agent import LiteAgentOutput
from crewgraph.definitions.agent.planning import PlanStep
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.task.guardrail import HallucinationGuardrail, ModelGuardrail
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import Task
from crewgraph.errors import DefinitionError, RunError, ToolFailed
from crewgraph.events.lineage import running
from crewgraph.llm.conversation import read_messages
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.book import english
from crewgraph.runtime.crew.human_input import forget, place_to_ask, run_with_questions
from crewgraph.runtime.crew.results import recorded_files
from crewgraph.runtime.execution import ReadState, Run, WaitForListeners
from crewgraph.runtime.run_hooks import agent_observers, observed
from crewgraph.runtime.run_target import RunPlace, place_in_flow, place_in_graph
from crewgraph.text import shorten

__all__ = [
    "AgentReasoning",
    "AgentReasoningOutput",
    "ReasoningPlan",
    "aanswer",
    "aexecute",
    "ago_on",
    "ajudge",
    "answer",
    "areply",
    "body_alone",
    "execute",
    "go_on",
    "gone_on",
    "handed_over",
    "judge",
    "plan",
    "prompt",
    "replied",
    "reply",
]


_EXAMPLE = '[{"role": "user", "content": "..."}]'

_NOWHERE = RunPlace(checkpointer=False, thread_id=None, detached=True)

_Body = Callable[[TaskBinding, Mapping[str, Any]], Body[dict[str, Any]]]


def execute(task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None) -> TaskOutput:
    """Do a task; see `Task.execute_sync`."""
    return drive(_executed(task, agent, context, tools))


async def aexecute(task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None) -> TaskOutput:
    """Do a task on this event loop; see `Task.aexecute_sync`."""
    return await adrive(_executed(task, agent, context, tools))


def answer(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> str:
    """Work on a task; see `Agent.execute_task`."""
    return drive(_answered(agent, task, context, tools))


async def aanswer(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> str:
    """Work on a task on this event loop; see `Agent.aexecute_task`."""
    return await adrive(_answered(agent, task, context, tools))


def handed_over(tool: CoworkerTool, args: Mapping[str, Any]) -> str:
    """Have a coworker do something; see `CoworkerTool`."""
    book, roles = english(), [agent.role for agent in tool.agents]
    at = find_coworker(args["coworker"], roles)
    if at is None:
        listed = "\n".join(f"- {role}" for role in roles)
        raise ToolFailed(book.error("agent_tool_unexisting_coworker", coworkers=listed))
    wanted, context = tool.request_of(args)
    task = Task(description=wanted, expected_output=book.slice("manager_request"), agent=tool.agents[at])
    return tool.agents[at].execute_task(task, context)


def reply(agent: BaseAgent, messages: object, structure: type[BaseModel] | None, files: Any = None) -> LiteAgentOutput:
    """Answer a conversation; see `Agent.kickoff`."""
    return drive(replied(agent, messages, structure, files))


async def areply(
    agent: BaseAgent, messages: object, structure: type[BaseModel] | None, files: object = None
) -> LiteAgentOutput:
    """Answer a conversation on this event loop; see `Agent.akickoff`."""
    return await adrive(replied(agent, messages, structure, files))


def go_on(work: AgentBinding, task: Task, said: Sequence[Message]) -> dict[str, Any]:
    """Another answer to a conversation about a task; see `WorkInReview`."""
    return drive(gone_on(work, task, said))


async def ago_on(work: AgentBinding, task: Task, said: Sequence[Message]) -> dict[str, Any]:
    """Another answer to a conversation about a task, on this event loop."""
    return await adrive(gone_on(work, task, said))


def judge(guardrail: ModelGuardrail, output: TaskOutput) -> tuple[bool, Any]:
    """Have a model judge an output; see `LLMGuardrail`."""
    return drive(_judgement(guardrail, output))


async def ajudge(guardrail: ModelGuardrail, output: TaskOutput) -> tuple[bool, Any]:
    """Have a model judge an output on this event loop; see `LLMGuardrail`."""
    return await adrive(_judgement(guardrail, output))


def prompt(task: Task) -> str:
    """Return the prompt of a task; see `Task.prompt`."""
    book = english() if task.agent is None else task.agent.wording()
    return task_prompt(task, standalone_briefing(task, task.agent, ""), book)


def _executed(
    task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None
) -> Program[TaskOutput]:
    agent = agent or task.agent
    if agent is None:
        raise RunError(f"{title(task)} has no agent assigned; give it `agent=`, or pass one: `execute_sync(agent)`")
    assignment = single_binding(task, agent, context, tools)
    notes = RunNotes()
    plain = yield from _ran(assignment, task_body_without_override, notes)
    output = TaskOutput.from_plain(plain, task.output_pydantic)
    if assignment.slug in notes.tasks:
        output.messages = notes.tasks[assignment.slug].messages
    _counted(task, output.usage_by_model)
    return output


def _answered(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> Program[str]:
    plain = yield from _ran(single_binding(task, agent, context, tools), answer_body)
    _counted(task, plain["usage"])
    _noted_review(task)
    return plain["answer"]


def plan(agent: BaseAgent, task: Task) -> Program[dict[str, Any] | None]:
    """Return the agent's plan for a task: its text as `plan`, and whether it is `ready`; None if there is none."""
    plain = yield from _ran(single_binding(task, agent, None, None), plan_body)
    _counted(task, plain["usage"])
    return plain["plan"]


def replied(
    agent: BaseAgent, messages: object, structure: type[BaseModel] | None, files: Any = None
) -> Program[LiteAgentOutput]:
    """Return an agent's answer to a conversation; see `Agent.kickoff`."""
    check_agent(agent)
    engagement = bind_agent(agent)
    if override_of(agent, "execute_task") is not None and not isinstance(agent, Agent):
        raise RunError(f"{engagement.where} works in a way of its own, which is for tasks: give it a `Task`")
    given: dict[str, object] = {"messages": _conversation(messages, engagement.where)}
    given |= yield from recorded_files(files)
    _check_structure(structure, engagement.where)
    body = partial(kickoff_body, structure, engagement)
    kept, observers = agent_observers(agent, given)
    with running(), observed(observers):
        name = f"Kickoff: {engagement.slug}"
        plain = yield from body_alone(name, engagement.slug, body, given=given, work=engagement, kept=kept)
        yield WaitForListeners()
    return LiteAgentOutput.from_plain(plain, structure)


def gone_on(work: AgentBinding, task: Task | None, said: Sequence[Message]) -> Program[dict[str, Any]]:
    """Continue a conversation of an agent to its next answer; see `continue_body`."""
    body = partial(continue_body, work, task, said)
    done = yield from body_alone(f"Going on: {work.slug}", work.slug, body, work=work)
    if task is not None:
        _counted(task, done["usage"])
    return done


def _conversation(messages: object, where: str) -> list[dict[str, Any]]:
    read = read_messages(messages)
    if not any(message["content"] for message in read):
        raise RunError(f"{where} was asked nothing; give `kickoff` a text, or messages such as {_EXAMPLE}")
    return plain_data(read)


def _check_structure(structure: object, where: str) -> None:
    if structure is not None and not (isinstance(structure, type) and issubclass(structure, BaseModel)):
        raise DefinitionError(f"`response_format` of {where} is a pydantic model, not {structure!r:.80}")


def _ran(assignment: TaskBinding, body: _Body, notes: RunNotes | None = None) -> Program[Any]:
    name = f"Task: {assignment.slug}"
    return (yield from body_alone(name, assignment.slug, partial(body, assignment), notes, work=assignment))


def _judgement(guardrail: ModelGuardrail, output: TaskOutput) -> Program[tuple[bool, Any]]:
    if isinstance(guardrail, HallucinationGuardrail) and guardrail.context is None:
        raise ValueError(
            "a HallucinationGuardrail that is called outside of a task needs `context=`: what the output is held to"
        )
    model, asked = as_model(guardrail.llm), getattr(output, "description", "")  # an agent's own output has no task

    def body(_: Mapping[str, object]) -> Body[dict[str, Any]]:
        return {"verdict": (yield from judge_output(guardrail, output.raw, asked, "", model, english(), UsageLedger()))}

    verdict = yield from body_alone(f"Guardrail: {shorten(guardrail.description, 60)}", "verdict", body)
    return (True, output.raw) if verdict["accepted"] else (False, verdict["error"])


def body_alone(
    name: str,
    node: str,
    body: Callable[[Mapping[str, Any]], Body[dict[str, Any]]],
    notes: RunNotes | None = None,
    given: Mapping[str, Any] | None = None,
    work: AgentBinding | None = None,
    kept: RunPlace | None = None,
) -> Program[Any]:
    """Run a body in a graph of its own and return its result; `given` becomes its inputs.

    Args:
        name: what the graph is called in traces.
        node: its node.
        body: makes the generator of effects.
        notes: notes what is known of tasks.
        given: stands in the inputs.
        work: who works, and may ask people.
        kept: where it is kept, unless the graph around it keeps it; what is there already goes on.
    """
    around = place_in_flow() or place_in_graph()
    place = place_to_ask(around or kept or _NOWHERE, [] if work is None else [work])
    graph: StateGraph[Any] = StateGraph(schema("AloneState", [INPUTS, node]))
    graph.add_node(node, BodyNode(node, body, stored=place.checkpointer is not False))
    graph.add_edge(START, node)
    graph.add_edge(node, END)
    compiled = InlineGraph(**vars(graph.compile(checkpointer=place.checkpointer, name=name)))
    config: RunnableConfig = {"configurable": place.configurable} if place.configurable else {}
    state = (yield ReadState(compiled, config)) if place.known or kept is not None else None
    if state is not None and node in state.values:
        return state.values[node]
    begun = {INPUTS: given or {}} if state is None or state.created_at is None else _going_on(place, state)

    def run_on(given: Any) -> Run:
        durability, again = place.durability, place.again
        return Run(compiled, given, config, durability=durability, detached=place.detached, again=again, notes=notes)

    try:
        run = yield from run_with_questions(place, config, begun, run_on)
    finally:
        forget(place)
    place.leave(run.questions)
    return run.written[node]


def _going_on(place: RunPlace, state: Any) -> object:
    return place.answers(state.interrupts) if place.method is not None else None


def _noted_review(task: Task) -> None:
    """People have seen the answer, if the task asks for that."""
    ongoing = ONGOING.get()
    if ongoing is not None and ongoing.task is task:
        ongoing.reviewed = True


def _counted(task: Task, used: Mapping[str, object]) -> None:
    """Charge the usage of a built-in verb that a user's override calls to the current task."""
    ongoing = ONGOING.get()
    if ongoing is not None and ongoing.task is task:
        ongoing.usage.add(used)


class ReasoningPlan(BaseModel):
    """An agent's plan for a task."""

    plan: str
    """The text of the plan."""

    steps: list[PlanStep] = Field(default_factory=list[PlanStep])
    """Its steps, where the agent's `planning` asks for them."""

    ready: bool
    """Whether the agent considers the plan ready."""


class AgentReasoningOutput(BaseModel):
    """The result of planning."""

    plan: ReasoningPlan


class AgentReasoning:
    """Lets an agent plan a task without working on it; `Agent(reasoning=True)` does so before the work.

    Args:
        agent: who plans; agent and task may be given in either order.
        task: what is planned.
        description: what is to be done, where there is no task.
        expected_output: what is expected, where there is no task.
    """

    def __init__(
        self,
        agent: Any = None,
        task: Any = None,
        *,
        description: str | None = None,
        expected_output: str | None = None,
    ) -> None:
        if isinstance(agent, Task) or isinstance(task, Agent):
            agent, task = task, agent
        self.agent: Agent = agent
        self.task: Task = task or Task(description=description or "", expected_output=expected_output or "")

    @property
    def description(self) -> str:
        """The task description."""
        return self.task.description

    @property
    def expected_output(self) -> str:
        """The expected output."""
        return self.task.expected_output

    def handle_agent_reasoning(self) -> AgentReasoningOutput:
        """Plan until the plan is ready, or the agent's `max_reasoning_attempts` are used up.

        Raises:
            RunError: no plan could be made; the reason is in the log.
        """
        return self._told(drive(plan(self.agent, self.task)))

    async def ahandle_agent_reasoning(self) -> AgentReasoningOutput:
        """Plan on this event loop; see `handle_agent_reasoning`."""
        return self._told(await adrive(plan(self.agent, self.task)))

    def _told(self, made: dict[str, Any] | None) -> AgentReasoningOutput:
        if made is None:
            raise RunError(
                f"agent `{self.agent.role}` could make no plan; the reason is in the log. Look at its model."
            )
        return AgentReasoningOutput(plan=ReasoningPlan(**made))
