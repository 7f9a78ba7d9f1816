"""Parameters of tools as the models of Google and Ollama take them; the classes have the names of LangChain's."""

import json
from enum import Enum
from typing import Any, Literal

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic import BaseModel

from crewgraph.core.messages import ToolSpec
from crewgraph.llm.resolve import as_model
from crewgraph.llm.schemas import tools_for
from crewgraph.schema import json_schema


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


@pytest.mark.parametrize(
    ("module", "name", "settings"),
    [
        ("langchain_anthropic", "ChatAnthropic", {"api_key": "k"}),
        ("langchain_aws", "ChatBedrockConverse", {"region_name": "eu-west-1"}),
        ("langchain_cohere", "ChatCohere", {"cohere_api_key": "k"}),
        ("langchain_google_genai", "ChatGoogleGenerativeAI", {"api_key": "k"}),
        ("langchain_groq", "ChatGroq", {"api_key": "k"}),
        ("langchain_litellm", "ChatLiteLLM", {}),
        ("langchain_mistralai", "ChatMistralAI", {"api_key": "k"}),
        ("langchain_ollama", "ChatOllama", {}),
        ("langchain_openai", "ChatOpenAI", {"api_key": "k"}),
    ],
)
def test_each_provider_takes_tools(module: str, name: str, settings: dict[str, Any]):
    model = getattr(pytest.importorskip(module), name)(model="m", **settings)
    assert as_model(model).native_tools
