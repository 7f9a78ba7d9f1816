"""A model of ours where LangChain's are expected: asked as they are, and a part of a chain."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from crewgraph.outdated import tell_outdated

__all__ = ["RunnableModel"]


_LITELLM = ("LITELLM_SUCCESS_CALLBACKS", "LITELLM_FAILURE_CALLBACKS")


class RunnableModel(ABC):
    """What a LangChain chat model does, done by the one that answers for this model.

        chain = prompt | LLM("openai/gpt-4o") | StrOutputParser()

    LangChain and LangGraph themselves want one of their own classes in some places: `chat_model()` is that.
    """

    callbacks: list[Any] | None = None

    def set_callbacks(self, callbacks: Sequence[Any]) -> None:
        """Have LangChain callback handlers told of every request, in the place of those of the same classes."""
        kinds: set[type[Any]] = {type(one) for one in callbacks}
        self.callbacks = [*(one for one in self.callbacks or () if type(one) not in kinds), *callbacks]

    def set_env_callbacks(self) -> None:
        """Tell that variables which name LiteLLM's callbacks have no effect, where they are set."""
        if named := [name for name in _LITELLM if os.environ.get(name)]:
            instead = "give `LLM(..., callbacks=[...])` LangChain handlers"
            tell_outdated(f"`{'`, `'.join(named)}` in the environment", instead, by_hand=True)

    @abstractmethod
    def chat_model(self) -> Any:
        """The LangChain chat model that answers."""

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """The answer, as a LangChain message."""
        return self.chat_model().invoke(input, config, **options)

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """The answer, as a LangChain message."""
        return await self.chat_model().ainvoke(input, config, **options)

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """The answers to several inputs."""
        return self.chat_model().batch(list(inputs), config, **options)

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """A Runnable: the model with tools of any kind."""
        return self.chat_model().bind_tools(tools, **options)

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        """A Runnable: the model that answers in a form."""
        return self.chat_model().with_structured_output(schema, **options)

    # `prompt | llm` makes a step of anything that can be called.
    def __call__(self, input: Any, config: Any = None) -> Any:
        return self.invoke(input, config)

    def __or__(self, following: Any) -> Any:
        return self.chat_model() | following

    def __ror__(self, before: Any) -> Any:
        return before | self.chat_model()
