"""What went wrong with a database, in CrewAI's terms."""

from typing import Final

__all__ = ["AgentRepositoryError", "DatabaseError", "DatabaseOperationError"]


class DatabaseOperationError(Exception):
    """Something could not be read from a database, or written into it.

    Args:
        message: what.
        original_error: what the database said.
    """

    def __init__(self, message: str, original_error: Exception | None = None) -> None:
        super().__init__(message)
        self.original_error = original_error


class DatabaseError:
    """How such things are told."""

    INIT_ERROR: Final[str] = "the database cannot be made: {}"
    SAVE_ERROR: Final[str] = "outputs of tasks cannot be saved: {}"
    UPDATE_ERROR: Final[str] = "outputs of tasks cannot be changed: {}"
    LOAD_ERROR: Final[str] = "outputs of tasks cannot be read: {}"
    DELETE_ERROR: Final[str] = "outputs of tasks cannot be removed: {}"

    @classmethod
    def format_error(cls, template: str, error: Exception) -> str:
        """One of them, with what the database said."""
        return template.format(str(error))


class AgentRepositoryError(Exception):
    """An agent could not be read from a repository of agents; crewgraph has none, so it is never raised here."""
