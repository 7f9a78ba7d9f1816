"""Events of knowledge and memory."""

from typing import Any

from crewgraph.events.base import WorkEvent
from crewgraph.schema import Metadata


class KnowledgeEventBase(WorkEvent):
    """An event of a knowledge lookup.

    A lookup has two parts: a model writes the *query*, then the *retrieval* searches with it.
    """

    agent: Any = None
    """Alias of `from_agent`."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if self.agent is None:
            self.agent = self.from_agent


class KnowledgeQueryStartedEvent(KnowledgeEventBase):
    """The writing of a query starts."""

    type: str = "knowledge_query_started"

    task_prompt: str
    """The messages for the agent."""


class KnowledgeQueryCompletedEvent(KnowledgeEventBase):
    """A query was written."""

    type: str = "knowledge_query_completed"

    query: str
    """The query."""


class KnowledgeQueryFailedEvent(KnowledgeEventBase):
    """A query could not be written."""

    type: str = "knowledge_query_failed"

    error: str
    """The error."""


class KnowledgeRetrievalStartedEvent(KnowledgeEventBase):
    """A search in the knowledge starts."""

    type: str = "knowledge_search_query_started"


class KnowledgeRetrievalCompletedEvent(KnowledgeEventBase):
    """A search in the knowledge has completed."""

    type: str = "knowledge_search_query_completed"

    query: str
    """The query."""

    retrieved_knowledge: str
    """The results."""


class KnowledgeSearchQueryFailedEvent(KnowledgeEventBase):
    """A search in the knowledge has failed."""

    type: str = "knowledge_search_query_failed"

    query: str
    """The query."""

    error: str
    """The error."""


class MemoryBaseEvent(WorkEvent):
    """An event of a memory."""


class _QueryEvent(MemoryBaseEvent):
    query: str
    """The query."""

    limit: int
    """The maximum number of entries."""

    score_threshold: float | None = None
    """The minimum score of an entry, 0 to 1."""


class MemoryQueryStartedEvent(_QueryEvent):
    """A search in a memory starts."""

    type: str = "memory_query_started"


class MemoryQueryCompletedEvent(_QueryEvent):
    """A search in a memory has completed."""

    type: str = "memory_query_completed"

    results: Any
    """The entries found."""

    query_time_ms: float
    """The duration in milliseconds."""


class MemoryQueryFailedEvent(_QueryEvent):
    """A search in a memory has failed."""

    type: str = "memory_query_failed"

    error: str
    """The error."""


class MemoryRetrievalStartedEvent(MemoryBaseEvent):
    """The search in all memories for a task starts."""

    type: str = "memory_retrieval_started"


class MemoryRetrievalCompletedEvent(MemoryBaseEvent):
    """The search in all memories for a task has completed."""

    type: str = "memory_retrieval_completed"

    memory_content: str
    """The text that is added to the task's prompt."""

    retrieval_time_ms: float
    """The duration in milliseconds."""


class MemoryRetrievalFailedEvent(MemoryBaseEvent):
    """The search in all memories for a task has failed."""

    type: str = "memory_retrieval_failed"

    error: str
    """The error."""


class MemorySaveStartedEvent(MemoryBaseEvent):
    """The saving of a memory starts."""

    type: str = "memory_save_started"

    value: str | None = None
    """The value."""

    metadata: Metadata | None = None
    """The metadata stored with it."""


class MemorySaveCompletedEvent(MemoryBaseEvent):
    """A memory was saved."""

    type: str = "memory_save_completed"

    value: str
    """The value."""

    metadata: Metadata | None = None
    """The metadata stored with it."""

    save_time_ms: float
    """The duration in milliseconds."""


class MemorySaveFailedEvent(MemoryBaseEvent):
    """A memory could not be saved."""

    type: str = "memory_save_failed"

    value: str | None = None
    """The value."""

    metadata: Metadata | None = None
    """The metadata to store with it."""

    error: str
    """The error."""
