"""An agent at work on a task: by its own version of the verb, by our loop, or by its executor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from crewgraph.compiler.agent.delegation import Delegation, DelegationTeam
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.executor import create_executor
from crewgraph.compiler.agent.human_review import configured_provider
from crewgraph.compiler.agent.people import Reviewer, feedback_on
from crewgraph.compiler.agent.plan.planner import AgentPlan
from crewgraph.compiler.agent.prompt import Opening, retold
from crewgraph.compiler.agent.runner import AgentRunner, Refused
from crewgraph.compiler.agent.toolbox import PreparedTool
from crewgraph.compiler.task.binding import TaskBinding, bind_delegated_task
from crewgraph.compiler.task.briefing import Briefing, OngoingTask
from crewgraph.compiler.task.events import TaskReport
from crewgraph.compiler.task.training import apply_feedback, round_of, training_notes
from crewgraph.core.effects import Body, Call, Notify
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.agent.delegation_tools import DEFAULT_MAX_DELEGATIONS, CoworkerTool
from crewgraph.definitions.task.delegated import DelegatedTask
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book

__all__ = ["TaskRunner"]


class TaskRunner(AgentRunner):
    """An agent at work on a task.

    Args:
        assignment: who, on what, with which tools.
        briefing: the texts of the run.
        report: who is told.
        usage: where requests are counted.
        book: the wording.
        inputs: of the run, for the texts of coworkers.
        depth: how many others handed this work on before it came here.
    """

    def __init__(
        self,
        assignment: TaskBinding,
        briefing: Briefing,
        report: TaskReport,
        usage: UsageLedger,
        book: Book,
        inputs: Mapping[str, Any] | None = None,
        depth: int = 0,
    ) -> None:
        super().__init__(assignment, briefing.role, report, usage, book, assignment.task, briefing.files)
        self._inputs, self._depth = inputs or {}, depth
        self._assignment, self._briefing, self._task, self._report = assignment, briefing, assignment.task, report
        self._dialogue: Dialogue | None = None

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """What was said in its last attempt, before its answer, in the form that OpenAI's clients use."""
        return openai_messages(self._dialogue.transcript.messages) if self._dialogue else []

    def answer(self, refused: Refused | None = None) -> Body[str]:
        """Its answer; a refused attempt and the reason come into the prompt.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        yield from self.equipped()
        is_taught = not refused and not self._depth  # else people have seen it, or see what is made of it
        own = override_of(self._agent, "execute_task") or override_of(self._agent, "aexecute_task")
        if own is not None:
            answer = yield from self._by_own_version(own, refused)
            improved = partial(self._given_again, own)
        else:
            answer = yield from self._worked_out(refused)
            improved = self._improved
        if is_taught:
            answer = yield from apply_feedback(self._assignment, self._briefing, answer, improved)
        if own is None:
            yield Notify(partial(self._report.agent_completes, answer))
        return answer

    def own_answer(self, refused: Refused | None = None) -> Body[str]:
        """Its answer in our way, whatever its class overrides."""
        answer = yield from self._worked_out(refused)
        yield Notify(partial(self._report.agent_completes, answer))
        return answer

    def _worked_out(self, refused: Refused | None) -> Body[str]:
        yield from self.equipped()
        opening = Opening(
            agent=self._agent,
            task=self._task,
            briefing=self._briefing,
            tools=self.tools,
            native=self.native_tools,
            book=self._book,
            refused=refused,
            capability_notes=self.capability_notes,
            files=self.files,
        )
        dialogue = Dialogue(opening.messages, self._briefing.context)
        begun = dialogue.transcript.messages
        answer = yield from self.in_time(partial(self._answered, opening, dialogue, refused), begun)
        if self._is_reviewed:
            answer = yield from self._reviewed(answer, self._improved)
        if self._dialogue is not None:
            yield Notify(partial(self._agent.record_messages, tuple(self._dialogue.transcript.messages)))
        return answer

    def remember(self, answer: str) -> Body[None]:
        """Leave an answer in its memories."""
        if self.recollection:
            stage = "model" if self._depth else "finish"  # a coworker's work is a part of a step
            said, usage = self.conversation, self._usage
            yield from self.recollection.done(self._briefing, answer, said, self.assessor, usage, stage)

    def _remembers(self, tool: str, observation: str) -> Body[None]:
        if isinstance(self.tools.named(tool), Delegation):
            return  # the coworker remembers it
        yield from super()._remembers(tool, observation)

    def plan(self) -> Body[AgentPlan | None]:
        """Its plan for the task."""
        yield from self.equipped()
        return (yield from self.planned(self._briefing))

    def _answered(self, opening: Opening, dialogue: Dialogue, refused: Refused | None) -> Body[str]:
        yield from self.begin_capabilities()
        lessons = training_notes(self._assignment, self._briefing, self._book)
        remembered = yield from self.recollection.told(self._briefing.description, self._briefing.context)
        asked = self._briefing
        known = yield from self.known(asked.description, asked.expected_output, asked.context)
        told = (*lessons, *remembered, *known)
        notes = (*told, *(yield from self.notes(self._briefing, refused, told)))
        if notes:
            dialogue = Dialogue(replace(opening, notes=notes).messages, self._briefing.context)
        if (reviewer := self._reviewer) is not None:
            begun = yield from reviewer.begins(dialogue.transcript.messages)
            if begun != dialogue.transcript.messages:
                dialogue = Dialogue(partial(_as_they_are, begun), "")
        self._dialogue = dialogue
        begun = dialogue.transcript.messages
        yield Notify(partial(self._report.agent_begins, begun, self.given_tools))
        return (yield from self.replied(dialogue, self._briefing.context))

    @cached_property
    def _in_hand(self) -> Mapping[str, PreparedTool]:
        return {name: self._handing_over(tool) for name, tool in self._offered.items()}

    def _handing_over(self, used: EventTool) -> PreparedTool:
        source = used.tool.tool.source
        if not isinstance(source, CoworkerTool) or override_of(source, "_run") is not None:
            return self._adapted(used)
        return Delegation(used.tool, used.agent, used.task, self._team, source, crew=used.crew)

    @cached_property
    def _team(self) -> DelegationTeam:
        """Those it may hand work to, whichever tool it uses for that."""
        most = DEFAULT_MAX_DELEGATIONS if self._engagement.crew is None else self._engagement.crew.max_delegations
        return DelegationTeam(
            work=self._coworkers, role=self._called, book=self._book, most=most, tell=self._report.handed_over
        )

    def _called(self, agent: BaseAgent) -> str:
        return agent.rendered_texts(self._inputs)["role"] or ""

    def _coworkers(self, agent: BaseAgent, wanted: str, context: str) -> Body[str]:
        """The work of a coworker: neither judged nor kept as an output of its own."""
        crew, texts = self._engagement.crew, agent.rendered_texts(self._inputs)
        expected, role = self._book.slice("manager_request"), texts["role"] or ""
        task = DelegatedTask.of(self._task, role, description=wanted, expected_output=expected, agent=agent)
        deeper = crew is not None and self._depth + 1 < crew.max_delegation_depth
        handed = bind_delegated_task(task, agent, crew, context, node=self._assignment.slug, deeper=deeper)
        assignment = replace(handed, lessons=self._assignment.lessons)
        briefing = Briefing(
            role=role,
            goal=texts["goal"] or "",
            backstory=texts["backstory"] or "",
            description=wanted,
            expected_output=expected,
            output_file=None,
            context=context,
            files=self._given_files,
        )
        report = TaskReport(assignment)
        report.role = role
        yield Notify(partial(report.show_agent, briefing))
        usage = self._usage.coworker(role)
        work = TaskRunner(assignment, briefing, report, usage, assignment.book, self._inputs, self._depth + 1)
        try:
            answer = yield from work.answer()
        except Exception as failure:
            yield Notify(partial(report.agent_fails, failure))
            raise
        finally:
            self.failures += work.failures
        yield from work.remember(answer)
        return answer

    @property
    def _is_reviewed(self) -> bool:
        """Whether people are asked about its answers; in a training they are asked anyway."""
        return bool(self._task.human_input) and round_of(self._assignment) is None

    @property
    def _reviewer(self) -> Reviewer | None:
        """Who was given to look at answers; None where the run asks a person."""
        provider = configured_provider()
        if provider is None:
            return None
        ongoing = OngoingTask(self._task, self._briefing)
        return Reviewer(provider=provider, engagement=self._assignment, task=self._task, ongoing=ongoing)

    def _reviewed(self, answer: str, improved: Callable[[str, str], Body[str]]) -> Body[str]:
        """The answer that a person accepts; what they say of one goes back to the agent, as often as it takes."""
        if (reviewer := self._reviewer) is not None:
            asked: list[Message] = [{"role": "user", "content": self._briefing.description}]
            said = asked if self._dialogue is None else self._dialogue.transcript.messages
            answer, told = yield from reviewer.accepted(answer, said, self._usage)
            if self._dialogue is not None:
                self._dialogue = Dialogue(partial(_as_they_are, told), "")
            return answer
        while feedback := (yield from feedback_on(answer, self.asker)):
            answer = yield from improved(answer, feedback)
        return answer

    def _improved(self, answer: str, feedback: str) -> Body[str]:
        """Another answer, in the conversation that the one before came from."""
        dialogue = self._dialogue
        assert dialogue is not None  # there is an answer to improve
        dialogue.add({"role": "assistant", "content": answer})
        told = self._book.slice("human_feedback", human_feedback=feedback)
        dialogue.reopen({"role": "user", "content": told})
        work = partial(self.replied, dialogue, self._briefing.context)
        return self.in_time(work, dialogue.transcript.messages)

    def _by_own_version(self, own: Any, refused: Refused | None) -> Body[str]:
        """What the agent's class, or a patch, does in the place of our loop, and people have accepted."""
        answer, reviewed = yield from self._given(own, refused)
        if self._is_reviewed and not reviewed:
            return (yield from self._reviewed(answer, partial(self._given_again, own)))
        return answer

    def _given_again(self, own: Any, answer: str, feedback: str) -> Body[str]:
        return (yield from self._given(own, (answer, feedback)))[0]

    def _given(self, own: Any, refused: Refused | None) -> Body[tuple[str, bool]]:
        """An answer of the agent's class or patch, and whether people have seen it already, for it called our version."""
        ongoing = OngoingTask(self._task, self._briefing)
        context = retold(self._briefing.context, refused, self._book)
        told: dict[str, Any] = yield Call(
            function=partial(_after_setup, self._agent, own),
            keywords={"task": self._task, "context": context, "tools": self.given_tools},
            name="execute_task",
            kind="agent",
            about=[self._briefing.description, context],
            enter=ongoing.enter,
            encode=lambda answer: {
                "answer": _text(answer),
                "usage": ongoing.usage.to_plain(),
                "reviewed": ongoing.reviewed,
            },
        )
        self._usage.add(told["usage"])
        return told["answer"], told.get("reviewed", False)


def _after_setup(agent: BaseAgent, own: Callable[..., Any], **given: Any) -> Any:
    create_executor(agent, given["tools"], given["task"])  # what the class needs for its work, in this process
    return own(**given)


def _as_they_are(messages: Sequence[Message], _context: str, _done: str) -> Sequence[Message]:
    return messages


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer)
