"""Parts of adapters to other frameworks: one turns tools, the other asks for structured outputs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.tools.structured import model_name

if TYPE_CHECKING:
    from crewgraph.definitions.agent_adapter import BaseAgentAdapter
    from crewgraph.definitions.task import Task

__all__ = ["BaseConverterAdapter", "BaseToolAdapter"]


class BaseToolAdapter(ABC):
    """Turns tools into those of another framework.

    Args:
        tools: what is to be turned, for subclasses that do it at once.
    """

    original_tools: list[Any]
    """The tools as they were given."""

    converted_tools: list[Any]
    """The same as the other framework takes them."""

    def __init__(self, tools: Sequence[Any] | None = None) -> None:
        self.original_tools = list(tools or ())
        self.converted_tools = []

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any]) -> None:
        """Turn tools; the result stands in `converted_tools`."""

    def tools(self) -> list[Any]:
        """The turned tools."""
        return self.converted_tools

    @staticmethod
    def sanitize_tool_name(tool_name: str) -> str:
        """The name as providers of models take it."""
        return model_name(tool_name)


class BaseConverterAdapter(ABC):
    """Asks another framework's agent for structured outputs.

    Args:
        agent_adapter: the agent.
    """

    def __init__(self, agent_adapter: "BaseAgentAdapter") -> None:
        self.agent_adapter = agent_adapter

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Note the structure that a task asks for."""

    @abstractmethod
    def enhance_system_prompt(self, base_prompt: str) -> str:
        """A prompt with that structure described in it."""

    def post_process_result(self, result: str) -> str:
        """What is made of an answer; the answer itself where a subclass does nothing with it."""
        return result
