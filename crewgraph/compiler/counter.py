"""What models report that are asked by somebody else's code: heard through LangChain's callbacks."""

import threading
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.base import BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs

from crewgraph.core.limits import ASKING, METER, check_limits
from crewgraph.llm.usage import UsageLedger, read_usage

__all__ = ["UsageCounter"]


class UsageCounter(BaseCallbackHandler):
    """Counts the requests of every model that is asked under `listening`, and lets none through that a budget forbids.

    Args:
        who: on whose behalf they are asked.
    """

    run_inline = True

    def __init__(self, who: str = "") -> None:
        self.usage = UsageLedger()
        self._who = who
        self._names: dict[UUID, str] = {}
        self._lock = threading.Lock()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A chat model is asked."""
        self._asked(_named(serialized, kwargs), run_id)

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """A model that completes texts is asked."""
        self._asked(_named(serialized, kwargs), run_id)

    def _asked(self, name: str, run: UUID) -> None:
        self._names[run] = name
        if not ASKING.get():
            check_limits(name)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has answered."""
        first = next((generations[0] for generations in response.generations if generations), None)
        reported = read_usage(getattr(getattr(first, "message", None), "usage_metadata", None))
        name, meter = self._names.pop(run_id, "model"), METER.get()
        with self._lock:
            self.usage.count(name, reported)
        if meter is not None and not ASKING.get():
            meter.answered(self._who, name, reported)

    @property
    def listening(self) -> RunnableConfig:
        """A config that adds the counter to the handlers of the current one, and says nothing else."""
        current: RunnableConfig = {"callbacks": ensure_config().get("callbacks")}
        callbacks: BaseCallbackManager | list[Any] | None = merge_configs(current, {"callbacks": [self]}).get(
            "callbacks"
        )
        return {"callbacks": callbacks}


def _named(serialized: dict[str, Any] | None, told: dict[str, Any]) -> str:
    metadata: dict[str, Any] = told.get("metadata") or {}
    parameters: dict[str, Any] = told.get("invocation_params") or {}
    name = metadata.get("ls_model_name") or parameters.get("model_name") or parameters.get("model")
    return str(name or told.get("name") or (serialized or {}).get("name") or "model")
