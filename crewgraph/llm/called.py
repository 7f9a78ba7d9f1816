"""Anything that users give as `llm`, as something to `call`."""

from typing import Any

from crewgraph.core.protocols import Model
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.llm.resolve import as_model, default_llm, llm_named

__all__ = ["as_llm"]


def as_llm(llm: Any) -> Any:
    """An object with `call(messages)`: the given one itself where it has that.

    Raises:
        ModelError: it is no language model; see `as_model`.
        NoModelError: it is None, and the environment names no model.
    """
    if llm is None:
        return default_llm()
    found = llm_named(llm)
    return found if callable(getattr(found, "call", None)) else _Called(as_model(found))


class _Called(BaseLLM):
    """A model that has no `call` of its own, as a LangChain chat model."""

    def __init__(self, asked: Model) -> None:
        super().__init__(asked.name)
        self._asked = asked

    def call(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str:
        """The text of the answer."""
        reply = self._asked.complete(read_messages(messages), (), (), {})
        self._track_token_usage_internal(reply["usage"] or {})
        return text_of(reply["content"])
