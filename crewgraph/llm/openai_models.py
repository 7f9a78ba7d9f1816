"""Subclasses of LangChain's OpenAI models: with chained responses, and with the fields that a provider wants back.

The methods that they extend are those that LangChain's own packages for other providers extend.
"""

from functools import cache, partial
from typing import Any, cast
from urllib.parse import urlsplit

from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import Field

from crewgraph.llm.provider_fields import KEY, add_fields, read_part
from crewgraph.llm.responses import Responses
from crewgraph.schema import PlainDict

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


class _Keeping:
    """Keeps the provider's fields of an answer in `additional_kwargs`, and sends those of earlier answers back."""

    def _get_request_payload(self: Any, input_: Any, *, stop: list[str] | None = None, **kwargs: object) -> PlainDict:
        payload = super()._get_request_payload(input_, stop=stop, **kwargs)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        entries: list[PlainDict] = cast("PlainDict", payload).get("messages") or []
        messages = cast("list[Any]", input_)
        if isinstance(input_, list) and len(messages) == len(entries):
            extras = [message.additional_kwargs for message in messages]
            add_fields(entries, extras, self.model_name, partial(_origin, self))
        return cast("PlainDict", payload)

    def _create_chat_result(self: Any, response: Any, generation_info: PlainDict | None = None) -> Any:
        result: Any = super()._create_chat_result(response, generation_info)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        choices = response["choices"] if isinstance(response, dict) else response.choices
        for generation, choice in zip(result.generations, cast("list[Any]", choices), strict=False):
            message = choice["message"] if isinstance(choice, dict) else choice.message
            _keep(self, generation, message)
        return result

    def _convert_chunk_to_generation_chunk(
        self: Any, chunk: PlainDict, default_chunk_class: type, base_generation_info: PlainDict | None
    ) -> Any:
        converted: Any = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        choices: list[PlainDict] = chunk.get("choices") or (chunk.get("chunk") or {}).get("choices") or []
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
    return type(model)(model.__name__, (_Keeping, model), {"__module__": model.__module__, "__doc__": model.__doc__})
