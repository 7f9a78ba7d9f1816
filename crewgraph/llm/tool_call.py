"""Tool calls as `LLM.call` gives them to users."""

from typing import NamedTuple

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import openai_messages

__all__ = ["FunctionCall", "ToolCall", "tool_calls"]


class FunctionCall(NamedTuple):
    """What a model wants to have called."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""


class ToolCall(NamedTuple):
    """One tool call of an answer, in OpenAI's form."""

    id: str
    function: FunctionCall
    type: str = "function"


def tool_calls(reply: Reply) -> list[ToolCall]:
    """The tool calls of a reply in OpenAI's form."""
    written = openai_messages([{"role": "assistant", "content": "", "tool_calls": reply["tool_calls"]}])[0]
    return [
        ToolCall(call["id"], FunctionCall(call["function"]["name"], call["function"]["arguments"]))
        for call in written.get("tool_calls", ())
    ]
