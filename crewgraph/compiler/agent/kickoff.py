"""The body of an agent's kickoff: answer a conversation, structure and judge the answer, tell of it.

A conversation of an agent's that somebody goes on with, outside of the task's own way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.events import AgentReport, KickoffReport
from crewgraph.compiler.agent.prompt import AgentConversation, last_question
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.runner import AgentRunner
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.guardrails import Guards, Judged, apply_guardrails, judge_output
from crewgraph.compiler.task.structure import fitted
from crewgraph.core.effects import Body, Notify, Scope
from crewgraph.core.files import files_in
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.lite_agent import LiteAgentOutput
from crewgraph.definitions.task.guardrail import ModelGuardrail
from crewgraph.definitions.task.task import Task
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.text import shorten

__all__ = ["goes_on", "kickoff_body"]


_RECALLED = 20
"""How many records of its memory an agent is told of in a conversation."""

_Judged = tuple[LiteAgentOutput, str | None]


def kickoff_body(
    structure: type[BaseModel] | None, engagement: AgentBinding, state: Mapping[str, Any]
) -> Body[dict[str, Any]]:
    """Answer the messages in the state; the update holds the output as plain data, in the agent's channel."""
    return {engagement.slug: (yield from _Kickoff(engagement, structure, state[INPUTS]).done())}


