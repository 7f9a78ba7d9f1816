"""A LangChain chat model with native tool calls and no latency."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from benchmarks.peers.workload import ANSWER, CALLS

__all__ = ["ZeroChat"]


class ZeroChat(BaseChatModel):
    """Calls `probe` until the conversation holds `CALLS` of its results, then answers."""

    @property
    def _llm_type(self) -> str:
        return "zero"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        done = (len(messages) - 2) // 2  # after the two opening messages: a request and a result for each call
        if done < CALLS:
            call = {"name": "probe", "args": {"number": done + 1}, "id": f"call_{done}"}
            message = AIMessage("", tool_calls=[call])
        else:
            message = AIMessage(ANSWER)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=tools, **kwargs)
