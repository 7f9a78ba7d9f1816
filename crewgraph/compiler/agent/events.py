"""What an agent's work tells, for a task or for the messages of a kickoff.

What an agent's looking something up tells: events to the audience, and what it found to the agent.
"""

import logging
from collections.abc import Mapping
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.core.effects import EffectFailed
from crewgraph.core.replay import is_replayed
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.agent.lite_agent import LiteAgentOutput
from crewgraph.definitions.task.guardrail import HallucinationGuardrail, model_guardrail
from crewgraph.definitions.task.task import Task
from crewgraph.events.agent import (
    AgentEvent,
    AgentReasoningCompletedEvent,
    AgentReasoningFailedEvent,
    AgentReasoningStartedEvent,
    AgentStepEvent,
    LiteAgentExecutionCompletedEvent,
    LiteAgentExecutionErrorEvent,
    LiteAgentExecutionStartedEvent,
)
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.knowledge import (
    KnowledgeEventBase,
    KnowledgeQueryCompletedEvent,
    KnowledgeQueryFailedEvent,
    KnowledgeQueryStartedEvent,
    KnowledgeRetrievalCompletedEvent,
    KnowledgeRetrievalStartedEvent,
    KnowledgeSearchQueryFailedEvent,
)
from crewgraph.events.llm import (
    ContextWindowSummarizationCompletedEvent,
    ContextWindowSummarizationFailedEvent,
    ContextWindowSummarizationStartedEvent,
)
from crewgraph.events.people import (
    HumanInputReceivedEvent,
    HumanInputRequestedEvent,
    LLMGuardrailCompletedEvent,
    LLMGuardrailFailedEvent,
    LLMGuardrailStartedEvent,
)
from crewgraph.events.tool import ToolUsageErrorEvent

__all__ = ["AgentReport", "KickoffReport", "KnowledgeReport"]


_log = logging.getLogger("crewgraph")


class AgentReport:
    """Tells of an agent's plans and steps, and of what guardrails say of its answers.

    Args:
        engagement: who works.
        task: on what; None where messages are answered.
    """

    def __init__(self, engagement: AgentBinding, task: Task | None) -> None:
        self._binding, self._agent, self._task = engagement, engagement.agent, task
        self.counts: dict[str, int] = {"used": 0, "errors": 0}
        """How many tool calls were made ("used") and failed ("errors")."""

        self.sent_back = 0
        """How often guardrails sent the agent back."""

        self.role: str | None = None
        """What the agent is called in this run, where that is known."""

        self._checked_by: dict[str, str] = {}

    def planning(self, attempt: int) -> None:
        """The agent makes a plan."""
        self._tell(AgentReasoningStartedEvent, attempt=attempt, from_task=self._task, from_agent=self._agent)

    def planned(self, attempt: int, plan: str, ready: bool, last: bool) -> None:
        """It has made one."""
        if last and not ready:
            told = "%s: its plan is not ready, and there are no more attempts; the agent begins with it as it is"
            _log.warning(told, self._binding.where)
        self._tell(
            AgentReasoningCompletedEvent,
            attempt=attempt,
            plan=plan,
            ready=ready,
            from_task=self._task,
            from_agent=self._agent,
        )

    def planning_failed(self, attempt: int, error: str) -> None:
        """It could not, and begins without, or with the one before."""
        _log.warning("%s: no plan could be made, the agent begins: %s", self._binding.where, error)
        self._tell(
            AgentReasoningFailedEvent, attempt=attempt, error=error, from_task=self._task, from_agent=self._agent
        )

    def condensing(self) -> None:
        """The conversation is too long and is about to be condensed."""
        self._tell(ContextWindowSummarizationStartedEvent, **self._asked)

    def not_condensed(self, error: str) -> None:
        """The conversation could not be condensed."""
        self._tell(ContextWindowSummarizationFailedEvent, **self._asked, error=error)

    @property
    def _asked(self) -> dict[str, Any]:
        llm = self._agent.llm
        name = llm if isinstance(llm, str) else getattr(llm, "model", None)
        return {"from_task": self._task, "from_agent": self._agent, "model": name if isinstance(name, str) else None}

    def condensed(self, error: str) -> None:
        """The conversation was too long and was condensed."""
        self._tell(ContextWindowSummarizationCompletedEvent, **self._asked)
        _log.warning("%s: the conversation was too long and was condensed: %s", self._binding.where, error)

    def step(self, step: AgentAction | AgentFinish, number: int) -> None:
        """The agent made a step."""
        if isinstance(step, AgentAction):
            self._agent.record_tool_use(step)
        self._tell(AgentStepEvent, agent=self._agent, task=self._task, step=step, iteration=number)

    def tool_refused(self, tool: str, args: dict[str, Any] | str, text: str) -> None:
        """A tool could not be called as the model asked."""
        self._tell(
            ToolUsageErrorEvent,
            tool_name=tool,
            tool_args=args,
            agent=self._agent,
            agent_key=self._agent.key,
            from_agent=self._agent,
            from_task=self._task,
            error=text,
        )

    def asked(self, question: Mapping[str, Any]) -> None:
        """A person is asked something."""
        self._tell(HumanInputRequestedEvent, **self._question(question))

    def answered(self, question: Mapping[str, Any], answer: Any) -> None:
        """The person has answered."""
        self._tell(HumanInputReceivedEvent, **self._question(question), answer=answer)

    def _question(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "kind": question["kind"],
            "message": question["text"],
            "tool_name": question.get("tool"),
            "tool_args": question.get("args"),
            "output": question.get("answer"),
            "from_task": self._task,
            "from_agent": self._agent,
        }

    def judging(self, guardrail: Any, retries: int) -> None:
        """A guardrail is about to judge."""
        self._checked_by = _kind_and_name(guardrail)
        self._tell(
            LLMGuardrailStartedEvent,
            guardrail=guardrail,
            **self._checked_by,
            retry_count=retries,
            from_task=self._task,
            from_agent=self._agent,
        )

    def judged(self, verdict: dict[str, Any], retries: int) -> None:
        """A guardrail has judged."""
        self._tell(
            LLMGuardrailCompletedEvent,
            **self._checked_by,
            success=verdict["accepted"],
            result=verdict.get("text") or verdict.get("output"),
            error=verdict["error"],
            retry_count=retries,
            from_task=self._task,
            from_agent=self._agent,
        )

    def guardrail_failed(self, error: str, retries: int) -> None:
        """A guardrail could not judge."""
        self._tell(
            LLMGuardrailFailedEvent,
            **self._checked_by,
            error=error,
            retry_count=retries,
            from_task=self._task,
            from_agent=self._agent,
        )

    def _tell(self, event: type[BaseEvent], **fields: Any) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():
            fields.setdefault("agent_role", self.role)
            of_agent = self._task is None or issubclass(event, AgentEvent)
            crewai_event_bus.tell(self._agent if of_agent else self._task, event, fields)


