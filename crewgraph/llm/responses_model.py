"""LangChain's OpenAI models with chained responses; imported only when the Responses API is used."""

from typing import Any, cast

from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import Field

from crewgraph.llm.responses import Responses
from crewgraph.schema import PlainDict

__all__ = ["chaining_class"]


class _Chaining(BaseChatOpenAI):
    responses: Responses = Field(exclude=True)

    def _get_request_payload(
        self, input_: Any, *, stop: list[str] | None = None, **kwargs: object
    ) -> dict[str, object]:
        payload = cast("PlainDict", super()._get_request_payload(input_, stop=stop, **kwargs))
        return self.responses.extend_payload(payload)


class _ChainedChatOpenAI(_Chaining, ChatOpenAI):
    """OpenAI's model with chained responses."""


class _ChainedAzure(_Chaining, AzureChatOpenAI):
    """Azure's model with chained responses."""


def chaining_class(model: type[BaseChatOpenAI]) -> type[BaseChatOpenAI]:
    """Return the subclass of a model class whose requests continue the previous response."""
    return _ChainedAzure if issubclass(model, AzureChatOpenAI) else _ChainedChatOpenAI
