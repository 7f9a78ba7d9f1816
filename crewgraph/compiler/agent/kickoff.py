"""The body of an agent's kickoff: answer the messages, then structure and judge the answer.

`continue_body` resumes a conversation of an agent outside of a task or kickoff.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.events import AgentReport, KickoffReport
from crewgraph.compiler.agent.prompt import AgentConversation, last_question
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.runner import AgentRunner
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.guardrails import Guards, Verdict, apply_guardrails, judge_output
from crewgraph.compiler.task.structure import convert_text
from crewgraph.core.effects import Body, Notify, Scope
from crewgraph.core.files import files_in
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.task.guardrail import ModelGuardrail
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.structure import read_structure
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainMapping
from crewgraph.text import shorten

_RECALLED = 20
"""How many records of a unified memory go into the prompt."""

_Output = tuple[LiteAgentOutput, str | None]


def kickoff_body(
    structure: type[BaseModel] | None, binding: AgentBinding, state: PlainMapping
) -> Body[dict[str, object]]:
    """Answer the messages in the state; the update holds the output as plain data, in the agent's channel."""
    return {binding.slug: (yield from _AgentKickoff(binding, structure, state[INPUTS]).run())}


class _AgentKickoff:
    """One kickoff of an agent."""

    def __init__(self, binding: AgentBinding, structure: type[BaseModel] | None, inputs: PlainMapping) -> None:
        self.binding, self.structure, self.messages = binding, structure, inputs["messages"]
        self.book, self.usage, self.report = binding.book, UsageLedger(), KickoffReport(binding)
        role, files = binding.agent.written("role"), files_in(inputs)
        self.runner = AgentRunner(binding, role, self.report, self.usage, structure=structure, files=files)
        self.dialogue: Dialogue | None = None

    @property
    def guards(self) -> Guards:
        """The guardrail of the agent, if it has one."""
        agent = self.binding.agent
        guardrail = agent.guardrail if isinstance(agent, AgentDefinition) else None
        return Guards(
            guardrails=[] if guardrail is None else [guardrail],
            retries=max(agent.guardrail_max_retries, 0) if isinstance(agent, AgentDefinition) else 0,
            where=self.binding.where,
            structure=self.structure,
            takes_models=True,
        )

    def run(self) -> Body[dict[str, object]]:
        """Run the kickoff, from its first event to its last; return the output as plain data."""
        try:
            yield Notify(partial(self.report.begin, self.messages))
            output, problem = yield from self.answer()
            if self.guards.guardrails:
                output, problem = yield from apply_guardrails(self.guards, output, problem, self, self.report)
            elif problem is not None:
                output, problem = yield from self.demand_structure(output)
            if problem is not None:
                yield Notify(partial(self.report.unstructured, problem))
            yield from self.remember(output)
            output.usage_metrics, output.tool_failures = self.usage.total.model_dump(), list(self.runner.failures)
        except Exception as failure:  # whatever fails the kickoff is reported, then raised again
            yield Notify(partial(self.report.fail, failure))
            raise
        yield Notify(partial(self.report.complete, output))
        return output.to_plain()

    def remember(self, output: LiteAgentOutput) -> Body[None]:
        """Save the exchange in the agent's memory."""
        runner = self.runner
        if runner.recollection is not None:
            question = last_question(self.messages)
            yield from runner.recollection.save_exchange(
                question, output.raw, output.agent_role, runner.assessor, self.usage
            )

    def answer(self) -> Body[_Output]:
        """Answer the messages."""
        runner = self.runner
        yield from runner.prepare()
        conversation = AgentConversation(
            agent=self.binding.agent,
            messages_so_far=self.messages,
            structure=self.structure,
            tools=runner.tools,
            native=runner.native_tools,
            book=self.book,
            capability_notes=runner.notes,
            files=runner.files,
        )
        dialogue = Dialogue(conversation.messages, "")
        answer = yield from runner.run_with_timeout(
            partial(self._answer_in_scope, conversation, dialogue), dialogue.transcript.messages
        )
        return (yield from self._record_answer(answer))

    def _answer_in_scope(self, conversation: AgentConversation, dialogue: Dialogue) -> Body[str]:
        runner = self.runner
        context_notes = yield from runner.found_notes(last_question(self.messages), limit=_RECALLED)
        notes = (*context_notes, *(yield from runner.prompt_notes(self._briefing, other_notes=context_notes)))
        self.dialogue = Dialogue(replace(conversation, notes=notes).messages, "") if notes else dialogue
        return (yield from runner.reply(self.dialogue))

    @property
    def _briefing(self) -> Briefing:
        """The texts for planning."""
        agent = self.binding.agent
        return Briefing(
            role=agent.written("role"),
            goal=agent.written("goal"),
            backstory=agent.written("backstory"),
            description=last_question(self.messages),
            expected_output=self.book.slice("reply_expected"),
            output_file=None,
            context="",
        )

    def retry(self, refused: LiteAgentOutput, reason: str) -> Body[_Output]:
        """Continue the conversation after the guardrail refused the answer."""
        self.report.guardrail_retries += 1
        assert self.dialogue is not None  # there is an answer to refuse
        self.dialogue.reopen({"role": "user", "content": self.book.error("reply_refused", error=reason)})
        messages = self.dialogue.transcript.messages
        answer = yield from self.runner.run_with_timeout(partial(self.runner.reply, self.dialogue), messages)
        return (yield from self._record_answer(answer))

    def judge(self, guardrail: ModelGuardrail, output: LiteAgentOutput) -> Body[Verdict]:
        """Return a model's verdict (the guardrail's own, else the agent's), with the conversation as context."""
        model = self.runner.model if guardrail.llm is None else self.runner.model_for(guardrail.llm)
        transcript = "\n\n".join(reply_text(message["content"]) for message in self.messages)
        question = last_question(self.messages)
        return (
            yield Scope(
                name=f"Guardrail: {shorten(guardrail.description, 60)}",
                body=lambda: judge_output(guardrail, output.raw, question, transcript, model, self.book, self.usage),
            )
        )

    def replace_text(self, output: LiteAgentOutput, text: str) -> Body[_Output]:
        """Return the output with the guardrail's text in place of its own."""
        return self.to_output(text)

    def replace_structure(self, output: LiteAgentOutput, instance: BaseModel) -> LiteAgentOutput:
        """Return the output with the guardrail's structure in place of its own."""
        output.pydantic = instance
        return output

    def demand_structure(self, output: LiteAgentOutput) -> Body[_Output]:
        """Have the text converted by a model; return why that failed, too."""
        return self.to_output(output.raw, demand=True)

    def _record_answer(self, answer: str) -> Body[_Output]:
        assert self.dialogue is not None
        self.dialogue.add_answer(answer)
        yield Notify(partial(self.binding.agent.record_messages, tuple(self.dialogue.transcript.messages)))
        return (yield from self.to_output(answer))

    def to_output(self, text: str, *, demand: bool = False) -> Body[_Output]:
        """Return a text as the output, and why it has no structure if one was asked for.

        Args:
            text: the text.
            demand: whether a text that does not hold the structure is converted.
        """
        instance, problem = None, None
        if self.structure is not None and demand:
            instance, problem = yield from convert_text(text, self.structure, self.runner, self.book, self.usage)
        elif self.structure is not None:
            instance, problem = read_structure(text, self.structure)
        plan_outcome = self.runner.plan_outcome
        output = LiteAgentOutput(
            plan=None if plan_outcome is None or plan_outcome.plan is None else plan_outcome.plan.text,
            todos=[] if plan_outcome is None else LiteAgentOutput.from_todo_items(plan_outcome.todos.items),
            replan_count=0 if plan_outcome is None else plan_outcome.replans,
            last_replan_reason=None if plan_outcome is None else plan_outcome.reason,
            raw=text,
            pydantic=instance,
            agent_role=self.binding.agent.written("role"),
            usage_metrics=self.usage.total.model_dump(),
            messages=openai_messages(self.dialogue.transcript.messages) if self.dialogue else [],
        )
        return output, problem or None


