"""What each process with a model does once, done before others are forked from it."""

import asyncio
import contextlib

__all__ = ["rehearse_request"]


def rehearse_request() -> None:
    """Import what a first request to a model imports, and build the schemas of its reply; nothing answers the request."""
    from langchain_openai import ChatOpenAI  # not sooner: the import changes the filters of warnings
    from openai import APIConnectionError
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from pydantic import SecretStr

    model = ChatOpenAI(model="none", api_key=SecretStr("none"), base_url="http://127.0.0.1:9", max_retries=0)
    with contextlib.suppress(APIConnectionError):
        model.invoke("")
    with contextlib.suppress(APIConnectionError):
        asyncio.run(model.ainvoke(""))
    for schema in (ChatCompletion, ChatCompletionChunk):
        schema.model_rebuild()
