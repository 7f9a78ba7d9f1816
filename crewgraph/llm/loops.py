"""Models that may be asked from several event loops."""

import sys
from typing import Any

from crewgraph.core.loops.transport import LoopTransport
from crewgraph.extras import load

__all__ = ["across_event_loops"]


def across_event_loops(model: Any) -> Any:
    """A LangChain model that may be asked from several event loops, one after the other or at once.

    Only models that are asked through the openai package are helped, and not those with an HTTP client
    of their own. The given model is not changed.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    if module is None or not isinstance(model, module.BaseChatOpenAI):
        return model
    ours: Any = model
    if ours.http_async_client is not None or ours.root_async_client is None:
        return ours
    make_client = load("openai").DefaultAsyncHttpxClient
    client = ours.root_async_client.with_options(http_client=make_client(transport=LoopTransport(make_client)))
    return ours.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})
