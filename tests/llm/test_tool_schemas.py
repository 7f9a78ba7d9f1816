"""Parameters of tools as the models of Google and Ollama take them; the classes have the names of LangChain's."""

import json
from collections.abc import Callable
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal

import pytest
from langchain_core.language_models import FakeListChatModel
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, crew, task

from crewgraph.core.messages import ToolSpec
from crewgraph.llm.resolve import as_model
from crewgraph.llm.schemas import tools_for
from crewgraph.schema import json_schema
from crewgraph.tools import tool


class ChatGoogleGenerativeAI(FakeListChatModel):
    responses: list[str] = ["x"]
    bound: list[Any] = []

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.bound[:] = tools
        return self


class ChatOllama(ChatGoogleGenerativeAI):
    pass


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Port(BaseModel):
    """A harbour."""

    name: str
    size: Size = Size.SMALL


class Args(BaseModel):
    port: Port
    kind: Literal["tide"] = "tide"
    hours: Literal[6, 12] = 6
    pair: tuple[int, str] = (1, "a")
    maybe: int | None = None
    either: int | str = 1
    table: dict[str, int] = {}
    things: list[Any] = []


def sent(model: ChatGoogleGenerativeAI) -> dict[str, Any]:
    spec: ToolSpec = {"name": "tides", "description": "", "parameters": json_schema(Args)}
    as_model(model).complete([{"role": "user", "content": "x"}], [spec], (), {})
    return model.bound[0]["function"]["parameters"]["properties"]


