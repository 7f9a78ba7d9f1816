"""The work of an agent: knowledge, memories and plans go into its prompt, then a loop or an executor produces the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.event_tool import EventTool, FailingTool
from crewgraph.compiler.agent.events import AgentReport, KnowledgeReport
from crewgraph.compiler.agent.executor import run_executor
from crewgraph.compiler.agent.knowledge import KnowledgeQuery, query_knowledge
from crewgraph.compiler.agent.memory import Recollection
from crewgraph.compiler.agent.memory_calls import MemoryUser
from crewgraph.compiler.agent.models import controllers_of
from crewgraph.compiler.agent.people import Asker
from crewgraph.compiler.agent.plan.execution import PlanExecution, PlanOutcome, execute_plan, plan_notes
from crewgraph.compiler.agent.plan.planner import AgentPlan, Planner, make_plan
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.agent.prompt import agent_system_prompt
from crewgraph.compiler.agent.react import ReActContext, react_loop, run_step_callback
from crewgraph.compiler.agent.tools import AgentResources
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.effects import Body, Call, EffectFailed, Notify, Scope
from crewgraph.core.files import FileRecord
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.agent.planning import PlanningConfig, TodoList
from crewgraph.definitions.placeholders import split_at_slot
from crewgraph.definitions.task.task import Task
from crewgraph.errors import TimeLimitReached
from crewgraph.llm.capabilities import context_window_of
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.text import extract_json
from crewgraph.tools.failure import ToolFailureRecord
from crewgraph.tools.memory import RecallMemoryTool, RememberTool

__all__ = ["AgentRunner", "Refused"]


Refused = tuple[str, str]
"""An earlier attempt, and why it was refused."""


class AgentRunner(AgentResources):
    """An agent working in one run, on a task or on the messages of a kickoff.

    Args:
        binding: the agent and its tools.
        role: the agent's role, rendered for this run.
        report: emits the events.
        usage: counts the requests.
        book: the prompts.
        task: the task; None for a kickoff with messages.
        files: the files of the run, by name.
    """

    def __init__(
        self,
        binding: AgentBinding,
        role: str,
        report: AgentReport,
        usage: UsageLedger,
        book: Book,
        task: Task | None = None,
        files: Mapping[str, FileRecord] | None = None,
    ) -> None:
        super().__init__(binding, book, task, files)
        self._role, self._report, self._usage = role, report, usage
        self._knowledge: str | None = None
        self.plan_outcome: PlanOutcome | None = None
        """The plan of the last attempt and its results."""
        self.failures: list[ToolFailureRecord] = []
        """The failures of its tools."""

    @cached_property
    def capability_notes(self) -> tuple[str, ...]:
        """What the capabilities add to the prompt."""
        notes = (capability.notes(self._event_tools, self._book) for capability in self.capabilities)
        return tuple(note for group in notes for note in group)

    def begin_capabilities(self) -> Body[None]:
        """Notify the capabilities that work on an answer starts."""
        for capability in self.capabilities:
            yield from capability.begin()

    @property
    def native_tools(self) -> bool:
        """Whether the model is offered tools through native tool calls."""
        return self.executor is None and self.model.native_tools

    @property
    def asker(self) -> Asker:
        """Asks people on behalf of the agent."""
        task = None if self._task is None else self._binding.slug
        report = self._report
        return Asker(agent=self._role, task=task, book=self._book, on_asked=report.asked, on_answered=report.answered)

    @cached_property
    def recollection(self) -> Recollection:
        """The agent's memories."""
        user = MemoryUser(self._agent, self._task, self._role)
        return Recollection(self.memories, user, self._book, self._binding.where)

    @property
    def assessor(self) -> Model | None:
        """The model that rates answers and extracts what to remember; None if the agent works without a model."""
        override = override_of(self._agent, "execute_task") or override_of(self._agent, "aexecute_task")
        if self._agent.llm is None and (override is not None or self.executor is not None):
            return None
        return self.model

    def run_with_timeout(self, work: Callable[[], Body[str]], messages: Sequence[Message]) -> Body[str]:
        """Run work within `max_execution_time`, as a run of its own in traces, with its first messages as input.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        yield Notify(partial(self._agent.record_tool_failures, tuple(self.failures)))
        try:
            return (
                yield Scope(
                    name=f"Agent: {self._role}",
                    body=work,
                    given={"messages": list(messages)},
                    metadata={"agent_role": self._role},
                    seconds=self._binding.seconds,
                )
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._timeout_message(failure)) from failure
            raise

    def reply(self, dialogue: Dialogue, context: str = "") -> Body[str]:
        """Return the answer to the last message of a conversation; what happens on the way is added to it."""
        if self.executor is None:
            return (yield from react_loop(self._react_context(), dialogue))
        answer = yield from run_executor(self.executor, dialogue.transcript.messages, context, self._usage)
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
        if not isinstance(agent, Agent):
            return ()
        if agent.inject_date:
            date: str = yield Call(
                function=_format_now, args=(agent.date_format,), name="date", about=agent.date_format
            )
            notes.append(self._book.slice("current_date", date=date))
        if agent.planning_enabled:
            self.plan_outcome = yield from execute_plan(
                self._plan_execution(agent, briefing, refused, (*other_notes, *notes))
            )
            notes += plan_notes(self.plan_outcome, self._book)
        elif agent.reasoning:
            plan = yield from self.make_plan(briefing, refused)
            if plan is not None and plan.text:
                notes += plan_notes(PlanOutcome(plan, TodoList()), self._book)
        return tuple(notes)

    def knowledge_notes(self, text: str, expected: str = "", context: str = "") -> Body[tuple[str, ...]]:
        """Query the agent's and the crew's knowledge, once per run; return a note for the prompt.

        Args:
            text: the task or question.
            expected: the expected output.
            context: the outputs of other tasks.

        Raises:
            SourceError: a knowledge source cannot be used.
        """
        if self._knowledge is None:
            agent, crew, has_model = self._agent, self._binding.crew, self.executor is None
            query = KnowledgeQuery(
                agent=agent,
                crew=crew,
                text=text,
                expected=expected,
                context=context,
                model=(lambda: self.model) if has_model else None,
                book=self._book,
                usage=self._usage,
                report=KnowledgeReport(agent, self._task, self._binding.where),
            )
            self._knowledge = yield from query_knowledge(query)
        return (self._knowledge,) if self._knowledge else ()

    def make_plan(self, briefing: Briefing, refused: Refused | None = None) -> Body[AgentPlan | None]:
        """Make a plan; a refused attempt and the reason are part of the prompt."""
        agent = self._agent if isinstance(self._agent, Agent) else None
        planner = self._planner(self.model, briefing, refused, agent.max_reasoning_attempts if agent else None)
        return make_plan(planner if agent is None else replace(planner, config=agent.planning_config))

    def _planner(self, model: Model, briefing: Briefing, refused: Refused | None, attempts: int | None) -> Planner:
        return Planner(
            model=model,
            book=self._book,
            briefing=briefing,
            tools=self.tools.listed,
            attempts=attempts,
            usage=self._usage,
            report=self._report,
            refused=refused,
        )

    def _plan_execution(
        self, agent: Agent, briefing: Briefing, refused: Refused | None, other_notes: tuple[str, ...]
    ) -> PlanExecution:
        config = agent.planning_config or PlanningConfig.simplest()
        model = self.model if config.llm is None else self.model_for(config.llm)
        planner = replace(self._planner(model, briefing, refused, config.max_attempts), config=config)
        texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
        native, capability_notes = self.native_tools, self.capability_notes
        return PlanExecution(
            agent=agent,
            config=config,
            planner=planner,
            new_context=lambda: replace(
                self._react_context(), max_iter=config.max_step_iterations, usage=UsageLedger(), counts={}
            ),
            system_prompt=agent_system_prompt(
                texts, self.tools, self._book, native=native, capability_notes=capability_notes
            ),
            notes=other_notes,
            parallel=not any(
                isinstance(tool.tool.tool.source, CoworkerTool) for tool in self._available_tools.values()
            ),
            counts=self._report.counts,
            report=AgentPlanReport(agent, self._task, self._role),
            runs_steps=self.executor is None,
        )

    def _timeout_message(self, failure: EffectFailed) -> str:
        hint = " Waiting for `max_rpm` counts towards it." if controllers_of(self._agent, self._binding.crew) else ""
        return (
            f"{self._binding.where}: not done after its `max_execution_time` of {self._binding.seconds:g} seconds: "
            f"{failure.text}. Raise the limit, or make the task smaller.{hint}"
        )

    @property
    def _step_callback(self) -> Callable[..., Any] | None:
        callback, crew = getattr(self._agent, "step_callback", None), self._binding.crew
        return callback or (crew.step_callback if crew else None)

    def _store_observation(self, tool: str, observation: str) -> Body[None]:
        """Save a tool's result in the agent's memory."""
        found_tool = self.tools.find(tool)
        if isinstance(found_tool, EventTool) and isinstance(
            found_tool.tool.tool.source, (RecallMemoryTool, RememberTool)
        ):
            return  # already in a memory
        yield from self.recollection.save_observation(tool, self._role, observation)

    def _record_failure(
        self, tool: str, args: dict[str, Any] | str, failure: dict[str, object], is_used: bool
    ) -> Body[None]:
        """Record a tool's failure; unless the tool was run (`is_used`), emit its event, too."""
        found_tool = self.tools.find(tool)
        source = found_tool.tool.tool.source if isinstance(found_tool, EventTool) else None
        failing = FailingTool(
            source, tool if found_tool is None else found_tool.name, self._agent, self._task, self._binding.crew
        )
        parsed = extract_json(args) if isinstance(args, str) else args
        args = args if parsed is None else parsed
        record = failing.record(args, failure)
        if record is None:
            return
        self.failures.append(record)
        if not is_used:  # otherwise reported with the call
            yield Notify(partial(failing.report, args, failure))
            failing.raise_if_fatal(args, failure)
        yield Notify(partial(self._agent.record_tool_failures, tuple(self.failures)))

    def _react_context(self) -> ReActContext:
        agent, crew = self._agent if isinstance(self._agent, Agent) else None, self._binding.crew
        template = agent.response_template if agent else None
        return ReActContext(
            model=self.model,
            tools=self.tools,
            book=self._book,
            max_iter=self._agent.max_iter,
            where=self._binding.where,
            usage=self._usage,
            on_step=self._report.step,
            on_tool_refused=self._report.tool_refused,
            on_tool_failed=self._record_failure,
            asker=self.asker,
            step_callback=self._step_callback,
            counts=self._report.counts,
            retries_left=agent.max_retry_limit if agent else 0,
            window=lambda: context_window_of(self._agent.llm, self.model.name),
            may_condense=(agent is None or agent.respect_context_window)
            and (crew is None or crew.respect_context_window),
            on_condensing=self._report.condensing,
            on_condensed=self._report.condensed,
            on_condensation_failed=self._report.not_condensed,
            argument_model=self._converter_model,
            store_observation=self._store_observation if self.recollection else None,
            stop=tuple(filter(None, [split_at_slot(template, "Response")[1]])) if template else (),
        )


def _format_now(date_format: str) -> str:
    return datetime.now().strftime(date_format)
