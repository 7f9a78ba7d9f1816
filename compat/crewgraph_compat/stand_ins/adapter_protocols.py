"""What CrewAI's adapters expect of other frameworks, for annotations."""

from collections.abc import Callable
from typing import Any, Protocol, TypedDict, runtime_checkable

__all__ = [
    "AgentKwargs",
    "LangGraphCheckPointMemoryModule",
    "LangGraphMemorySaver",
    "LangGraphPrebuiltModule",
    "OpenAIAgent",
    "OpenAIAgentsModule",
    "OpenAIFunctionTool",
    "OpenAIRunner",
    "OpenAITool",
]


@runtime_checkable
class LangGraphMemorySaver(Protocol):
    """A checkpointer of LangGraph."""

    def __init__(self) -> None: ...


@runtime_checkable
class LangGraphCheckPointMemoryModule(Protocol):
    """The module `langgraph.checkpoint.memory`."""

    MemorySaver: type[Any]


@runtime_checkable
class LangGraphPrebuiltModule(Protocol):
    """The module `langgraph.prebuilt`."""

    def create_react_agent(
        self, model: Any, tools: list[Any], checkpointer: Any, debug: bool = False, **kwargs: Any
    ) -> Any:
        """A graph of a model and its tools."""
        ...


class AgentKwargs(TypedDict, total=False):
    """What an agent of OpenAI's framework is made with."""

    name: str
    instructions: str
    model: str
    tools: list[Any] | None
    role: str
    goal: str
    backstory: str
    agent_config: dict[str, Any] | None


@runtime_checkable
class OpenAIAgent(Protocol):
    """An agent of OpenAI's framework."""

    def __init__(self, **kwargs: Any) -> None: ...

    tools: list[Any]
    output_type: Any


@runtime_checkable
class OpenAIRunner(Protocol):
    """What runs such agents."""

    @classmethod
    def run_sync(cls, agent: Any, message: str) -> Any:
        """Run an agent."""
        ...


@runtime_checkable
class OpenAIAgentsModule(Protocol):
    """The module `agents`."""

    Agent: type[Any]
    Runner: type[Any]

    def enable_verbose_stdout_logging(self) -> None:
        """Have it tell what it does."""
        ...


@runtime_checkable
class OpenAITool(Protocol):
    """Something that such an agent may use."""


@runtime_checkable
class OpenAIFunctionTool(Protocol):
    """A function that such an agent may use."""

    name: str
    description: str
    params_json_schema: dict[str, Any]
    on_invoke_tool: Callable[..., Any]
