"""The events of an agent's work, for a task or for the messages of a kickoff."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.core.current import is_replayed
from crewgraph.core.effects import EffectFailed
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.task.guardrail import model_guardrail
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.events import late
from crewgraph.events.base import BaseEvent, WorkEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.lazy import loaded
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.tools.failure import ToolExecutionFailedError, ToolFailure, ToolFailureReason, record_of

if TYPE_CHECKING:
    from crewgraph.definitions.agent.output import LiteAgentOutput


_log = redacted_logger("crewgraph")


class AgentReport:
    """Emits the events of an agent's plans and steps, and of guardrails' verdicts on its answers.

    Args:
        binding: the agent and its tools.
        task: the task; None for a kickoff with messages.
    """

    def __init__(self, binding: AgentBinding, task: TaskDefinition | None) -> None:
        self._binding, self._agent, self._task = binding, binding.agent, task
        self.counts: dict[str, int] = {"used": 0, "errors": 0}
        """Number of tool calls ("used") and of failed ones ("errors")."""

        self.guardrail_retries = 0
        """How often guardrails sent the agent back."""

        self.role: str | None = None
        """The agent's role in this run, once it is known."""

        self._guardrail_fields: dict[str, str] = {}

    @property
    def where(self) -> str:
        """The name of the work in messages."""
        return self._binding.where if self.role is None else self._binding.where_as(self.role)

    def _located(self, failure: Exception) -> BaseException:
        """Return the original error of a failure, with a note that says where it happened unless its message does."""
        cause = failure.__cause__ if isinstance(failure, EffectFailed) and failure.__cause__ else failure
        if self.where not in str(cause):
            cause.add_note(f"in {self.where}")
        return cause

    def stuck(self, tool: str, args: PlainDict | str, times: int) -> ToolExecutionFailedError:
        """Return the error of an agent that makes no progress."""
        text = (
            f"{self.where} made the same call {times} times and got the same result each time. It is stopped, because it makes "
            "no progress. Let the tool's result say what to do instead of calling again, and start a new run"
        )
        failure = ToolFailure(message=text, reason=ToolFailureReason.REPEATED_CALL)
        return ToolExecutionFailedError(record_of(failure, tool, args, self._agent, self._task))

    def planning(self, attempt: int) -> None:
        """The agent starts to plan."""
        self._emit(late.AgentReasoningStartedEvent, attempt=attempt)

    def planned(self, attempt: int, plan: str, ready: bool, last: bool) -> None:
        """The agent has made a plan."""
        if last and not ready:
            message = "%s: its plan is not ready, and no attempts are left; the agent starts with the plan as it is"
            _log.warning(message, self.where)

        self._emit(late.AgentReasoningCompletedEvent, attempt=attempt, plan=plan, ready=ready)

    def planning_failed(self, attempt: int, error: str) -> None:
        """Planning failed; the agent starts without a plan, or with the previous one."""
        _log.warning("%s: planning failed, the agent starts without a new plan: %s", self.where, error)

        self._emit(late.AgentReasoningFailedEvent, attempt=attempt, error=error)

    def of_agent(self, event: Any, fields: PlainDict) -> None:
        """Emit an event of the agent's plan or knowledge, whose source is the agent."""
        if crewai_event_bus.wants(event) and not is_replayed():
            crewai_event_bus.emit(self._agent, event(from_task=self._task, from_agent=self._agent, **fields))

    def condensing(self) -> None:
        """The conversation is too long and is about to be condensed."""
        self._emit(late.ContextWindowSummarizationStartedEvent, **self._condensation_fields)

    def not_condensed(self, error: str) -> None:
        """The conversation could not be condensed."""
        self._emit(late.ContextWindowSummarizationFailedEvent, **self._condensation_fields, error=error)

    @property
    def _condensation_fields(self) -> dict[str, object]:
        llm = self._agent.llm
        name = llm if isinstance(llm, str) else getattr(llm, "model", None)
        return {"model": name if isinstance(name, str) else None}

    def condensed(self, error: str) -> None:
        """The conversation was too long and was condensed."""
        self._emit(late.ContextWindowSummarizationCompletedEvent, **self._condensation_fields)
        _log.warning("%s: the conversation was too long and was condensed: %s", self.where, error)

    def step(self, step: AgentAction | AgentFinish, number: int) -> None:
        """The agent took a step."""
        self._emit(late.AgentStepEvent, agent=self._agent, task=self._task, step=step, iteration=number)
        if crewai_event_bus.wants(late.AgentLogsExecutionEvent):
            self._emit(late.AgentLogsExecutionEvent, **self._log_fields, formatted_answer=step)

    @property
    def _log_fields(self) -> dict[str, object]:
        crew = self._binding.crew
        is_verbose = self._agent.verbose or (crew is not None and crew.verbose)
        return {"agent_id": str(self._agent.id), "agent_role": self._agent.role, "verbose": is_verbose}

    def tool_refused(self, tool: str, args: PlainDict | str, outcome: ToolOutcome) -> None:
        """A requested tool could not be called; as in CrewAI, that starts and ends, unless a person refused it."""
        fields: dict[str, object] = {
            "tool_name": tool,
            "tool_args": args,
            "agent": self._agent,
            "agent_key": self._agent.key,
        }
        failure = outcome.get("failure")
        if failure is not None:
            self._emit(late.ToolUsageStartedEvent, **fields)
        if failure is not None and failure["reason"] == ToolFailureReason.UNKNOWN_TOOL.value:
            now = datetime.now(UTC)
            ended = late.ToolUsageFinishedEvent
            self._emit(ended, **fields, started_at=now, finished_at=now, output=outcome["text"], failure=failure)
        else:
            self._emit(late.ToolUsageErrorEvent, **fields, error=outcome["text"])

    def asked(self, question: Mapping[str, object]) -> None:
        """A question is put to a person."""
        self._emit(late.HumanInputRequestedEvent, **self._question(question))

    def answered(self, question: Mapping[str, object], answer: object) -> None:
        """A person has answered."""
        self._emit(late.HumanInputReceivedEvent, **self._question(question), answer=answer)

    def _question(self, question: Mapping[str, object]) -> dict[str, object]:
        return {
            "kind": question["kind"],
            "message": question["text"],
            "tool_name": question.get("tool"),
            "tool_args": question.get("args"),
            "output": question.get("answer"),
        }

    def judging(self, guardrail: object, retries: int) -> None:
        """A guardrail starts to judge."""
        self._guardrail_fields = _kind_and_name(guardrail)

        self._emit(late.LLMGuardrailStartedEvent, guardrail=guardrail, **self._guardrail_fields, retry_count=retries)

    def judged(self, verdict: PlainDict, retries: int) -> None:
        """A guardrail has judged."""
        self._emit(
            late.LLMGuardrailCompletedEvent,
            **self._guardrail_fields,
            success=verdict["accepted"],
            result=verdict.get("text") or verdict.get("output"),
            error=verdict["error"],
            retry_count=retries,
        )

    def guardrail_failed(self, error: str, retries: int) -> None:
        """A guardrail could not judge."""
        self._emit(late.LLMGuardrailFailedEvent, **self._guardrail_fields, error=error, retry_count=retries)

    def _emit(self, event: type[BaseEvent], **fields: Any) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():
            fields.setdefault("agent_role", self.role)
            from crewgraph.events.agent import AgentEvent

            kind = loaded(event)
            if issubclass(kind, WorkEvent):
                fields |= {"from_task": self._task, "from_agent": self._agent}
            of_agent = self._task is None or issubclass(kind, AgentEvent)
            crewai_event_bus.emit(self._agent if of_agent else self._task, kind(**fields))


