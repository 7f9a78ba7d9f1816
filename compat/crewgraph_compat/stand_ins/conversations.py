"""A text of CrewAI's conversations that programs import."""

__all__ = ["ANSWER_FROM_HISTORY_DEPRECATION_MESSAGE"]

ANSWER_FROM_HISTORY_DEPRECATION_MESSAGE = (
    "`answer_from_history` asks a model before every turn; a router that knows the messages finds the same."
)
"""What is told of the route that answers from what was said before; here it works, and nothing is told."""
