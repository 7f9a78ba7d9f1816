"""Who answers what methods ask with `self.ask`."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["InputProvider", "InputResponse"]


@dataclass
class InputResponse:
    """An answer, and what else is known of it."""

    text: str | None
    """The answer; None where there is none."""

    metadata: dict[str, Any] | None = None
    """What else is known: who answered, and where."""


@runtime_checkable
class InputProvider(Protocol):
    """Answers questions in a way of its own."""

    def request_input(
        self, message: str, flow: Any, metadata: dict[str, Any] | None = None
    ) -> str | InputResponse | None:
        """The answer to a question.

        Args:
            message: what is asked.
            flow: the flow that asks.
            metadata: what else is to be known.
        """
        ...
