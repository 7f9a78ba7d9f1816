"""The protocols of models and tools that effects call, each with a sync and an async method."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig as Config
else:
    Config = dict[str, Any]  # LangChain takes long to import


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """The provider's name of the model."""
        ...

    @property
    def identity(self) -> PlainMapping:
        """Name and parameters as plain data: two models with the same identity answer the same question."""
        ...

    @property
    def native_tools(self) -> bool:
        """Whether tool calls are a part of the model's protocol."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: Config,
    ) -> Reply:
        """Answer a conversation."""
        ...

    async def acomplete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: Config,
    ) -> Reply:
        """Answer a conversation."""
        ...


class AgentTool(Protocol):
    """A tool that an agent may call."""

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        ...

    @property
    def spec(self) -> ToolSpec:
        """The tool as models see it."""
        ...

    @property
    def once(self) -> bool:
        """Whether a call whose outcome is unknown after a crash must not be repeated."""
        ...

    def run(self, args: PlainDict, config: Config) -> Any:
        """Perform the call; the result is plain data."""
        ...

    async def arun(self, args: PlainDict, config: Config) -> object:
        """Perform the call; the result is plain data."""
        ...