def _kind_and_name(guardrail: object) -> dict[str, str]:
    """Return the event fields for a guardrail's kind and name."""
    judge = model_guardrail(guardrail)
    if judge is not None:
        return {"guardrail_type": judge.kind, "guardrail_name": judge.description}
    name = getattr(guardrail, "__name__", type(guardrail).__name__)
    return {"guardrail_type": "function", "guardrail_name": name}


class KickoffReport(AgentReport):
    """Emits the events of one kickoff of an agent."""

    def __init__(self, binding: AgentBinding) -> None:
        super().__init__(binding, None)

    @property
    def _info(self) -> dict[str, object]:
        agent = self._agent
        texts = {name: agent.written(name) for name in ("role", "goal", "backstory")}
        return {"id": agent.id, **texts, "verbose": agent.verbose, "tools": list(self._binding.given_tools)}

    def begin(self, messages: object) -> None:
        """The kickoff starts."""
        tools = list(self._binding.given_tools)
        self._agent.reset_tool_failures()
        self._emit(late.LiteAgentExecutionStartedEvent, agent_info=self._info, tools=tools, messages=messages)

    def unstructured(self, problem: str) -> None:
        """The answer could not be converted to the structure asked for; its text is used."""
        _log.warning("%s: no structured output, the text is kept: %s", self.where, problem)

    def complete(self, output: "LiteAgentOutput") -> None:
        """The agent has answered."""
        self._emit(late.LiteAgentExecutionCompletedEvent, agent_info=self._info, output=output.raw)

    def fail(self, failure: Exception) -> None:
        """The agent failed; the failure gets a note with its name."""
        cause = self._located(failure)
        error = f"{self.where}: {failure if isinstance(failure, EffectFailed) else cause}"
        self._emit(late.LiteAgentExecutionErrorEvent, agent_info=self._info, error=error)