def continue_body(
    binding: AgentBinding, task: TaskDefinition | None, messages: Sequence[Message], _: Mapping[str, object]
) -> Body[dict[str, object]]:
    """Continue a conversation until the agent answers.

    Args:
        binding: the agent and its tools.
        task: the task.
        messages: the conversation so far.

    Returns:
        the update of the agent's channel: the `answer`, the whole conversation as `said`, the same as `messages` in OpenAI's
        format, and the `usage`.
    """
    book, role, usage = binding.book, binding.agent.written("role"), UsageLedger()
    runner = AgentRunner(binding, role, AgentReport(binding, task), usage, task=task)
    dialogue = Dialogue(partial(_continued_opening, messages, book), "")
    yield from runner.prepare()
    answer = yield from runner.run_with_timeout(partial(runner.reply, dialogue), messages)
    dialogue.add_answer(answer)
    all_messages = list(dialogue.transcript.messages)
    result = {
        "answer": answer,
        "said": all_messages,
        "messages": openai_messages(all_messages),
        "usage": usage.to_plain(),
    }
    return {binding.slug: result}


def _continued_opening(messages: Sequence[Message], book: Book, _: str, summary: str) -> Sequence[Message]:
    if not summary:
        return messages
    return [*messages, {"role": "user", "content": book.slice("summary", merged_summary=summary)}]