class _Kickoff:
    """One kickoff of an agent."""

    def __init__(self, engagement: AgentBinding, structure: type[BaseModel] | None, given: Mapping[str, Any]) -> None:
        self.binding, self.structure, self.messages = engagement, structure, given["messages"]
        self.book, self.usage, self.report = engagement.book, UsageLedger(), KickoffReport(engagement)
        role, files = engagement.agent.written("role"), files_in(given)
        self.work = AgentRunner(engagement, role, self.report, self.usage, self.book, files=files)
        self.dialogue: Dialogue | None = None

    @property
    def guards(self) -> Guards:
        """What judges the output."""
        agent = self.binding.agent
        guardrail = agent.guardrail if isinstance(agent, Agent) else None
        return Guards(
            guardrails=[] if guardrail is None else [guardrail],
            retries=max(agent.guardrail_max_retries, 0) if isinstance(agent, Agent) else 0,
            where=self.binding.where,
            structure=self.structure,
        )

    def done(self) -> Body[dict[str, Any]]:
        """Everything, from telling that it begins to telling that it is complete; the output as plain data."""
        try:
            yield Notify(partial(self.report.begin, self.messages))
            output, problem = yield from self.first()
            output, problem = yield from apply_guardrails(self.guards, output, problem, self, self.report)
            if problem is not None:
                yield Notify(partial(self.report.unstructured, problem))
            yield from self.remember(output)
            output.usage_metrics, output.tool_failures = self.usage.total.model_dump(), list(self.work.failures)
        except Exception as failure:
            yield Notify(partial(self.report.fail, failure))
            raise
        yield Notify(partial(self.report.complete, output))
        return output.to_plain()

    def remember(self, output: LiteAgentOutput) -> Body[None]:
        """Leave the answer in the agent's memory."""
        work = self.work
        if work.recollection:
            asked = last_question(self.messages)
            yield from work.recollection.talked(asked, output.raw, output.agent_role, work.assessor, self.usage)

    def first(self) -> Body[_Judged]:
        """The answer to what was said so far."""
        work = self.work
        yield from work.load_resources()
        asked = AgentConversation(
            agent=self.binding.agent,
            said=self.messages,
            structure=self.structure,
            tools=work.tools,
            native=work.native_tools,
            book=self.book,
            capability_notes=work.capability_notes,
            files=work.files,
        )
        dialogue = Dialogue(asked.messages, "")
        answer = yield from work.run_with_timeout(partial(self._begun, asked, dialogue), dialogue.transcript.messages)
        return (yield from self._answered(answer))

    def _begun(self, asked: AgentConversation, dialogue: Dialogue) -> Body[str]:
        yield from self.work.begin_capabilities()
        remembered = yield from self.work.recollection.told(self._briefing.description, limit=_RECALLED)
        known = yield from self.work.knowledge_notes(last_question(self.messages))
        told = (*remembered, *known)
        notes = (*told, *(yield from self.work.prompt_notes(self._briefing, other_notes=told)))
        self.dialogue = Dialogue(replace(asked, notes=notes).messages, "") if notes else dialogue
        return (yield from self.work.reply(self.dialogue))

    @property
    def _briefing(self) -> Briefing:
        """What a plan is made of."""
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

    def again(self, refused: LiteAgentOutput, reason: str) -> Body[_Judged]:
        """Another answer, after a guardrail's refusal."""
        self.report.sent_back += 1
        assert self.dialogue is not None  # there is an answer to refuse
        self.dialogue.reopen({"role": "user", "content": self.book.error("reply_refused", error=reason)})
        begun = self.dialogue.transcript.messages
        answer = yield from self.work.run_with_timeout(partial(self.work.reply, self.dialogue), begun)
        return (yield from self._answered(answer))

    def judged(self, guardrail: ModelGuardrail, output: LiteAgentOutput) -> Body[Judged]:
        """The verdict of a model, the guardrail's own, else the agent's; the conversation is what the output is held to."""
        model = self.work.model if guardrail.llm is None else self.work.model_for(guardrail.llm)
        said = "\n\n".join(reply_text(message["content"]) for message in self.messages)
        asked = last_question(self.messages)
        return (
            yield Scope(
                name=f"Guardrail: {shorten(guardrail.description, 60)}",
                body=lambda: judge_output(guardrail, output.raw, asked, said, model, self.book, self.usage),
            )
        )

    def replaced(self, output: LiteAgentOutput, text: str) -> Body[_Judged]:
        """The output with the text that a guardrail gave for it."""
        return self._read(text)

    def _answered(self, answer: str) -> Body[_Judged]:
        assert self.dialogue is not None
        self.dialogue.add({"role": "assistant", "content": answer})
        yield Notify(partial(self.binding.agent.record_messages, tuple(self.dialogue.transcript.messages)))
        return (yield from self._read(answer))

    def _read(self, text: str) -> Body[_Judged]:
        found, problem = None, None
        if self.structure is not None:
            converter = partial(getattr, self.work, "converter")
            found, problem = yield from fitted(text, self.structure, converter, self.book, self.usage)
        done = self.work.plan_outcome
        output = LiteAgentOutput(
            plan=None if done is None or done.plan is None else done.plan.text,
            todos=[] if done is None else LiteAgentOutput.from_todo_items(done.todos.items),
            replan_count=0 if done is None else done.replans,
            last_replan_reason=None if done is None else done.reason,
            raw=text,
            pydantic=found,
            agent_role=self.binding.agent.written("role"),
            usage_metrics=self.usage.total.model_dump(),
            messages=openai_messages(self.dialogue.transcript.messages) if self.dialogue else [],
        )
        return output, problem or None


def goes_on(
    engagement: AgentBinding, task: Task | None, said: Sequence[Message], _: Mapping[str, Any]
) -> Body[dict[str, Any]]:
    """Work from what was said to an answer.

    Args:
        engagement: who works, with which tools.
        task: on what.
        said: the conversation so far.

    Returns:
        as the channel of the agent's node: the `answer`, what was `said` with it, the same as `messages` in the form that
        OpenAI's clients use, and the `usage`.
    """
    book, role, usage = engagement.book, engagement.agent.written("role"), UsageLedger()
    at_work = AgentRunner(engagement, role, AgentReport(engagement, task), usage, book, task)
    dialogue = Dialogue(partial(_begun, said, book), "")
    yield from at_work.load_resources()
    answer = yield from at_work.run_with_timeout(partial(at_work.reply, dialogue), said)
    dialogue.add({"role": "assistant", "content": answer})
    told = list(dialogue.transcript.messages)
    done = {"answer": answer, "said": told, "messages": openai_messages(told), "usage": usage.to_plain()}
    return {engagement.slug: done}


def _begun(said: Sequence[Message], book: Book, _: str, done: str) -> Sequence[Message]:
    if not done:
        return said
    return [*said, {"role": "user", "content": book.slice("summary", merged_summary=done)}]
