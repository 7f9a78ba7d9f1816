"""Stand in for models where there is no key: `reply` for the crews, `ScriptedChat` for the supervisor."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from crewgraph import ToolUse

__all__ = ["ScriptedChat", "reply"]

TERMS = (
    "The contract runs until 31 December 2026. Clause 7.2 allows one price change a year, at most by the rise of the freight "
    "index over the last twelve months, announced 60 days ahead."
)
VERDICT = (
    "Seabridge may raise its price by at most 4.1 %, the rise of the index since June 2025, and not before 1 September, since "
    "the 60 days count from 3 July. We should offer 4.1 % from September, and ask for a fixed price in 2027 in return."
)
LETTER = (
    "Dear Mr Okafor,\n\nthank you for your letter of 3 July. Clause 7.2 of our contract ties price changes to the freight "
    "index, which rose by 4.1 % in the last twelve months. We agree to 4.1 % from 1 September 2026, and would like to talk "
    "about a fixed price for 2027.\n\nKind regards\nHalden Grocers"
)


def reply(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """Read the contract, judge the request, write the letter."""
    said = "\n".join(str(message.get("content")) for message in messages)
    if "Write the letter" in said:
        return LETTER
    if "Judge the request" in said:
        return VERDICT if "+4.1 %" in said else ToolUse("freight_index", {"since": "2025-06"})
    return TERMS if "7.2" in said else ToolUse("read_contract", {"supplier": "Seabridge"})


class ScriptedChat(BaseChatModel):
    """Has the request assessed, then hands over to the correspondents."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedChat":
        """Return itself: the script knows the tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if not results:
            letter = str(messages[-1].content)
            asked = re.findall(r"(\d+ %)", letter)[0]
            call = {"name": "assess_request", "args": {"supplier": "Seabridge", "request": f"{asked} more from August"}}
        else:
            brief = f"Answer Seabridge, Mr Okafor, letter of 3 July 2026. Our position: {results[-1].content}"
            call = {"name": "hand_over_to_correspondence", "args": {"brief": brief}}
        message = AIMessage("", tool_calls=[{**call, "id": f"call_{len(results)}", "type": "tool_call"}])
        return ChatResult(generations=[ChatGeneration(message=message)])
