"""HTTP interceptors."""

import asyncio
from typing import Any

import httpx
from modes import Mode
from servers.openai_api import OpenAIServer

from crewgraph import LLM
from crewgraph.llm.connection import BaseInterceptor
from crewgraph.llm.transport import AsyncHTTPTransport, HTTPTransport


class Stamp(BaseInterceptor[Any, Any]):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_outbound(self, message: Any) -> Any:
        message.headers["x-stamp"] = "harbour"
        self.seen.append(message.url.path)
        return message

    def on_inbound(self, message: Any) -> Any:
        self.seen.append(message.status_code)
        return message


def test_an_interceptor_sees_and_changes_requests_and_responses(mode: Mode):
    with OpenAIServer(["one", "two"]) as server:
        llm = LLM("openai/gpt-4o", base_url=server.url, api_key="key", interceptor=(stamp := Stamp()))
        for expected in ("one", "two"):
            answer = asyncio.run(llm.acall("Hi")) if mode.asynchronous else llm.call("Hi")
            assert answer == expected
    assert stamp.seen == ["/v1/chat/completions", 200] * 2
    assert [request.headers["x-stamp"] for request in server.requests] == ["harbour"] * 2


def test_the_transports_replace_those_of_httpx():
    stamp = Stamp()
    with OpenAIServer(["one", "two"]) as server:
        body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}]}
        key = {"Authorization": "Bearer key"}
        with httpx.Client(transport=HTTPTransport(stamp)) as client:
            assert client.post(f"{server.url}/chat/completions", json=body, headers=key).status_code == 200

        async def post() -> int:
            async with httpx.AsyncClient(transport=AsyncHTTPTransport(interceptor=stamp)) as client:
                return (await client.post(f"{server.url}/chat/completions", json=body, headers=key)).status_code

        assert asyncio.run(post()) == 200
    assert stamp.seen == ["/v1/chat/completions", 200] * 2