def _kind_and_name(guardrail: Any) -> dict[str, str]:
    """What kind of check a guardrail is, and its name."""
    judge = model_guardrail(guardrail)
    if judge is not None:
        kind = "hallucination" if isinstance(judge, HallucinationGuardrail) else "llm"
        return {"guardrail_type": kind, "guardrail_name": judge.description}
    name = getattr(guardrail, "__name__", type(guardrail).__name__)
    return {"guardrail_type": "function", "guardrail_name": name}


class KickoffReport(AgentReport):
    """Tells of one kickoff of an agent."""

    def __init__(self, engagement: AgentBinding) -> None:
        super().__init__(engagement, None)

    @property
    def _info(self) -> dict[str, Any]:
        agent = self._agent
        told = {name: agent.written(name) for name in ("role", "goal", "backstory")}
        return {"id": agent.id, **told, "verbose": agent.verbose, "tools": list(self._binding.given_tools)}

    def begin(self, messages: Any) -> None:
        """The agent begins."""
        tools = list(self._binding.given_tools)
        self._tell(LiteAgentExecutionStartedEvent, agent_info=self._info, tools=tools, messages=messages)

    def unstructured(self, problem: str) -> None:
        """The answer could not be given the structure that was asked for; its text is kept."""
        _log.warning("%s: no structured output, the text is kept: %s", self._binding.where, problem)

    def complete(self, output: LiteAgentOutput) -> None:
        """The agent has answered."""
        self._tell(LiteAgentExecutionCompletedEvent, agent_info=self._info, output=output.raw)

    def fail(self, failure: Exception) -> None:
        """The agent could not answer; the failure is given its name on the way to the caller."""
        cause = failure.__cause__ if isinstance(failure, EffectFailed) and failure.__cause__ else failure
        cause.add_note(f"in {self._binding.where}")
        error = f"{self._binding.where}: {failure if isinstance(failure, EffectFailed) else cause}"
        self._tell(LiteAgentExecutionErrorEvent, agent_info=self._info, error=error)


class KnowledgeReport:
    """Tells of one lookup in knowledge.

    Args:
        agent: who looks something up.
        task: for what; None where it answers messages.
        where: what that is called in messages.
    """

    def __init__(self, agent: BaseAgent, task: Task | None, where: str) -> None:
        self._agent, self._task, self._where = agent, task, where

    def begin(self, asked: str) -> None:
        """The lookup begins; its query is worded first."""
        self._tell(KnowledgeRetrievalStartedEvent)
        self._tell(KnowledgeQueryStartedEvent, task_prompt=asked)

    def rendered_texts(self, query: str) -> None:
        """The query is worded."""
        self._tell(KnowledgeQueryCompletedEvent, query=query)

    def unworded(self, error: str) -> None:
        """It could not be worded; the task's own words are taken."""
        _log.warning(
            "%s: no query could be worded, its knowledge is searched for the task itself: %s", self._where, error
        )
        self._tell(KnowledgeQueryFailedEvent, error=error)

    def unsearched(self, query: str, error: str) -> None:
        """Knowledge could not be searched; the work goes on without."""
        _log.warning("%s: its knowledge could not be searched, it goes on without: %s", self._where, error)
        self._tell(KnowledgeSearchQueryFailedEvent, query=query, error=error)

    def found(self, query: str, own: str, crews: str) -> None:
        """This was found: in the agent's own knowledge, and in its crew's."""
        if isinstance(self._agent, Agent):
            self._agent.knowledge_search_query = query
            self._agent.agent_knowledge_context, self._agent.crew_knowledge_context = own or None, crews or None
        told = "\n\n".join(filter(None, (own, crews)))
        self._tell(KnowledgeRetrievalCompletedEvent, query=query, retrieved_knowledge=told)

    def _tell(self, event: type[KnowledgeEventBase], **fields: Any) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():
            crewai_event_bus.emit(self._agent, event(from_task=self._task, from_agent=self._agent, **fields))
