"""Settings of an `LLM` for providers that do not have them all; the classes have the fields of LangChain's."""

from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic import Field

from crewgraph.llm import connection
from crewgraph.llm.llm import LLM


class Chat(FakeListChatModel):
    responses: list[str] = ["x"]
    model: str = ""
    base_url: str | None = None
    api_key: str | None = None


class ChatAnthropic(Chat):
    stop_sequences: list[str] | None = None
    model_kwargs: dict[str, Any] = Field(default_factory=dict)


class ChatBedrockConverse(Chat):
    streaming: bool = False
    stop_sequences: list[str] | None = None
    additional_model_request_fields: dict[str, Any] | None = None


class ChatGoogleGenerativeAI(Chat):
    reasoning_effort: str | None = None
    thinking_budget: int | None = None
    model_kwargs: dict[str, Any] = Field(default_factory=dict)


class ChatMistralAI(Chat):
    random_seed: int | None = None
    model_kwargs: dict[str, Any] = Field(default_factory=dict)


class ChatLiteLLM(Chat):
    model_kwargs: dict[str, Any] = Field(default_factory=dict)


CLASSES = {
    "anthropic": ChatAnthropic, "bedrock": ChatBedrockConverse, "gemini": ChatGoogleGenerativeAI,
    "litellm": ChatLiteLLM, "mistral": ChatMistralAI,
}  # fmt: skip


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Any:
    def class_of(provider: Any) -> type[Chat]:
        return CLASSES[provider.name]

    def build(name: str, **settings: Any) -> Any:
        return LLM(name, api_key="k", **settings).chat_model()

    monkeypatch.setattr(connection, "_provider_class", class_of)
    return build


def test_a_setting_that_a_provider_does_not_have_is_left_out_with_a_warning(
    built: Any, caplog: pytest.LogCaptureFixture
):
    settings: dict[str, Any] = {"seed": 7, "presence_penalty": 0.1, "logit_bias": {1: 2}, "n": 1, "max_retries": 2}
    assert built("anthropic/claude-x", **settings).model_kwargs == {}
    assert "LLM('claude-x'): `seed` is left out, because `ChatAnthropic` does not send it" in caplog.text
    assert [name for name in settings if f"`{name}`" in caplog.text] == ["seed", "presence_penalty", "logit_bias"]
    assert built("bedrock/us.anthropic.claude-x", **settings).additional_model_request_fields is None
    assert built("gemini/gemini-x", **settings).model_kwargs == {}


def test_drop_params_leaves_settings_out_without_a_warning(built: Any, caplog: pytest.LogCaptureFixture):
    assert built("anthropic/claude-x", drop_params=True, seed=7).model_kwargs == {}
    assert built("litellm/x/y", drop_params=True, seed=7).model_kwargs == {"drop_params": True, "seed": 7}
    assert caplog.text == ""


def test_unknown_keywords_are_sent_where_the_provider_takes_them(built: Any):
    body = built("anthropic/claude-x", mystery=1, extra_body={"more": 2}, model_kwargs={"extra_body": {"own": 3}})
    assert body.model_kwargs == {"extra_body": {"mystery": 1, "more": 2, "own": 3}}
    assert built("bedrock/x", top_k=5).additional_model_request_fields == {"top_k": 5}
    assert built("mistral/x", mystery=1).model_kwargs == {"mystery": 1}


def test_a_keyword_that_gemini_would_lose_is_named(built: Any, caplog: pytest.LogCaptureFixture):
    assert built("gemini/gemini-x", mystery=1).model_kwargs == {}
    assert "`mystery` is left out, because `ChatGoogleGenerativeAI` does not send it" in caplog.text


def test_mistral_has_penalties_without_a_field_and_another_name_for_the_seed(built: Any):
    model = built("mistral/x", seed=7, presence_penalty=0.1, logprobs=True)
    assert (model.random_seed, model.model_kwargs) == (7, {"presence_penalty": 0.1})


@pytest.mark.parametrize(
    ("name", "effort", "budget"), [("gemini-2.5-flash", None, 1024), ("gemini-3-pro-preview", "low", None)]
)
def test_gemini_thinks_as_long_as_its_generation_can_be_told(built: Any, name: str, effort: str | None, budget: Any):
    model = built(f"gemini/{name}", reasoning_effort="low")
    assert (model.reasoning_effort, model.thinking_budget) == (effort, budget)


def test_litellm_is_told_the_effort_and_knows_what_each_generation_takes(built: Any):
    assert built("litellm/gemini/gemini-2.5-flash", reasoning_effort="low").model_kwargs == {"reasoning_effort": "low"}


@pytest.mark.parametrize("name", ["anthropic/claude-x", "bedrock/us.anthropic.claude-x"])
def test_stop_words_of_white_space_are_kept_from_providers_that_reject_them(built: Any, name: str):
    llm = LLM(name, api_key="k", stop=["END", "\n"])
    assert llm.chat_model().stop_sequences == ["END"]
    llm.chat_model().responses = ["first\nsecond"]
    assert llm.call("x") == "first"


@pytest.mark.parametrize("name", ["anthropic/claude-x", "bedrock/us.anthropic.claude-x"])
def test_a_format_of_any_json_is_left_out_where_there_is_none(built: Any, name: str, caplog: pytest.LogCaptureFixture):
    llm = LLM(name, api_key="k", response_format={"type": "json_object"})
    assert llm.call("x") == "x"
    assert "`response_format={'type': 'json_object'}` is left out" in caplog.text
