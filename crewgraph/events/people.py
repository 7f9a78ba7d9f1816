"""Events of questions to people, and of guardrails."""

import inspect
from typing import Any

from crewgraph.events.base import BaseEvent, attribute, brief

__all__ = [
    "HumanInputReceivedEvent",
    "HumanInputRequestedEvent",
    "LLMGuardrailBaseEvent",
    "LLMGuardrailCompletedEvent",
    "LLMGuardrailFailedEvent",
    "LLMGuardrailStartedEvent",
]


class _HumanInputEvent(BaseEvent):
    kind: str
    """`feedback`: whether an answer will do. `approval`: whether a tool may be used."""

    message: str
    """What is asked."""

    tool_name: str | None = None
    """The tool that is to be allowed."""

    tool_args: dict[str, Any] | None = None
    """The arguments of the call."""

    output: str | None = None
    """The answer to be judged."""

    from_task: Any = None
    """The task that the agent works on."""

    from_agent: Any = None
    """The agent that asks."""


class HumanInputRequestedEvent(_HumanInputEvent):
    """A person is asked a question; not emitted again while it waits."""

    type: str = "human_input_requested"


class HumanInputReceivedEvent(_HumanInputEvent):
    """A person has answered."""

    type: str = "human_input_received"

    answer: Any = None
    """The answer, as plain data."""


class LLMGuardrailBaseEvent(BaseEvent):
    """Something that happened while an output was checked."""

    from_task: Any = None
    """The task whose output is checked."""

    from_agent: Any = None
    """The agent that made it."""

    guardrail_type: str | None = None
    """The kind of guardrail: "function", "llm" or "hallucination"."""

    guardrail_name: str | None = None
    """The check's name: that of the function, what a model is to look at."""


class LLMGuardrailStartedEvent(LLMGuardrailBaseEvent):
    """An output is about to be checked."""

    type: str = "llm_guardrail_started"

    guardrail: Any
    """The guardrail: the source code of a function, or the criterion for a model."""

    retry_count: int
    """How often it has refused this task's output so far."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if not isinstance(self.guardrail, str):
            self.guardrail = _told(self.guardrail)


class LLMGuardrailCompletedEvent(LLMGuardrailBaseEvent):
    """An output has been checked."""

    type: str = "llm_guardrail_completed"

    success: bool
    """Whether it passed."""

    result: Any
    """The output as the check gave it back; None where it refused."""

    error: str | None = None
    """Why it refused."""

    retry_count: int
    """The number of earlier rejections."""


class LLMGuardrailFailedEvent(LLMGuardrailBaseEvent):
    """A check could not be made."""

    type: str = "llm_guardrail_failed"

    error: str
    """The error."""

    retry_count: int
    """The number of earlier rejections."""


def _told(guardrail: object) -> str:
    if described := attribute(guardrail, "description"):
        return described
    try:
        return inspect.getsource(guardrail).strip()  # pyright: ignore[reportArgumentType]
    except (OSError, TypeError):  # typed at a prompt, or an object that can be called
        return str(brief(guardrail))
