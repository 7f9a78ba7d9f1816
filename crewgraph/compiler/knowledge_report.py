"""What an agent's looking something up tells: events to the audience, and what it found to the agent."""

import logging
from typing import Any

from crewgraph.core.replay import is_replayed
from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.knowledge import (
    KnowledgeEventBase,
    KnowledgeQueryCompletedEvent,
    KnowledgeQueryFailedEvent,
    KnowledgeQueryStartedEvent,
    KnowledgeRetrievalCompletedEvent,
    KnowledgeRetrievalStartedEvent,
    KnowledgeSearchQueryFailedEvent,
)

__all__ = ["KnowledgeReport"]

_log = logging.getLogger("crewgraph")


class KnowledgeReport:
    """Tells of one lookup in knowledge.

    Args:
        agent: who looks something up.
        task: for what; None where it answers messages.
        where: what that is called in messages.
    """

    def __init__(self, agent: BaseAgent, task: Task | None, where: str) -> None:
        self._agent, self._task, self._where = agent, task, where

    def begin(self, asked: str) -> None:
        """The lookup begins; its query is worded first."""
        self._tell(KnowledgeRetrievalStartedEvent)
        self._tell(KnowledgeQueryStartedEvent, task_prompt=asked)

    def worded(self, query: str) -> None:
        """The query is worded."""
        self._tell(KnowledgeQueryCompletedEvent, query=query)

    def unworded(self, error: str) -> None:
        """It could not be worded; the task's own words are taken."""
        _log.warning(
            "%s: no query could be worded, its knowledge is searched for the task itself: %s", self._where, error
        )
        self._tell(KnowledgeQueryFailedEvent, error=error)

    def unsearched(self, query: str, error: str) -> None:
        """Knowledge could not be searched; the work goes on without."""
        _log.warning("%s: its knowledge could not be searched, it goes on without: %s", self._where, error)
        self._tell(KnowledgeSearchQueryFailedEvent, query=query, error=error)

    def found(self, query: str, own: str, crews: str) -> None:
        """This was found: in the agent's own knowledge, and in its crew's."""
        if isinstance(self._agent, Agent):
            self._agent.knowledge_search_query = query
            self._agent.agent_knowledge_context, self._agent.crew_knowledge_context = own or None, crews or None
        told = "\n\n".join(filter(None, (own, crews)))
        self._tell(KnowledgeRetrievalCompletedEvent, query=query, retrieved_knowledge=told)

    def _tell(self, event: type[KnowledgeEventBase], **fields: Any) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():
            crewai_event_bus.emit(self._agent, event(from_task=self._task, from_agent=self._agent, **fields))
