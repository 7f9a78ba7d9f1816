"""The agent's model as a LangChain chat model, for `create_agent` and the middleware around it."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from crewgraph.compiler.agent.react_graph import as_arguments
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.llm.conversation import read_messages, read_tools
from crewgraph.schema import PlainMapping

__all__ = ["LoopModel", "Request", "read_conversation"]


Request = Callable[
    [Sequence[BaseMessage], tuple[ToolSpec, ...], PlainMapping, RunnableConfig], Program[tuple[Reply, str | None]]
]
"""Makes a request of messages, tools and settings; returns the reply, and the id of LangChain's message if there is one."""


class LoopModel(BaseChatModel):
    """A chat model whose requests are those of the agent: recorded, with its events, hooks, limits and retries.

    It opens no run in the trace: the underlying model does.
    """

    model_name: str
    """The name of the model at its provider."""

    request: Any = Field(repr=False)
    """Performs the requests: a `Request`."""

    specs: dict[str, Any] = Field(repr=False)
    """The specs of the agent's tools, by name."""

    @property
    def _llm_type(self) -> str:
        return "crewgraph"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return the model with tools."""
        settings = {"tool_choice": tool_choice, **kwargs} if tool_choice is not None else kwargs
        return cast("Runnable[Any, AIMessage]", self.bind(tools=[self._spec(tool) for tool in tools], **settings))

    def _spec(self, tool: Any) -> ToolSpec:
        own: ToolSpec | None = self.specs.get(tool.name) if isinstance(tool, BaseTool) else None
        if own is not None and own["description"] == tool.description:
            return own
        return read_tools([convert_to_openai_tool(tool)])[0]

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AIMessage:
        config = ensure_config(config)
        return self._message(drive(self._requested(input, config, stop, kwargs)))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AIMessage:
        config = ensure_config(config)
        return self._message(await adrive(self._requested(input, config, stop, kwargs)))

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.invoke(messages, stop=stop, **kwargs))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        message = await self.ainvoke(messages, stop=stop, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _requested(
        self, input: Any, config: RunnableConfig, stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Program[tuple[Reply, str | None]]:
        tools: list[ToolSpec] = kwargs.pop("tools", None) or []
        settings = {**kwargs, "stop": stop} if stop else kwargs
        messages = self._convert_input(input).to_messages()
        return cast("Request", self.request)(messages, tuple(tools), settings, config)

    def _message(self, answered: tuple[Reply, str | None]) -> AIMessage:
        reply, message_id = answered
        usage = reply["usage"]
        return AIMessage(
            reply["content"],
            id=message_id,
            additional_kwargs=reply["extra"],
            response_metadata={"model_name": reply.get("model", self.model_name)},
            tool_calls=[
                {"id": call["id"], "name": call["name"], "args": as_arguments(call["args"]), "type": "tool_call"}
                for call in reply["tool_calls"]
            ],
            usage_metadata=usage
            and {
                "input_tokens": usage["prompt_tokens"],
                "output_tokens": usage["completion_tokens"],
                "total_tokens": usage["total_tokens"],
            },
        )


def read_conversation(messages: Sequence[BaseMessage]) -> list[Message]:
    """Return LangChain messages as plain data, with the provider data to send back."""
    converted = read_messages(messages)
    for message, source in zip(converted, messages, strict=True):
        if message["role"] == "assistant" and source.additional_kwargs:
            message["extra"] = dict(source.additional_kwargs)
    return converted
