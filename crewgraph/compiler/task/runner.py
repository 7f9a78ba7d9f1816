"""An agent working on a task: through an overridden method, the built-in loop, or its executor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.human_review import configured_provider
from crewgraph.compiler.agent.people import Reviewer, feedback_on
from crewgraph.compiler.agent.prompt import Opening, with_rejection
from crewgraph.compiler.agent.runner import AgentRunner, Refused
from crewgraph.compiler.surroundings import AROUND
from crewgraph.compiler.task.binding import TaskBinding, bind_delegated_task
from crewgraph.compiler.task.briefing import Briefing, OngoingTask
from crewgraph.compiler.task.events import TaskReport
from crewgraph.compiler.task.training import apply_feedback, round_of, training_notes
from crewgraph.core.effects import Body, Call, Notify
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import DEFAULT_MAX_DELEGATIONS
from crewgraph.llm.conversation import openai_messages, plain_messages, text_of
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of, overrides_any
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from crewgraph.compiler.agent.delegation import DelegationTeam
    from crewgraph.compiler.agent.event_tool import EventTool


class TaskRunner:
    """An agent working on a task: its loop (`agent`), with what belongs to the task around it.

    Args:
        assignment: the task, its agent and its tools.
        briefing: the texts of the task and its agent, rendered for this run.
        report: emits the events.
        usage: counts the requests.
        inputs: the inputs of the run, for the texts of coworkers.
        depth: how many times the work was delegated before it came here.
    """

    def __init__(
        self,
        assignment: TaskBinding,
        briefing: Briefing,
        report: TaskReport,
        usage: UsageLedger,
        inputs: PlainMapping | None = None,
        depth: int = 0,
    ) -> None:
        tools = assignment.tools.values()
        delegates = False
        if tools:
            from crewgraph.definitions.agent.delegation_tools import CoworkerTool

            delegates = any(isinstance(tool.source, CoworkerTool) for tool in tools)
        # Only if needed: the back reference would leave all of this to the garbage collector.
        prepare = self._with_delegation if delegates else None
        self.agent = AgentRunner(
            assignment,
            briefing.role,
            report,
            usage,
            task=assignment.task,
            structure=assignment.structure,
            inputs=inputs,
            files=briefing.files,
            prepare=prepare,
        )
        self._inputs, self._depth, self._usage, self._book = inputs or {}, depth, usage, self.agent.book
        self._assignment, self._briefing, self._task, self._report = assignment, briefing, assignment.task, report
        self._definition, self._crew = assignment.agent, assignment.crew
        self._team: DelegationTeam | None = None
        self._dialogue: Dialogue | None = None
        self._history: Sequence[Message] = ()

    @property
    def conversation(self) -> list[dict[str, object]]:
        """The messages of the last attempt in OpenAI's format, with the answer of an agent that has native tools."""
        return openai_messages(self._dialogue.whole) if self._dialogue else []

    def answer(self, refused: Refused | None = None) -> Body[str]:
        """Work on the task and return the answer; a refused attempt and the reason are part of the prompt.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        yield from self.agent.load()
        # Only once per task: not for retries after a guardrail, nor for coworkers, whose answers are part of another one.
        gets_feedback = not refused and not self._depth
        agent = self._definition
        override = None
        if overrides_any(agent, ("execute_task", "aexecute_task")):
            override = override_of(agent, "execute_task") or override_of(agent, "aexecute_task")
        if override is not None:
            answer = yield from self._run_override(override, refused)
            improve = partial(self._retry_override, override)
        else:
            answer = yield from self._run_attempt(refused)
            improve = self._improve
        if gets_feedback and AROUND.get().training is not None:
            answer = yield from apply_feedback(self._assignment, self._briefing, answer, improve)
        if override is None:
            yield Notify(partial(self._report.agent_completed, answer))
        return answer

    def answer_without_override(self, refused: Refused | None = None) -> Body[str]:
        """Work on the task ignoring what the agent's class overrides."""
        answer = yield from self._run_attempt(refused)
        yield Notify(partial(self._report.agent_completed, answer))
        return answer

    def _run_attempt(self, refused: Refused | None) -> Body[str]:
        yield from self.agent.prepare()
        agent = self.agent
        notes = (*agent.notes, *self._read_conversation()) if self._briefing.conversation else agent.notes
        opening = Opening(
            agent=self._definition,
            task=self._task,
            briefing=self._briefing,
            tools=agent.tools,
            native=agent.native_tools,
            book=self._book,
            refused=refused,
            capability_notes=notes,
            files=agent.files,
        )
        dialogue = Dialogue(opening.messages, self._briefing.context, self._history)
        opening_messages = dialogue.transcript.messages
        answer = yield from self.agent.run_with_timeout(
            partial(self._answer_in_scope, opening, dialogue, refused), opening_messages
        )
        if self._needs_review:
            answer = yield from self._review(answer, self._improve)
        if self._dialogue is not None:
            yield Notify(
                partial(self._definition.record_messages, (*self._dialogue.transcript.messages, *self._dialogue.final))
            )
        return answer

    def _read_conversation(self) -> list[str]:
        """Set the history before the task's prompt, and return the texts of the system messages in it."""
        agent, conversation = self.agent, self._briefing.conversation
        # Some providers accept system messages at the start only, and tool calls only where tools are offered.
        said = [message for message in conversation if message["role"] != "system"]
        self._history = said if agent.native_tools and agent.tools else plain_messages(said)
        return [text_of(message["content"]) for message in conversation if message["role"] == "system"]

    def remember(self, answer: str) -> Body[None]:
        """Save an answer in the agent's memories."""
        recollection = self.agent.recollection
        if recollection is not None:
            stage = "model" if self._depth else "finish"  # a coworker's run is part of a step
            messages = openai_messages(self._dialogue.transcript.messages) if self._dialogue else []
            usage, assessor = self._usage, self.agent.assessor
            yield from recollection.save_task(self._briefing, answer, messages, assessor, usage, stage)

    def _answer_in_scope(self, opening: Opening, dialogue: Dialogue, refused: Refused | None) -> Body[str]:
        agent, briefing = self.agent, self._briefing
        lessons = ()
        if self._assignment.lessons or AROUND.get().training is not None:
            lessons = training_notes(self._assignment, briefing, self._book)
        found = yield from agent.found_notes(briefing.description, briefing.expected_output, briefing.context)
        context_notes = (*lessons, *found)
        notes = (*context_notes, *(yield from agent.prompt_notes(briefing, refused, context_notes)))
        if notes:
            dialogue = Dialogue(replace(opening, notes=notes).messages, briefing.context, self._history)
        if (reviewer := self._reviewer) is not None:
            messages = yield from reviewer.opening_messages(dialogue.transcript.messages)
            if messages != dialogue.transcript.messages:
                dialogue = Dialogue(partial(_fixed_opening, messages), "")
        self._dialogue = dialogue
        messages = dialogue.transcript.messages
        yield Notify(partial(self._report.agent_started, messages, agent.given_tools))
        return (yield from agent.reply(dialogue, briefing.context))

    def _with_delegation(self, tool: "EventTool") -> "EventTool":
        source = tool.tool.source
        from crewgraph.definitions.agent.delegation_tools import CoworkerTool

        if not isinstance(source, CoworkerTool) or override_of(source, "_run") is not None:
            return self.agent.adapt(tool)
        if self._team is None:
            self._team = self._delegation_team()
        from crewgraph.compiler.agent.delegation import Delegation

        return Delegation(tool.tool, tool.agent, tool.task, self._team, source, crew=tool.crew)

    def _delegation_team(self) -> "DelegationTeam":
        """Return the coworkers the agent may delegate to, whichever tool it uses for that."""
        max_delegations = DEFAULT_MAX_DELEGATIONS if self._crew is None else self._crew.max_delegations
        from crewgraph.compiler.agent.delegation import DelegationTeam

        return DelegationTeam(
            run_coworker=self._run_coworker,
            role_of=lambda agent: agent.rendered_texts(self._inputs)["role"] or "",
            book=self._book,
            max_delegations=max_delegations,
            on_delegated=self._report.delegated,
        )

    def _run_coworker(self, agent: BaseAgentDefinition, request: str, context: str) -> Body[str]:
        """Run a coworker on a request; its answer is neither judged nor stored as a separate output."""
        crew, texts = self._crew, agent.rendered_texts(self._inputs)
        expected_output, role = self._book.slice("manager_request"), texts["role"] or ""
        from crewgraph.definitions.task.task import DelegatedTaskDefinition

        task = DelegatedTaskDefinition.part_class.of(
            self._task, role, description=request, expected_output=expected_output, agent=agent
        )
        may_delegate = crew is not None and self._depth + 1 < crew.max_delegation_depth
        bound = bind_delegated_task(task, agent, crew, context, node=self._assignment.slug, may_delegate=may_delegate)
        assignment = replace(bound, lessons=self._assignment.lessons)
        briefing = Briefing(
            role=role,
            goal=texts["goal"] or "",
            backstory=texts["backstory"] or "",
            description=request,
            expected_output=expected_output,
            output_file=None,
            context=context,
            files=self.agent.file_records,
        )
        report = TaskReport(assignment)
        report.role = role
        yield Notify(partial(report.show_agent, briefing))
        usage = self._usage.current.coworker(role)
        runner = TaskRunner(assignment, briefing, report, usage, self._inputs, self._depth + 1)
        try:
            answer = yield from runner.answer()
        except Exception as failure:  # whatever fails the coworker is reported, then raised again
            yield Notify(partial(report.agent_failed, failure))
            raise
        finally:
            self.agent.failures += runner.agent.failures
        yield from runner.remember(answer)
        return answer

    @property
    def _needs_review(self) -> bool:
        """Whether people review the answers; a training asks them anyway."""
        return bool(self._task.human_input) and round_of(self._assignment) is None

    @property
    def _reviewer(self) -> Reviewer | None:
        """The configured provider of reviews; None where the run asks a person itself."""
        provider = configured_provider()
        if provider is None:
            return None
        ongoing = OngoingTask(self._task, self._briefing)
        return Reviewer(provider=provider, binding=self._assignment, task=self._task, ongoing=ongoing)

    def _review(self, answer: str, improve: Callable[[str, str], Body[str]]) -> Body[str]:
        """Return the answer a person accepts; feedback goes back to the agent until there is one."""
        if (reviewer := self._reviewer) is not None:
            opening: list[Message] = [{"role": "user", "content": self._briefing.description}]
            messages_so_far = opening if self._dialogue is None else self._dialogue.transcript.messages
            answer, messages = yield from reviewer.review(answer, messages_so_far, self._usage)
            if self._dialogue is not None:
                self._dialogue = Dialogue(partial(_fixed_opening, messages), "")
            return answer
        while feedback := (yield from feedback_on(answer, self.agent.asker)):
            answer = yield from improve(answer, feedback)
        return answer

    def _improve(self, answer: str, feedback: str) -> Body[str]:
        """Continue the conversation of an answer with feedback on it."""
        dialogue = self._dialogue
        assert dialogue is not None  # there is an answer to improve
        dialogue.add_answer(answer)
        message = self._book.slice("human_feedback", human_feedback=feedback)
        dialogue.reopen({"role": "user", "content": message})
        reply = partial(self.agent.reply, dialogue, self._briefing.context)
        return self.agent.run_with_timeout(reply, dialogue.transcript.messages)

    def _run_override(self, override: object, refused: Refused | None) -> Body[str]:
        """Run the `execute_task` of the agent's class, or of a patch, until people accept the answer."""
        answer, reviewed = yield from self._call_override(override, refused)
        if self._needs_review and not reviewed:
            return (yield from self._review(answer, partial(self._retry_override, override)))
        return answer

    def _retry_override(self, override: object, answer: str, feedback: str) -> Body[str]:
        return (yield from self._call_override(override, (answer, feedback)))[0]

    def _call_override(self, override: Any, refused: Refused | None) -> Body[tuple[str, bool]]:
        """Call an override; return its answer, and whether people have reviewed it, as it called our version."""
        ongoing = OngoingTask(self._task, self._briefing)
        context = with_rejection(self._briefing.context, refused, self._book)
        asynchronous = override_of(self._definition, "aexecute_task")
        outcome: PlainDict = yield Call(
            function=partial(_after_setup, self._definition, override),
            afunction=None if asynchronous is None else partial(_after_setup, self._definition, asynchronous),
            keywords={
                "task": self._task,
                "context": context if context or not self._assignment.without_context else None,
                "tools": self.agent.given_tools,
            },
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
        self._usage.add(outcome["usage"])
        return outcome["answer"], outcome.get("reviewed", False)


def _after_setup(agent: BaseAgentDefinition, override: Callable[..., object], **arguments: Any) -> object:
    from crewgraph.compiler.agent.executor import create_executor

    create_executor(agent, arguments["tools"], arguments["task"])  # sets up the override's state in this process
    return override(**arguments)


def _fixed_opening(messages: Sequence[Message], _context: str, _summary: str) -> Sequence[Message]:
    return messages


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer)
