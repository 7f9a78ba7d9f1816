"""Subclasses of LangChain's OpenAI models: with chained responses, and with the fields that a provider wants back.

The methods that they extend are those that LangChain's own packages for other providers extend.
"""

from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import Field

from crewgraph.llm.provider_fields import KEY, add_fields, read_part
from crewgraph.llm.responses import Responses
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    _Model = BaseChatOpenAI
else:
    _Model = object  # it stands before the model's own class, whichever that is

__all__ = ["chaining_class", "keeping_class"]


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


class _Keeping(_Model):
    """Keeps the provider's fields of an answer in `additional_kwargs`, and sends those of earlier answers back."""

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> PlainDict:
        payload = cast("PlainDict", super()._get_request_payload(input_, stop=stop, **kwargs))
        entries: list[PlainDict] = payload.get("messages") or []
        messages = cast("list[Any]", input_)
        if isinstance(input_, list) and len(messages) == len(entries):
            extras = [message.additional_kwargs for message in messages]
            add_fields(entries, extras, self.model_name, partial(_origin, self))
        return payload

    def _create_chat_result(self, response: Any, generation_info: PlainDict | None = None) -> Any:
        result: Any = super()._create_chat_result(response, generation_info)
        is_plain = isinstance(response, dict)
        choices = cast("list[Any]", cast("PlainDict", response)["choices"] if is_plain else response.choices)
        for generation, choice in zip(result.generations, choices, strict=False):
            _keep(self, generation, cast("PlainDict", choice)["message"] if is_plain else choice.message)
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: PlainDict, default_chunk_class: type, base_generation_info: PlainDict | None
    ) -> Any:
        converted: Any = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        nested: PlainDict = chunk.get("chunk") or {}
        choices: list[PlainDict] = chunk.get("choices") or nested.get("choices") or []
        if converted is not None and choices:
            _keep(self, converted, choices[0]["delta"])
        return converted


def _keep(model: Any, generation: Any, message: object) -> None:
    if (part := read_part(message)) is not None:
        generation.message.additional_kwargs[KEY] = [{"from": [*_origin(model)], **part}]


def _origin(model: Any) -> tuple[str, str]:
    client = model.root_client or model.root_async_client
    return model.model_name, urlsplit(str(client.base_url)).netloc


@cache
def keeping_class(model: type[BaseChatOpenAI]) -> type[BaseChatOpenAI]:
    """Return the subclass of a model class that keeps the fields that a provider wants back; it has the same name."""
    kind: Any = type(model)
    return kind(model.__name__, (_Keeping, model), {"__module__": model.__module__, "__doc__": model.__doc__})
