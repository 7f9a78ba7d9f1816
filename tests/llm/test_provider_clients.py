"""What is asked of LangChain's models beyond their own ways: odd arguments of tools, and traces without secrets."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from servers.openai_api import Answer, OpenAIServer, Script

from crewgraph import LLM

Serve = Callable[[Script | None], OpenAIServer]
ASKED: list[Any] = [{"role": "user", "content": "Which?"}]


def answered(mode: str, model: Any, config: RunnableConfig) -> Any:
    return (
        asyncio.run(model.acomplete(ASKED, (), (), config))
        if mode == "async"
        else model.complete(ASKED, (), (), config)
    )


@pytest.mark.parametrize("arguments", ["[1, 2]", '"spring"', "7", "true", "not JSON"])
def test_arguments_that_are_no_object_are_the_text_that_the_model_wrote(serve: Serve, mode: str, arguments: str):
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "Hm."}
    body = {"id": "r", "model": "test", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    server = serve([Answer(body=json.dumps(body).encode())])
    reply = answered(mode, LLM("openai/test", base_url=server.url, api_key="k").adapter(), {})
    assert reply["tool_calls"] == [{"id": "c", "name": "look", "args": arguments}]
    assert reply["extra"]["provider_fields"]["message"] == {"reasoning_content": "Hm."}
    assert len(server.requests) == 1


def test_a_traced_request_shows_what_was_asked_and_answered_and_no_secrets(serve: Serve, mode: str):
    seen = RunCollectorCallbackHandler()
    headers = {"X-Team-Key": "quiet-harbour-9"}
    model = LLM("openai/test", base_url=serve(["Neap."]).url, api_key="k", extra_headers=headers).adapter()
    answered(mode, model, {"callbacks": [seen]})
    (run,) = seen.traced_runs
    assert "Which?" in json.dumps(run.inputs, default=str)
    assert "Neap." in json.dumps(run.outputs, default=str)
    shown = json.dumps([run.serialized, run.extra], default=str)
    assert "quiet-harbour-9" not in shown
    assert "default_headers" in shown