def test_google_gets_enums_of_texts_and_arrays_with_items():
    fields = sent(ChatGoogleGenerativeAI())
    assert fields["kind"]["enum"] == ["tide"]
    assert "enum" not in fields["hours"]
    assert fields["hours"]["description"] == "One of: 6, 12"
    assert fields["port"]["properties"]["size"]["description"] == "One of: 1, 2"
    assert fields["pair"]["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert fields["things"]["items"] == {}
    assert fields["maybe"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]


def test_google_gets_one_type_for_each_choice():
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": ["integer", "null"]}, "b": {"enum": [""]}}}
    spec: ToolSpec = {"name": "f", "description": "", "parameters": schema}
    (tool,) = tools_for(ChatGoogleGenerativeAI(), [spec])
    assert tool["parameters"]["properties"]["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert tool["parameters"]["properties"]["b"] == {"description": 'One of: ""'}
    assert schema["properties"]["a"] == {"type": ["integer", "null"]}


def test_ollama_reads_in_the_description_what_its_client_drops():
    fields = sent(ChatOllama())
    assert fields["maybe"]["type"] == "integer"
    assert fields["either"]["type"] == ["integer", "string"]
    text = fields["port"]["description"]
    assert text.startswith('A harbour.\nJSON schema: {"')
    described = json.loads(text.partition("JSON schema: ")[2])
    assert described["properties"]["name"] == {"type": "string"}
    assert described["required"] == ["name"]
    assert '"additionalProperties": {"type": "integer"}' in fields["table"]["description"]
    assert fields["hours"] == {"default": 6, "enum": [6, 12], "type": "integer"}


def test_other_models_get_schemas_unchanged():
    spec: ToolSpec = {"name": "tides", "description": "", "parameters": json_schema(Args)}
    assert tools_for(FakeListChatModel(responses=[]), [spec]) == [spec]


# --------------------------------------------------------------------------------------------------- tool calls
class Wire(BaseHTTPRequestHandler):
    """Asks for the depth at Brest in the wire format that the path shows, then says that it is done."""

    asked: list[Any] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.asked.append(body)
        kind = next(name for name in _REPLIES if name in self.path)
        reply = json.dumps(_REPLIES[kind](len(self.asked) == 1)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the output clean."""


ARGS: Any = {"place": "Brest"}
FUNCTION: Any = {"name": "depth", "arguments": json.dumps(ARGS)}


def _openai(calls: bool) -> Any:
    made = [{"id": "call12345", "type": "function", "function": FUNCTION}]
    message = (
        {"role": "assistant", "content": "", "tool_calls": made} if calls else {"role": "assistant", "content": "done"}
    )
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def _anthropic(calls: bool) -> Any:
    block = (
        {"type": "tool_use", "id": "c", "name": "depth", "input": ARGS} if calls else {"type": "text", "text": "done"}
    )
    about = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return {**about, "content": [block], "stop_reason": "tool_use" if calls else "end_turn"}


def _google(calls: bool) -> Any:
    part: Any = {"functionCall": {"name": "depth", "args": ARGS}} if calls else {"text": "done"}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}


def _bedrock(calls: bool) -> Any:
    block: Any = {"toolUse": {"toolUseId": "c", "name": "depth", "input": ARGS}} if calls else {"text": "done"}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    said = {"message": {"role": "assistant", "content": [block]}}
    return {
        "output": said,
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }


def _ollama(calls: bool) -> Any:
    message: Any = {"role": "assistant", "content": "" if calls else "done"}
    if calls:
        message["tool_calls"] = [{"function": {"name": "depth", "arguments": ARGS}}]
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True, "done_reason": "stop"}


def _cohere(calls: bool) -> Any:
    made = [{"id": "c", "type": "function", "function": FUNCTION}]
    message: Any = {
        "role": "assistant",
        **({"tool_calls": made} if calls else {"content": [{"type": "text", "text": "done"}]}),
    }
    return {"id": "1", "finish_reason": "TOOL_CALL" if calls else "COMPLETE", "message": message}


_REPLIES: dict[str, Callable[[bool], Any]] = {
    "completions": _openai,
    "messages": _anthropic,
    "generateContent": _google,
    "converse": _bedrock,
    "api/chat": _ollama,
    "v2/chat": _cohere,
}


@tool
def depth(place: str) -> str:
    """Say how deep it is."""
    return f"12 m at {place}"


@pytest.mark.parametrize(
    ("module", "name", "settings"),
    [
        ("langchain_anthropic", "ChatAnthropic", {"api_key": "k", "base_url": ""}),
        ("langchain_aws", "ChatBedrockConverse", {"region_name": "eu-west-1", "endpoint_url": ""}),
        ("langchain_cohere", "ChatCohere", {"cohere_api_key": "k", "base_url": ""}),
        ("langchain_google_genai", "ChatGoogleGenerativeAI", {"api_key": "k", "base_url": ""}),
        ("langchain_groq", "ChatGroq", {"api_key": "k", "base_url": ""}),
        ("langchain_huggingface", "ChatHuggingFace", {"huggingfacehub_api_token": "k", "endpoint_url": ""}),
        ("langchain_mistralai", "ChatMistralAI", {"api_key": "k", "base_url": ""}),
        ("langchain_ollama", "ChatOllama", {"base_url": ""}),
        ("langchain_openai", "ChatOpenAI", {"api_key": "k", "base_url": ""}),
    ],
)
def test_an_agent_calls_a_tool_in_the_wire_format_of_each_provider(
    module: str, name: str, settings: dict[str, Any], mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    installed = pytest.importorskip(module)
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "k")
    Wire.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Wire) as server:
        Thread(target=server.serve_forever).start()
        try:
            given = {key: value or f"http://127.0.0.1:{server.server_port}" for key, value in settings.items()}
            if name == "ChatHuggingFace":
                given = {"model_id": "m", "llm": installed.HuggingFaceEndpoint(**given)}
            model = getattr(installed, name)(model="m", **given)
            assert mode.kickoff(crew(task("look", agent(model, tools=[depth])))).raw == "done"
        finally:
            server.shutdown()
    asked, answered = Wire.asked
    assert as_model(model).native_tools
    assert '"place"' in asked and "12 m at Brest" not in asked and "12 m at Brest" in answered
