"""Events of questions to people, of guardrails and of hooks."""

import inspect
from typing import Any, Literal

from crewgraph.events.base import BaseEvent, WorkEvent, attribute, brief
from crewgraph.schema import PlainDict


class _HumanInputEvent(WorkEvent):
    kind: str
    """The kind of question: `feedback` on an answer, or `approval` of a tool call."""

    message: str
    """The question."""

    tool_name: str | None = None
    """The tool to approve."""

    tool_args: PlainDict | None = None
    """The arguments of the call."""

    output: str | None = None
    """The answer to review."""


class HumanInputRequestedEvent(_HumanInputEvent):
    """A question was put to a person; not emitted again while it waits."""

    type: str = "human_input_requested"


class HumanInputReceivedEvent(_HumanInputEvent):
    """A person has answered."""

    type: str = "human_input_received"

    answer: Any = None
    """The answer, as plain data."""


class LLMGuardrailBaseEvent(WorkEvent):
    """An event of a guardrail's check of an output."""

    guardrail_type: str | None = None
    """The kind of guardrail: "function", "llm" or "hallucination"."""

    guardrail_name: str | None = None
    """The name of the check: that of the function, or the criterion for a model."""


class LLMGuardrailStartedEvent(LLMGuardrailBaseEvent):
    """The check of an output starts."""

    type: str = "llm_guardrail_started"

    guardrail: Any
    """The guardrail: the source code of a function, or the criterion for a model."""

    retry_count: int
    """The number of earlier rejections of this task's output."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if not isinstance(self.guardrail, str):
            self.guardrail = _description(self.guardrail)


class LLMGuardrailCompletedEvent(LLMGuardrailBaseEvent):
    """An output has been checked."""

    type: str = "llm_guardrail_completed"

    success: bool
    """Whether it passed."""

    result: Any
    """The output as returned by the check; None if it was rejected."""

    error: str | None = None
    """The reason for rejecting it."""

    retry_count: int
    """The number of earlier rejections."""


class LLMGuardrailFailedEvent(LLMGuardrailCompletedEvent):
    """A check failed to run; handlers of `LLMGuardrailCompletedEvent` receive it, too."""

    type: str = "llm_guardrail_failed"

    success: bool = False
    """Always False."""

    result: Any = None
    """Always None."""


def _description(guardrail: object) -> str:
    if described := attribute(guardrail, "description"):
        return described
    try:
        return inspect.getsource(guardrail).strip()  # pyright: ignore[reportArgumentType]
    except (OSError, TypeError):  # defined in a REPL, or a callable object
        return str(brief(guardrail))


class HookDispatchedEvent(BaseEvent):
    """The hooks of a point were called."""

    type: str = "hook_dispatched"

    interception_point: str
    """The interception point."""

    outcome: Literal["proceeded", "modified", "aborted"]
    """Whether a hook's result was applied, or a hook aborted the operation."""

    hook_count: int
    """The number of hooks at that point."""

    duration_ms: float
    """Their duration in milliseconds."""

    abort_reason: str | None = None
    abort_source: str | None = None
    """The source of the abort, if a hook aborted the operation."""
