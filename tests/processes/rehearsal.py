"""What each process with a model does once, done before others are forked from it."""

import asyncio
import contextlib

__all__ = ["rehearse_request"]


def rehearse_request() -> None:
    """Import what a first request to a model imports, and build the schemas of its reply; nothing answers the request.

    OpenAI's clients make it, as LangChain's would remember whether the environment asks for traces.
    """
    from langchain_openai import ChatOpenAI  # not sooner: the import changes the filters of warnings
    from openai import APIConnectionError, AsyncOpenAI, OpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from pydantic import SecretStr

    address = "http://127.0.0.1:9"
    ChatOpenAI(model="none", api_key=SecretStr("none"), base_url=address)
    with contextlib.suppress(APIConnectionError), OpenAI(api_key="none", base_url=address, max_retries=0) as client:
        client.chat.completions.create(model="none", messages=[])

    async def request() -> None:
        async with AsyncOpenAI(api_key="none", base_url=address, max_retries=0) as client:
            await client.chat.completions.create(model="none", messages=[])

    with contextlib.suppress(APIConnectionError):
        asyncio.run(request())
    for schema in (ChatCompletion, ChatCompletionChunk):
        schema.model_rebuild()
