"""Somebody at the terminal who looks at outputs and answers questions."""

from typing import Any

from crewgraph.compiler.agent.human_review import said_at_terminal

__all__ = ["ConsoleProvider"]


class ConsoleProvider:
    """Asks on the terminal; flows do so by themselves where there is one.

    Args:
        verbose: whether the output that is asked about is shown.
    """

    def __init__(self, verbose: bool = True) -> None:
        self.verbose = verbose

    def request_feedback(self, context: Any, flow: Any) -> str:
        """What somebody types about an output."""
        shown = [str(context.method_output)] if self.verbose else []
        return said_at_terminal("\n".join([*shown, context.message, "> "])).strip()

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> str | None:
        """What somebody types as an answer."""
        return said_at_terminal(f"{message}\n> ").strip()
