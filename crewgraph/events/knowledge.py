"""What happens when an agent looks something up in its knowledge."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "KnowledgeEventBase",
    "KnowledgeQueryCompletedEvent",
    "KnowledgeQueryFailedEvent",
    "KnowledgeQueryStartedEvent",
    "KnowledgeRetrievalCompletedEvent",
    "KnowledgeRetrievalStartedEvent",
    "KnowledgeSearchQueryFailedEvent",
]


class KnowledgeEventBase(BaseEvent):
    """Something that happened while knowledge was looked up.

    A lookup has two parts: a model words the *query*, then the *retrieval* searches with it.
    """

    from_task: Any = None
    """The task that needs it."""

    from_agent: Any = None
    """The agent that looks it up."""

    agent: Any = None
    """The same agent, by its shorter name."""

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.agent is None:
            self.agent = self.from_agent


class KnowledgeQueryStartedEvent(KnowledgeEventBase):
    """A query is about to be worded."""

    type: str = "knowledge_query_started"

    task_prompt: str
    """What the agent is asked."""


class KnowledgeQueryCompletedEvent(KnowledgeEventBase):
    """A query is worded."""

    type: str = "knowledge_query_completed"

    query: str
    """The query."""


class KnowledgeQueryFailedEvent(KnowledgeEventBase):
    """A query could not be worded."""

    type: str = "knowledge_query_failed"

    error: str
    """What went wrong."""


class KnowledgeRetrievalStartedEvent(KnowledgeEventBase):
    """The knowledge is about to be searched."""

    type: str = "knowledge_search_query_started"


class KnowledgeRetrievalCompletedEvent(KnowledgeEventBase):
    """The knowledge has been searched."""

    type: str = "knowledge_search_query_completed"

    query: str
    """The query."""

    retrieved_knowledge: str
    """What was found."""


class KnowledgeSearchQueryFailedEvent(KnowledgeEventBase):
    """The knowledge could not be searched."""

    type: str = "knowledge_search_query_failed"

    query: str
    """The query."""

    error: str
    """What went wrong."""
