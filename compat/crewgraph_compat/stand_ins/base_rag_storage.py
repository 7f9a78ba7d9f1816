"""What a storage that searches by meaning has, for storages of one's own."""

from abc import ABC, abstractmethod
from typing import Any

from crewgraph import BaseAgent
from crewgraph.memory.storage import RAGStorage

__all__ = ["BaseRAGStorage"]


class BaseRAGStorage(ABC):
    """A storage of one's own: what is abstract has to be written; crewgraph's own is `RAGStorage`.

    Args:
        type: what is kept: "short_term", "entities" or a name of yours.
        allow_reset: whether `reset` may forget everything.
        embedder_config: what turns texts into vectors, in any form that `embedder=` takes.
        crew: whose it is; `agents` is made of the roles of its agents.
    """

    app: Any = None
    """The store, once there is one."""

    def __init__(self, type: str, allow_reset: bool = True, embedder_config: Any = None, crew: Any = None) -> None:
        self.type, self.allow_reset, self.embedder_config, self.crew = type, allow_reset, embedder_config, crew
        self.agents = self._initialize_agents()

    def _initialize_agents(self) -> str:
        """The roles of the crew's agents, each as `_sanitize_role` makes it, with `_` between them."""
        return "_".join(self._sanitize_role(_written(agent)) for agent in self.crew.agents) if self.crew else ""

    @abstractmethod
    def _sanitize_role(self, role: str) -> str:
        """A role as a part of a name."""

    @abstractmethod
    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        """Keep something."""

    @abstractmethod
    def search(
        self, query: str, limit: int = 5, filter: dict[str, Any] | None = None, score_threshold: float = 0.6
    ) -> list[Any]:
        """What fits a query, the best first."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""


BaseRAGStorage.register(RAGStorage)


def _written(agent: Any) -> str:
    """The role of an agent as its author wrote it, whatever stands for the agent."""
    return agent.template("role") or "" if isinstance(agent, BaseAgent) else agent.role
