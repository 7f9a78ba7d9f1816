"""How an agent's knowledge is searched."""

from pydantic import BaseModel, Field

__all__ = ["KnowledgeConfig"]


class KnowledgeConfig(BaseModel):
    """How much an agent is told of what is known, and how near to the task it has to be."""

    results_limit: int = Field(default=5, ge=1)
    """At most so many passages of its own knowledge, and as many of its crew's."""

    score_threshold: float = Field(default=0.6, ge=0, le=1)
    """How near they are at least: 0.5 has nothing to do with what is looked for, 1 says the same."""
