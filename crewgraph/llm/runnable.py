"""`RunnableModel`: lets an `LLM` be used like a LangChain chat model, alone or in a chain."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from crewgraph.deprecations import warn_deprecated

__all__ = ["RunnableModel"]


_LITELLM = ("LITELLM_SUCCESS_CALLBACKS", "LITELLM_FAILURE_CALLBACKS")


class RunnableModel(ABC):
    """Delegates the methods of a LangChain chat model to `chat_model()`.

        chain = prompt | LLM("openai/gpt-4o") | StrOutputParser()

    Where LangChain or LangGraph require an instance of their own classes, pass `chat_model()`.
    """

    callbacks: list[Any] | None = None

    def set_callbacks(self, callbacks: Sequence[Any]) -> None:
        """Set LangChain callback handlers, replacing those of the same classes."""
        classes: set[type[Any]] = {type(handler) for handler in callbacks}
        self.callbacks = [*(handler for handler in self.callbacks or () if type(handler) not in classes), *callbacks]

    def set_env_callbacks(self) -> None:
        """Warn if environment variables for LiteLLM callbacks are set: they have no effect."""
        if variables := [name for name in _LITELLM if os.environ.get(name)]:
            instead = "give `LLM(..., callbacks=[...])` LangChain handlers"
            warn_deprecated(f"`{'`, `'.join(variables)}` in the environment", instead, by_hand=True)

    @abstractmethod
    def chat_model(self) -> Any:
        """Return the LangChain chat model."""

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Return the answer as a LangChain message."""
        return self.chat_model().invoke(input, config, **options)

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Return the answer as a LangChain message."""
        return await self.chat_model().ainvoke(input, config, **options)

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """Return the answers to several inputs as LangChain messages."""
        return self.chat_model().batch(list(inputs), config, **options)

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return a Runnable: the model with bound tools of any kind."""
        return self.chat_model().bind_tools(tools, **options)

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        """Return a Runnable that produces structured output."""
        return self.chat_model().with_structured_output(schema, **options)

    # LangChain coerces callables to Runnables in `prompt | llm`.
    def __call__(self, input: Any, config: Any = None) -> Any:
        return self.invoke(input, config)

    def __or__(self, following: Any) -> Any:
        return self.chat_model() | following

    def __ror__(self, before: Any) -> Any:
        return before | self.chat_model()
