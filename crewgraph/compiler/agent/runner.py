"""The work of an agent: knowledge, memories and plans go into its prompt, then a loop or an executor produces the answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.events import AgentReport, KnowledgeReport
from crewgraph.compiler.agent.knowledge import KnowledgeQuery, has_knowledge, query_knowledge
from crewgraph.compiler.agent.memory_calls import MemoryUser
from crewgraph.compiler.agent.models import controllers_of
from crewgraph.compiler.agent.people import Asker
from crewgraph.compiler.agent.prompt import agent_system_prompt
from crewgraph.compiler.agent.react import ReActContext, react_loop, run_step_callback
from crewgraph.compiler.agent.tools import AgentResources
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.effects import Body, Call, EffectFailed, Notify, Scope
from crewgraph.core.messages import Message
from crewgraph.core.plain import unstorable
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.agent.planning import PlanningConfig, TodoList
from crewgraph.definitions.placeholders import split_at_slot
from crewgraph.errors import TimeLimitReached
from crewgraph.extensions import extension
from crewgraph.llm.structure import structured_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import extract_json
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.compiler.agent.memory import Recollection
    from crewgraph.compiler.agent.plan.execution import PlanExecution, PlanOutcome
    from crewgraph.compiler.agent.plan.planner import AgentPlan, Planner

__all__ = ["AgentRunner", "Refused"]


Refused = tuple[str, str]
"""An earlier attempt, and why it was refused."""


class AgentRunner:
    """An agent working in one run, on a task or on the messages of a kickoff. It observes its loop (`LoopObserver`).

    Args:
        resources: its models, tools, memories and files.
        role: the agent's role, rendered for this run.
        report: emits the events.
        usage: counts the requests.
        structure: the structure requested for its answers.
    """

    def __init__(
        self,
        resources: AgentResources,
        role: str,
        report: AgentReport,
        usage: UsageLedger,
        structure: type[BaseModel] | None = None,
        inputs: PlainMapping | None = None,
    ) -> None:
        self.resources, self._structure, self._inputs = resources, structure, inputs or {}
        self._binding, self._agent, self._task = resources.binding, resources.agent, resources.task
        self._book, self._role, self._report, self._usage = resources.book, role, report, usage
        self._knowledge: str | None = None
        self.recollection: Recollection | None = None
        """Its memories, after `prepare`; None without any."""

        self.plan_outcome: PlanOutcome | None = None
        """The plan of the last attempt and its results."""

        self.failures: list[ToolFailureRecord] = []
        """The failures of its tools."""

    def load(self) -> Body[None]:
        """Load the agent's external resources; see `AgentResources.load`."""
        resources = self.resources
        yield from resources.load()
        if resources.memories is not None and self.recollection is None:
            user = MemoryUser(self._agent, self._task, self._role)
            from crewgraph.compiler.agent.memory import Recollection

            self.recollection = Recollection(resources.memories, user, self._book, self._binding.where)

    def prepare(self) -> Body[None]:
        """Load the agent's resources, and prepare its loop or executor."""
        yield from self.load()
        self.resources.assemble()

    def found_notes(self, text: str, expected: str = "", context: str = "", limit: int = 5) -> Body[tuple[str, ...]]:
        """Tell the capabilities that work on an answer starts; return notes on what memories and knowledge hold about it.

        Args:
            text: the task or question.
            expected: the expected output.
            context: the outputs of other tasks.
            limit: the maximum number of records from a unified memory.

        Raises:
            SourceError: a knowledge source cannot be used.
        """
        notes: tuple[str, ...] = ()
        for capability in self.resources.capabilities:
            yield from capability.begin()
        if self.recollection is not None:
            notes = yield from self.recollection.recall(text, context, limit)
        if has_knowledge(self._agent, self._binding.crew):
            notes += yield from self._knowledge_notes(text, expected, context)
        return notes

    @property
    def where(self) -> str:
        """The name of the work in messages."""
        return self._report.where

    @property
    def asker(self) -> Asker:
        """Asks people on behalf of the agent."""
        task = None if self._task is None else self._binding.slug
        report = self._report
        return Asker(agent=self._role, task=task, book=self._book, on_asked=report.asked, on_answered=report.answered)

    @property
    def assessor(self) -> Model | None:
        """The model that rates answers and extracts what to remember; None if the agent works without a model."""
        if self._agent.llm is None:
            override = override_of(self._agent, "execute_task") or override_of(self._agent, "aexecute_task")
            if override is not None:
                return None
            self.resources.assemble()
            if self.resources.executor is not None:
                return None
        return self.resources.model

    def run_with_timeout(self, work: Callable[[], Body[str]], messages: Sequence[Message]) -> Body[str]:
        """Run work within `max_execution_time`, as a separate run in traces, with its first messages as input.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        try:
            return (
                yield Scope(
                    name=f"Agent: {self._role}",
                    body=work,
                    trace_input={"messages": list(messages)},
                    metadata={"agent_role": self._role, "lc_agent_name": self._role},
                    seconds=self._binding.seconds,
                )
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._timeout_message(failure)) from failure
            raise

    def reply(self, dialogue: Dialogue, context: str = "") -> Body[str]:
        """Return the answer to the last message of a conversation; intermediate messages are added to it."""
        executor = self.resources.executor
        if executor is None:
            if middleware := getattr(self._agent, "middleware", None):
                loop: Callable[..., Body[str]] = extension("middleware.loop")
                return (yield from loop(self._react_context(), dialogue, middleware, self.resources.configured_model))
            return (yield from react_loop(self._react_context(), dialogue))
        from crewgraph.compiler.agent.executor import run_executor

        answer = yield from run_executor(executor, dialogue.transcript.messages, context, self._usage)
        step = AgentFinish(thought="", output=answer, text=answer)
        yield from run_step_callback(self._report.step, self._step_callback, step, 1)
        return answer

    def prompt_notes(
        self, briefing: Briefing, refused: Refused | None = None, other_notes: Sequence[str] = ()
    ) -> Body[tuple[str, ...]]:
        """Return notes for the prompt: the date, and the agent's plan with the results of its steps.

        Args:
            briefing: the texts of the task.
            refused: an earlier attempt, and why it was refused.
            other_notes: other notes of the prompt, which are given to the steps of the plan, too.
        """
        agent, notes = self._agent, list[str]()
        if not isinstance(agent, AgentDefinition):
            return ()
        if agent.inject_date:
            date: str = yield Call(
                function=_format_now, args=(agent.date_format,), name="date", about=agent.date_format
            )
            notes.append(self._book.slice("current_date", date=date))
        if agent.planning_enabled:
            from crewgraph.compiler.agent.plan.execution import execute_plan, plan_notes

            self.plan_outcome = yield from execute_plan(
                self._plan_execution(agent, briefing, refused, (*other_notes, *notes))
            )
            notes += plan_notes(self.plan_outcome, self._book)
        elif agent.reasoning:
            plan = yield from self.make_plan(briefing, refused)
            if plan is not None and plan.text:
                from crewgraph.compiler.agent.plan.execution import PlanOutcome, plan_notes

                notes += plan_notes(PlanOutcome(plan, TodoList()), self._book)
        return tuple(notes)

    def _knowledge_notes(self, text: str, expected: str, context: str) -> Body[tuple[str, ...]]:
        """Query the agent's and the crew's knowledge, once per run; return a note for the prompt."""
        if self._knowledge is None:
            agent, crew, resources = self._agent, self._binding.crew, self.resources
            query = KnowledgeQuery(
                agent=agent,
                crew=crew,
                text=text,
                expected=expected,
                context=context,
                model=(lambda: resources.model) if resources.executor is None else None,
                book=self._book,
                usage=self._usage,
                report=KnowledgeReport(agent, self._task, self._binding.where),
            )
            self._knowledge = yield from query_knowledge(query)
        return (self._knowledge,) if self._knowledge else ()

    def make_plan(self, briefing: Briefing, refused: Refused | None = None) -> "Body[AgentPlan | None]":
        """Make a plan; a refused attempt and the reason are part of the prompt."""
        agent = self._agent if isinstance(self._agent, AgentDefinition) else None
        attempts = agent.max_reasoning_attempts if agent else None
        planner = self._planner(self.resources.model, briefing, refused, attempts)
        from crewgraph.compiler.agent.plan.planner import make_plan

        return make_plan(planner if agent is None else replace(planner, config=agent.planning_config))

    def _planner(self, model: Model, briefing: Briefing, refused: Refused | None, attempts: int | None) -> "Planner":
        from crewgraph.compiler.agent.plan.planner import Planner

        return Planner(
            model=model,
            book=self._book,
            briefing=briefing,
            tools=self.resources.tools.listed,
            attempts=attempts,
            usage=self._usage,
            report=self._report,
            refused=refused,
        )

    def _plan_execution(
        self, agent: AgentDefinition, briefing: Briefing, refused: Refused | None, other_notes: tuple[str, ...]
    ) -> "PlanExecution":
        config = agent.planning_config or PlanningConfig.simplest()
        resources = self.resources
        model = resources.model if config.llm is None else resources.model_for(config.llm)
        planner = replace(self._planner(model, briefing, refused, config.max_attempts), config=config)
        texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
        from crewgraph.compiler.agent.plan.execution import PlanExecution
        from crewgraph.compiler.agent.plan.report import AgentPlanReport
        from crewgraph.definitions.agent.delegation_tools import CoworkerTool

        return PlanExecution(
            agent=agent,
            config=config,
            planner=planner,
            new_context=lambda: replace(
                self._react_context(),
                max_iter=config.max_step_iterations,
                usage=UsageLedger(),
                counts={},
                structure=None,
                structured_model=None,
            ),
            system_prompt=agent_system_prompt(
                texts,
                resources.tools,
                self._book,
                native=resources.native_tools,
                capability_notes=resources.notes,
            ),
            notes=other_notes,
            parallel=not any(
                isinstance(tool.tool.tool.source, CoworkerTool) for tool in resources.event_tools.values()
            ),
            counts=self._report.counts,
            report=AgentPlanReport(agent, self._task, self._role),
            runs_steps=resources.executor is None and not agent.middleware,
        )

    def _timeout_message(self, failure: EffectFailed) -> str:
        hint = " Waiting for `max_rpm` counts towards it." if controllers_of(self._agent, self._binding.crew) else ""
        return (
            f"{self.where}: not done after its `max_execution_time` of {self._binding.seconds:g} seconds: "
            f"{failure.text}. Raise the limit, or make the task smaller.{hint}"
        )

    @property
    def _step_callback(self) -> Callable[..., Any] | None:
        callback, crew = getattr(self._agent, "step_callback", None), self._binding.crew
        return callback or (crew.step_callback if crew else None)

    def stepped(self, step: AgentAction | AgentFinish, number: int) -> None:
        """See `LoopObserver`."""
        self._report.step(step, number)

    def tool_refused(self, tool: str, args: PlainDict | str, text: str) -> None:
        """See `LoopObserver`."""
        self._report.tool_refused(tool, args, text)

    def condensing(self) -> None:
        """See `LoopObserver`."""
        self._report.condensing()

    def condensed(self, error: str) -> None:
        """See `LoopObserver`."""
        self._report.condensed(error)

    def not_condensed(self, error: str) -> None:
        """See `LoopObserver`."""
        self._report.not_condensed(error)

    def tool_answered(self, tool: str, result: str) -> Body[None]:
        """See `LoopObserver`; saves the result in the agent's memory."""
        found_tool = self.resources.tools.find(tool)
        from crewgraph.compiler.agent.delegation import Delegation

        if self.recollection is None or isinstance(found_tool, Delegation):
            return  # a coworker remembers it
        from crewgraph.compiler.agent.event_tool import EventTool
        from crewgraph.tools.memory import RecallMemoryTool, RememberTool

        if isinstance(found_tool, EventTool) and isinstance(
            found_tool.tool.tool.source, (RecallMemoryTool, RememberTool)
        ):
            return  # already in a memory
        yield from self.recollection.save_observation(tool, self._role, result)

    def tool_failed(self, tool: str, args: PlainDict | str, failure: dict[str, object], is_used: bool) -> Body[None]:
        """See `LoopObserver`; unless the tool was run (`is_used`), emits its event, too."""
        found_tool = self.resources.tools.find(tool)
        from crewgraph.compiler.agent.event_tool import EventTool

        source = found_tool.tool.tool.source if isinstance(found_tool, EventTool) else None
        from crewgraph.compiler.agent.event_tool import FailingTool

        failing = FailingTool(
            source, tool if found_tool is None else found_tool.name, self._agent, self._task, self._binding.crew
        )
        parsed = extract_json(args) if isinstance(args, str) else args
        if (
            isinstance(parsed, dict) and unstorable(cast("PlainDict", parsed)) is None
        ):  # else the model's text, which can be
            args = cast("PlainDict", parsed)
        record = failing.record(args, failure)
        if record is None:
            return
        self.failures.append(record)
        if not is_used:  # otherwise reported with the call
            yield Notify(partial(failing.report, args, failure))
            failing.raise_if_fatal(args, failure)
        yield Notify(partial(self._agent.record_tool_failures, tuple(self.failures)))

    def _react_context(self) -> ReActContext:
        agent, crew = self._agent if isinstance(self._agent, AgentDefinition) else None, self._binding.crew
        template, resources = agent.response_template if agent else None, self.resources
        return ReActContext(
            binding=self._binding,
            model=resources.model,
            native_tools=resources.native_tools,
            tools=resources.tools,
            book=self._book,
            max_iter=self._agent.max_iter,
            usage=self._usage,
            observer=self,
            asker=self.asker,
            inputs=self._inputs,
            step_callback=self._step_callback,
            counts=self._report.counts,
            retries_left=agent.max_retry_limit if agent else 0,
            may_condense=(agent is None or agent.respect_context_window)
            and (crew is None or crew.respect_context_window),
            structure=self._structure,
            structured_model=None if self._structure is None else self._structured_model(self._structure),
            argument_model=lambda: resources.converter_model,
            stop=tuple(filter(None, [split_at_slot(template, "Response")[1]])) if template else (),
        )

    def _structured_model(self, structure: type[BaseModel]) -> Model | None:
        """Return the model that answers with a structure; None where tools may be called first, or a converter is given."""
        resources = self.resources
        if resources.tools or getattr(self._task, "converter_cls", None) or resources.converter_override:
            return None
        return structured_model(resources.model, structure)


def _format_now(date_format: str) -> str:
    return datetime.now().strftime(date_format)
