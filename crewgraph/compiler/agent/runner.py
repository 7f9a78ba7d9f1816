"""What an agent does for a task or for messages: from the texts of a run to its answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.event_tool import EventTool, Failing
from crewgraph.compiler.agent.events import AgentReport, KnowledgeReport
from crewgraph.compiler.agent.executor import run_executor
from crewgraph.compiler.agent.knowledge import Lookup, query_knowledge
from crewgraph.compiler.agent.memory import Recollection
from crewgraph.compiler.agent.memory_calls import Remembers
from crewgraph.compiler.agent.models import controllers_of
from crewgraph.compiler.agent.people import Asker
from crewgraph.compiler.agent.plan.execution import PlanExecution, PlanOutcome, execute_plan, plan_notes
from crewgraph.compiler.agent.plan.planner import AgentPlan, Planner, make_plan
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.agent.prompt import told_itself
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
    """An agent at work in one run, on a task or on messages.

    Args:
        engagement: who, with which tools.
        role: its role in this run.
        report: who is told.
        usage: where requests are counted.
        book: the wording.
        task: what it works on; None where it answers messages.
        files: of the run, by name.
    """

    def __init__(
        self,
        engagement: AgentBinding,
        role: str,
        report: AgentReport,
        usage: UsageLedger,
        book: Book,
        task: Task | None = None,
        files: Mapping[str, FileRecord] | None = None,
    ) -> None:
        super().__init__(engagement, book, task, files)
        self._role, self._heard, self._usage = role, report, usage
        self._known: str | None = None
        self.by_plan: PlanOutcome | None = None
        """Its plan, and what came of it, in its last attempt."""
        self.failures: list[ToolFailureRecord] = []
        """What its tools failed at."""

    @cached_property
    def capability_notes(self) -> tuple[str, ...]:
        """What its prompt says of its capabilities."""
        notes = (capability.notes(self._observed, self._book) for capability in self.capabilities)
        return tuple(note for several in notes for note in several)

    def begin_capabilities(self) -> Body[None]:
        """Let its capabilities know that it begins to work on an answer."""
        for capability in self.capabilities:
            yield from capability.begin()

    @property
    def native_tools(self) -> bool:
        """Whether tools are offered in the model's own protocol."""
        return self.executor is None and self.model.native_tools

    @property
    def asker(self) -> Asker:
        """Asks people in its name."""
        task = None if self._about is None else self._engagement.slug
        heard = self._heard
        return Asker(agent=self._role, task=task, book=self._book, asked=heard.asked, answered=heard.answered)

    @cached_property
    def recollection(self) -> Recollection:
        """Its memories."""
        who = Remembers(self._agent, self._about, self._role)
        return Recollection(self.memories, who, self._book, self._engagement.where)

    @property
    def assessor(self) -> Model | None:
        """Who says how good its answers are, and what is worth remembering of them; None where it works without a model."""
        own = override_of(self._agent, "execute_task") or override_of(self._agent, "aexecute_task")
        if self._agent.llm is None and (own is not None or self.executor is not None):
            return None
        return self.model

    def in_time(self, work: Callable[[], Body[str]], begun: Sequence[Message]) -> Body[str]:
        """What some work gives, in a run of its own in the trace, which shows the messages it began with.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        yield Notify(partial(self._agent.record_tool_failures, tuple(self.failures)))
        try:
            return (
                yield Scope(
                    name=f"Agent: {self._role}",
                    body=work,
                    given={"messages": list(begun)},
                    metadata={"agent_role": self._role},
                    seconds=self._engagement.seconds,
                )
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._out_of_time(failure)) from failure
            raise

    def replied(self, dialogue: Dialogue, context: str = "") -> Body[str]:
        """The answer to a conversation's last message; what is said on the way to it is added to the conversation."""
        if self.executor is None:
            return (yield from react_loop(self._worker(), dialogue))
        answer = yield from run_executor(self.executor, dialogue.transcript.messages, context, self._usage)
        finish = AgentFinish(thought="", output=answer, text=answer)
        yield from run_step_callback(self._heard.step, self._step_callback, finish, 1)
        return answer

    def notes(
        self, briefing: Briefing, refused: Refused | None = None, told: Sequence[str] = ()
    ) -> Body[tuple[str, ...]]:
        """What it is told with what it is asked: the date, and its plan, with what came of its steps.

        Args:
            briefing: what it is asked.
            refused: an earlier attempt, and why it was refused.
            told: what else it is told, for the steps.
        """
        agent, notes = self._agent, list[str]()
        if not isinstance(agent, Agent):
            return ()
        if agent.inject_date:
            date: str = yield Call(function=_today, args=(agent.date_format,), name="date", about=agent.date_format)
            notes.append(self._book.slice("current_date", date=date))
        if agent.planning_enabled:
            self.by_plan = yield from execute_plan(self._plan_execution(agent, briefing, refused, (*told, *notes)))
            notes += plan_notes(self.by_plan, self._book)
        elif agent.reasoning:
            plan = yield from self.planned(briefing, refused)
            if plan is not None and plan.text:
                notes += plan_notes(PlanOutcome(plan, TodoList()), self._book)
        return tuple(notes)

    def known(self, text: str, expected: str = "", context: str = "") -> Body[tuple[str, ...]]:
        """What is known of what it is asked, looked up once in a run; a note for its prompt.

        Args:
            text: what it is asked.
            expected: what is to come of it.
            context: what others have found out.

        Raises:
            SourceError: a source of knowledge cannot be used.
        """
        if self._known is None:
            agent, crew, has_model = self._agent, self._engagement.crew, self.executor is None
            lookup = Lookup(
                agent=agent,
                crew=crew,
                text=text,
                expected=expected,
                context=context,
                model=(lambda: self.model) if has_model else None,
                book=self._book,
                usage=self._usage,
                report=KnowledgeReport(agent, self._about, self._engagement.where),
            )
            self._known = yield from query_knowledge(lookup)
        return (self._known,) if self._known else ()

    def planned(self, briefing: Briefing, refused: Refused | None = None) -> Body[AgentPlan | None]:
        """Its plan for what it is asked; a refused attempt and the reason come into the prompt."""
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
            report=self._heard,
            refused=refused,
        )

    def _plan_execution(
        self, agent: Agent, briefing: Briefing, refused: Refused | None, told: tuple[str, ...]
    ) -> PlanExecution:
        config = agent.planning_config or PlanningConfig.simplest()
        model = self.model if config.llm is None else self.asked(config.llm)
        planner = replace(self._planner(model, briefing, refused, config.max_attempts), config=config)
        texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
        native, notes = self.native_tools, self.capability_notes
        return PlanExecution(
            agent=agent,
            config=config,
            planner=planner,
            worker=lambda: replace(self._worker(), max_iter=config.max_step_iterations, usage=UsageLedger(), counts={}),
            told=told_itself(texts, self.tools, self._book, native=native, capability_notes=notes),
            notes=told,
            side_by_side=not any(isinstance(one.tool.tool.source, CoworkerTool) for one in self._offered.values()),
            counts=self._heard.counts,
            report=AgentPlanReport(agent, self._about, self._role),
            carries_out=self.executor is None,
        )

    def _out_of_time(self, failure: EffectFailed) -> str:
        waits = " Waiting for `max_rpm` counts, too." if controllers_of(self._agent, self._engagement.crew) else ""
        return (
            f"{self._engagement.where}: not done after its `max_execution_time` of {self._engagement.seconds:g} seconds: "
            f"{failure.text}. Give it more time, or less to do.{waits}"
        )

    @property
    def _step_callback(self) -> Callable[..., Any] | None:
        own, crew = getattr(self._agent, "step_callback", None), self._engagement.crew
        return own or (crew.step_callback if crew else None)

    def _remembers(self, tool: str, observation: str) -> Body[None]:
        """A tool has given something."""
        used = self.tools.named(tool)
        if isinstance(used, EventTool) and isinstance(used.tool.tool.source, (RecallMemoryTool, RememberTool)):
            return  # it came out of a memory, or went into one
        yield from self.recollection.used(tool, self._role, observation)

    def _failed(self, tool: str, args: dict[str, Any] | str, failure: dict[str, Any], is_used: bool) -> Body[None]:
        """A use of a tool came to nothing, or (where it `is_used` not) there could be none."""
        used = self.tools.named(tool)
        source = used.tool.tool.source if isinstance(used, EventTool) else None
        failing = Failing(source, tool if used is None else used.name, self._agent, self._about, self._engagement.crew)
        read = extract_json(args) if isinstance(args, str) else args
        args = args if read is None else read
        record = failing.record(args, failure)
        if record is None:
            return
        self.failures.append(record)
        if not is_used:  # else that was told with its use
            yield Notify(partial(failing.tell, args, failure))
            failing.end(args, failure)
        yield Notify(partial(self._agent.record_tool_failures, tuple(self.failures)))

    def _worker(self) -> ReActContext:
        agent, crew = self._agent if isinstance(self._agent, Agent) else None, self._engagement.crew
        template = agent.response_template if agent else None
        return ReActContext(
            model=self.model,
            tools=self.tools,
            book=self._book,
            max_iter=self._agent.max_iter,
            where=self._engagement.where,
            usage=self._usage,
            told=self._heard.step,
            refused=self._heard.tool_refused,
            failed=self._failed,
            asker=self.asker,
            step_callback=self._step_callback,
            counts=self._heard.counts,
            retries=agent.max_retry_limit if agent else 0,
            window=lambda: context_window_of(self._agent.llm, self.model.name),
            condenses=(agent is None or agent.respect_context_window) and (crew is None or crew.respect_context_window),
            condensing=self._heard.condensing,
            condensed=self._heard.condensed,
            not_condensed=self._heard.not_condensed,
            reader=self._reader,
            remembers=self._remembers if self.recollection else None,
            stop=tuple(filter(None, [split_at_slot(template, "Response")[1]])) if template else (),
        )


def _today(written: str) -> str:
    return datetime.now().strftime(written)
