"""What an agent does for a task: from the texts of a run to its answer."""

from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.bodies.dialogue import Dialogue
from crewgraph.compiler.bodies.prompt import Opening, retold
from crewgraph.compiler.bodies.react import Worker, worked
from crewgraph.compiler.bodies.reasoning import Plan, Planner, planned
from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.cached import cached
from crewgraph.compiler.limited import LimitedModel, model_of
from crewgraph.compiler.observed import ObservedTool
from crewgraph.compiler.ongoing import OngoingTask
from crewgraph.compiler.report import TaskReport
from crewgraph.compiler.toolbox import Toolbox
from crewgraph.core.effects import Body, Call, EffectFailed, Notify, Scope
from crewgraph.core.ports import Model
from crewgraph.definitions.agent import Agent
from crewgraph.definitions.frame import around
from crewgraph.definitions.own_version import own_version
from crewgraph.errors import TimeLimitReached
from crewgraph.llm.capabilities import window_of
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.ledger import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["AgentAtWork", "Refused"]

Refused = tuple[str, str]
"""An earlier attempt, and why it was refused."""


class AgentAtWork:
    """An agent at work on a task, in one run.

    Args:
        assignment: who, on what, with which tools.
        briefing: the texts of the run.
        report: who is told.
        usage: where requests are counted.
        book: the wording.
    """

    def __init__(
        self, assignment: Assignment, briefing: Briefing, report: TaskReport, usage: UsageLedger, book: Book
    ) -> None:
        self._assignment, self._briefing = assignment, briefing
        self._agent, self._task = assignment.agent, assignment.task
        self._report, self._usage, self._book = report, usage, book
        self._dialogue: Dialogue | None = None

    @cached_property
    def model(self) -> Model:
        """Its model."""
        return self.asked(self._agent.llm)

    def asked(self, llm: Any) -> Model:
        """Another model, at work for this agent on its task."""
        return model_of(llm, self._agent, self._task, self._assignment.crew)

    @cached_property
    def converter(self) -> Model:
        """The model that gives texts a structure."""
        return self.model if self._reader is None else self._reader

    @property
    def converter_llm(self) -> Any:
        """The same, as the user gave it."""
        special = self._special_llm
        return self._agent.llm if special is None else special

    @cached_property
    def _reader(self) -> Model | None:
        """The model for reading arguments and structures, where there is a special one."""
        special = self._special_llm
        return None if special is None else self.asked(special)

    @property
    def _special_llm(self) -> Any:
        special = self._agent.function_calling_llm if isinstance(self._agent, Agent) else None
        if special is None and self._assignment.crew is not None:
            special = self._assignment.crew.function_calling_llm
        return special

    @cached_property
    def _tools(self) -> Toolbox:
        agent, crew = self._agent, self._assignment.crew
        known = self._assignment.tools
        return Toolbox(
            {name: ObservedTool(cached(tool, agent, crew), agent, self._task) for name, tool in known.items()}
        )

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """What was said in its last attempt, before its answer, in the form that OpenAI's clients use."""
        return openai_messages(self._dialogue.transcript.messages) if self._dialogue else []

    def answer(self, refused: Refused | None = None) -> Body[str]:
        """Its answer; a refused attempt and the reason come into the prompt.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        own = own_version(self._agent, "execute_task") or own_version(self._agent, "aexecute_task")
        if own is not None:
            return (yield from self._by_own_version(own, refused))
        return (yield from self.own_answer(refused))

    def own_answer(self, refused: Refused | None = None) -> Body[str]:
        """Its answer by the loop of model and tools, whatever its class overrides."""
        role, seconds = self._briefing.role, self._assignment.seconds
        opening = Opening(
            agent=self._agent,
            task=self._task,
            briefing=self._briefing,
            tools=self._tools,
            native=self.model.native_tools,
            book=self._book,
            refused=refused,
        )
        dialogue = Dialogue(opening.messages, self._briefing.context)
        try:
            answer: str = yield Scope(
                name=f"Agent: {role}",
                body=lambda: self._answered(opening, dialogue, refused),
                given={"messages": dialogue.transcript.messages},
                metadata={"agent_role": role},
                seconds=seconds,
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._out_of_time(failure)) from failure
            raise
        yield Notify(partial(self._report.agent_completes, answer))
        return answer

    def _answered(self, opening: Opening, dialogue: Dialogue, refused: Refused | None) -> Body[str]:
        notes = yield from self._notes(refused)
        if notes:
            dialogue = Dialogue(replace(opening, notes=notes).messages, self._briefing.context)
        self._dialogue = dialogue
        messages = dialogue.transcript.messages
        yield Notify(partial(self._report.agent_begins, messages, self._assignment.given_tools))
        return (yield from worked(self._worker(), dialogue))

    def _notes(self, refused: Refused | None) -> Body[tuple[str, ...]]:
        """What it is told with the description: the date, and its plan."""
        agent, notes = self._agent, list[str]()
        if not isinstance(agent, Agent):
            return ()
        if agent.inject_date:
            date: str = yield Call(function=_today, args=(agent.date_format,), name="date", about=agent.date_format)
            notes.append(self._book.slice("current_date", date=date))
        if agent.reasoning:
            plan = yield from self.plan(refused)
            if plan is not None and plan.text:
                notes.append(self._book.slice("plan", plan=plan.text))
        return tuple(notes)

    def plan(self, refused: Refused | None = None) -> Body[Plan | None]:
        """Its plan for the task; a refused attempt and the reason come into the prompt."""
        planner = Planner(
            model=self.model,
            book=self._book,
            briefing=self._briefing,
            tools=self._tools.listed,
            attempts=self._agent.max_reasoning_attempts if isinstance(self._agent, Agent) else None,
            usage=self._usage,
            audience=self._report,
            refused=refused,
        )
        return planned(planner)

    def _out_of_time(self, failure: EffectFailed) -> str:
        waits = " Waiting for `max_rpm` counts, too." if isinstance(self.model, LimitedModel) else ""
        return (
            f"{self._assignment.where}: not done after its `max_execution_time` of {self._assignment.seconds:g} seconds: "
            f"{failure.text}. Give it more time, or less to do.{waits}"
        )

    def _by_own_version(self, own: Any, refused: Refused | None) -> Body[str]:
        """What the agent's class, or a patch, does in the place of our loop."""
        ongoing = OngoingTask(self._task, self._briefing)
        context = retold(self._briefing.context, refused, self._book)
        told: dict[str, Any] = yield Call(
            function=own,
            keywords={"task": self._task, "context": context, "tools": list(self._assignment.given_tools)},
            name="execute_task",
            kind="agent",
            about=[self._briefing.description, context],
            enter=ongoing.enter,
            encode=lambda answer: {"answer": _text(answer), "usage": ongoing.usage.to_plain()},
        )
        self._usage.add(told["usage"])
        return told["answer"]

    def _worker(self) -> Worker:
        agent = self._agent if isinstance(self._agent, Agent) else None
        own = agent.step_callback if agent else None
        crew = self._assignment.crew
        template = agent.response_template if agent else None
        callback = own or (crew.step_callback if crew else None)
        return Worker(
            model=self.model,
            tools=self._tools,
            book=self._book,
            max_iter=self._agent.max_iter,
            where=self._assignment.where,
            usage=self._usage,
            told=self._report.step,
            refused=self._report.tool_refused,
            step_callback=callback,
            counts=self._report.counts,
            retries=agent.max_retry_limit if agent else 0,
            window=lambda: window_of(self._agent.llm, self.model.name),
            condenses=(agent is None or agent.respect_context_window) and (crew is None or crew.respect_context_window),
            condensed=self._report.condensed,
            reader=self._reader,
            stop=tuple(filter(None, [around(template, "Response")[1]])) if template else (),
        )


def _today(written: str) -> str:
    return datetime.now().strftime(written)


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer)
