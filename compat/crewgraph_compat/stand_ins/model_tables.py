"""What CrewAI's programs look up about models: names, and how much each reads. Our own tables are the source."""

from typing import Final

from crewgraph.llm.capabilities import WINDOWS
from crewgraph.llm.profile import CONVERSATION_SHARE

__all__ = ["CONTEXT_WINDOW_USAGE_RATIO", "DEFAULT_CONTEXT_WINDOW_SIZE", "LITELLM_AVAILABLE", "LLM_CONTEXT_WINDOW_SIZES"]

CONTEXT_WINDOW_USAGE_RATIO: Final = CONVERSATION_SHARE
DEFAULT_CONTEXT_WINDOW_SIZE: Final = 8192
LITELLM_AVAILABLE: Final = False


LLM_CONTEXT_WINDOW_SIZES: dict[str, int] = dict(WINDOWS)
"""How many tokens models read, by what their names begin with."""
