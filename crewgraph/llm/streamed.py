"""Answers that come in pieces: who sees the pieces, and that their tokens are still counted."""

import sys
from typing import Any

__all__ = ["counting_when_streamed"]


def counting_when_streamed(model: Any) -> Any:
    """A LangChain model that reports its usage, too, where its answer is streamed because somebody looks at the run.

    langchain-openai leaves the report out for servers other than OpenAI's. Who switches streaming or its report on or off
    keeps what they chose. The given model is not changed.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    if module is None or not isinstance(model, module.BaseChatOpenAI):
        return model
    ours: Any = model
    if ours.stream_usage is not None or ours.streaming:
        return ours
    return ours.model_copy(update={"stream_usage": True})
