"""Agents whose work another framework carries out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr

from crewgraph.definitions.agent import BaseAgent

if TYPE_CHECKING:
    from crewgraph.definitions.task import Task

__all__ = ["BaseAgentAdapter"]


class BaseAgentAdapter(BaseAgent, ABC):
    """The base of classes that bring another framework's agents into a crew.

    A subclass writes `execute_task(self, task, context=None, tools=None)`, which returns the answer as a text; or
    `create_agent_executor`, which sets `self.agent_executor`. The crew calls neither of the two methods that stand here: they
    are for these.
    """

    adapted_agent: bool = True
    """Whether another framework carries out its work."""

    adapted_structured_output: bool = False
    """Whether that framework gives structured outputs by itself."""

    _agent_config: dict[str, Any] | None = PrivateAttr(default=None)

    def __init__(self, agent_config: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Make the agent.

        Args:
            agent_config: settings for the other framework, kept as `_agent_config`.
            kwargs: the fields of an agent.
        """
        super().__init__(**kwargs)
        self._agent_config = agent_config

    def copy(self) -> Self:
        """Another agent like this one; see `BaseAgent.copy`."""
        made = super().copy()
        made._agent_config = self._agent_config
        return made

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        """Give the framework's agent its tools."""

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Tell the framework's agent of the structure that a task asks for."""
