"""HTTP interceptors."""

import asyncio
from typing import Any

from modes import Mode
from servers.openai_api import OpenAIServer

from crewgraph import LLM
from crewgraph.llm.connection import BaseInterceptor


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
