"""Events of knowledge and memory."""

from typing import Any

from crewgraph.events.base import WorkEvent
from crewgraph.schema import Metadata

__all__ = [
    "KnowledgeEventBase",
    "KnowledgeQueryCompletedEvent",
    "KnowledgeQueryFailedEvent",
    "KnowledgeQueryStartedEvent",
    "KnowledgeRetrievalCompletedEvent",
    "KnowledgeRetrievalStartedEvent",
    "KnowledgeSearchQueryFailedEvent",
    "MemoryBaseEvent",
    "MemoryQueryCompletedEvent",
    "MemoryQueryFailedEvent",
    "MemoryQueryStartedEvent",
    "MemoryRetrievalCompletedEvent",
    "MemoryRetrievalFailedEvent",
    "MemoryRetrievalStartedEvent",
    "MemorySaveCompletedEvent",
    "MemorySaveFailedEvent",
    "MemorySaveStartedEvent",
]


class KnowledgeEventBase(WorkEvent):
    """An event of a knowledge lookup.

    A lookup has two parts: a model words the *query*, then the *retrieval* searches with it.
    """

    agent: Any = None
    """The same agent, by its shorter name."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if self.agent is None:
            self.agent = self.from_agent


class KnowledgeQueryStartedEvent(KnowledgeEventBase):
    """A query is about to be worded."""

    type: str = "knowledge_query_started"

    task_prompt: str
    """The messages for the agent."""


class KnowledgeQueryCompletedEvent(KnowledgeEventBase):
    """A query is worded."""

    type: str = "knowledge_query_completed"

    query: str
    """The query."""


class KnowledgeQueryFailedEvent(KnowledgeEventBase):
    """A query could not be worded."""

    type: str = "knowledge_query_failed"

    error: str
    """The error."""


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
    """The error."""


class MemoryBaseEvent(WorkEvent):
    """Something that happened to a memory."""


class _QueryEvent(MemoryBaseEvent):
    query: str
    """The query."""

    limit: int
    """The maximum number of entries."""

    score_threshold: float | None = None
    """The minimum score of an entry, 0 to 1."""


class MemoryQueryStartedEvent(_QueryEvent):
    """A memory is about to be searched."""

    type: str = "memory_query_started"


class MemoryQueryCompletedEvent(_QueryEvent):
    """A memory has been searched."""

    type: str = "memory_query_completed"

    results: Any
    """The entries found."""

    query_time_ms: float
    """The duration in milliseconds."""


class MemoryQueryFailedEvent(_QueryEvent):
    """A memory could not be searched."""

    type: str = "memory_query_failed"

    error: str
    """The error."""


class MemoryRetrievalStartedEvent(MemoryBaseEvent):
    """All memories are about to be searched for a task."""

    type: str = "memory_retrieval_started"


class MemoryRetrievalCompletedEvent(MemoryBaseEvent):
    """All memories have been searched for a task."""

    type: str = "memory_retrieval_completed"

    memory_content: str
    """The text that the task gets about it."""

    retrieval_time_ms: float
    """The duration in milliseconds."""


class MemoryRetrievalFailedEvent(MemoryBaseEvent):
    """A search in the memories failed."""

    type: str = "memory_retrieval_failed"

    error: str
    """The error."""


class MemorySaveStartedEvent(MemoryBaseEvent):
    """Something is about to be remembered."""

    type: str = "memory_save_started"

    value: str | None = None
    """What."""

    metadata: Metadata | None = None
    """The metadata stored with it."""


class MemorySaveCompletedEvent(MemoryBaseEvent):
    """Something is remembered."""

    type: str = "memory_save_completed"

    value: str
    """What."""

    metadata: Metadata | None = None
    """The metadata stored with it."""

    save_time_ms: float
    """The duration in milliseconds."""


class MemorySaveFailedEvent(MemoryBaseEvent):
    """Something could not be remembered."""

    type: str = "memory_save_failed"

    value: str | None = None
    """What."""

    metadata: Metadata | None = None
    """The metadata to store with it."""

    error: str
    """The error."""
