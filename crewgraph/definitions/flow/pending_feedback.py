"""A question about a method's output, as backends of users' own are given it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

__all__ = ["HumanFeedbackPending", "PendingFeedbackContext"]


@dataclass
class PendingFeedbackContext:
    """What somebody is to look at, and what is asked of it."""

    flow_id: str
    """The run."""

    flow_class: str
    """The class of the flow, with its module."""

    method_name: str
    """The method."""

    method_output: Any
    """What it returned, as plain data."""

    message: str
    """What is asked."""

    emit: list[str] | None = None
    """The outcomes that an answer may come to."""

    default_outcome: str | None = None
    """What an empty answer comes to."""

    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else is to be known."""

    llm: dict[str, Any] | str | None = None
    """The model that reads answers."""

    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When it was asked."""

    execution_uuid: str | None = None
    trace_context: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        told = asdict(self)
        return {**told, "requested_at": self.requested_at.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PendingFeedbackContext":
        """The context that plain data tell of.

        Raises:
            TypeError: something is missing.
            ValueError: the time is none.
        """
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        if isinstance(values.get("requested_at"), str):
            values["requested_at"] = datetime.fromisoformat(values["requested_at"])
        return cls(**values)


class _LikePaused(type):
    """What a paused run returns counts as the exception that paused it, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or getattr(instance, "is_paused_flow", False) is True


class HumanFeedbackPending(Exception, metaclass=_LikePaused):
    """Raised by a provider that has asked somebody, and does not wait: the run is kept, and goes on with the answer.

    What `kickoff` returns then is an instance of this, too.
    """

    def __init__(self, context: Any, callback_info: dict[str, Any] | None = None, message: str | None = None) -> None:
        """Pause a run.

        Args:
            context: the question, as the provider was given it.
            callback_info: what whoever kicked the run off is to know: an address, the id of a ticket.
            message: what is told; a few words where None.
        """
        self.context, self.callback_info = context, callback_info or {}
        where = f"`{context.method_name}`" if hasattr(context, "method_name") else "a flow"
        super().__init__(message or f"{where} waits for somebody's answer")
