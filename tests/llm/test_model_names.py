"""Model names, providers and environment variables; no request is sent."""

import re
import sys
from typing import Any

import pytest

from crewgraph.deprecations import Outdated
from crewgraph.errors import MissingExtra, ModelError, NoModelError
from crewgraph.llm.errors import MissingKey, UnknownModel
from crewgraph.llm.llm import LLM
from crewgraph.llm.providers import PROVIDERS, locate
from crewgraph.llm.resolve import as_model, default_llm


@pytest.mark.parametrize(
    ("full_name", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("chatgpt-4o-latest", "openai", "chatgpt-4o-latest"),
        ("o1", "openai", "o1"),
        ("o3-mini", "openai", "o3-mini"),
        ("o4-mini", "openai", "o4-mini"),
        ("ft:gpt-4o:org::id", "openai", "ft:gpt-4o:org::id"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("OpenAI/gpt-4o", "openai", "gpt-4o"),
        ("openai/meta/llama", "openai", "meta/llama"),
        ("openai/google/gemma-3", "openai", "google/gemma-3"),
        ("azure/my-deployment", "azure", "my-deployment"),
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("anthropic/claude-3-5-haiku-latest", "anthropic", "claude-3-5-haiku-latest"),
        ("gemini-2.0-flash", "gemini", "gemini-2.0-flash"),
        ("gemini/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("google/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("vertex_ai/gemini-2.5-pro", "vertex_ai", "gemini-2.5-pro"),
        (
            "bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0",
            "bedrock",
            "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
        ),
        ("bedrock/converse/amazon.nova-pro-v1:0", "bedrock", "amazon.nova-pro-v1:0"),
        ("ollama/llama3.2:3b", "ollama", "llama3.2:3b"),
        ("ollama_chat/llama3", "ollama", "llama3"),
        ("groq/llama-3.3-70b-versatile", "groq", "llama-3.3-70b-versatile"),
        ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("mistral/mistral-large-latest", "mistral", "mistral-large-latest"),
        ("together_ai/meta-llama/Llama-3-70b", "together_ai", "meta-llama/Llama-3-70b"),
        ("deepseek/deepseek-chat", "deepseek", "deepseek-chat"),
        ("openrouter/deepseek/deepseek-r1", "openrouter", "deepseek/deepseek-r1"),
        ("perplexity/sonar-pro", "perplexity", "sonar-pro"),
        ("fireworks_ai/llama-v3p1-8b", "fireworks_ai", "accounts/fireworks/models/llama-v3p1-8b"),
        ("xai/grok-4", "xai", "grok-4"),
        ("cerebras/llama3.1-8b", "cerebras", "llama3.1-8b"),
        ("sambanova/Meta-Llama-3.1-8B", "sambanova", "Meta-Llama-3.1-8B"),
        ("nvidia_nim/meta/llama3-70b-instruct", "nvidia_nim", "meta/llama3-70b-instruct"),
        ("hosted_vllm/my/model", "hosted_vllm", "my/model"),
        ("lm_studio/qwen", "lm_studio", "qwen"),
        ("huggingface/meta-llama/Llama-3.1-8B", "huggingface", "meta-llama/Llama-3.1-8B"),
        ("huggingface/together/deepseek-ai/DeepSeek-R1", "huggingface", "deepseek-ai/DeepSeek-R1:together"),
        ("watsonx/ibm/granite", "watsonx", "ibm/granite"),
        ("cohere/command-r", "cohere", "command-r"),
        ("litellm/replicate/llama", "litellm", "replicate/llama"),
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("azure_ai:Phi-4", "azure_ai", "Phi-4"),
        ("azure_openai:my-deployment", "azure", "my-deployment"),
        ("bedrock:anthropic.claude-3:0", "bedrock", "anthropic.claude-3:0"),
        ("bedrock_converse:amazon.nova-pro-v1:0", "bedrock", "amazon.nova-pro-v1:0"),
        ("cohere:command-r", "cohere", "command-r"),
        ("deepseek:deepseek-chat", "deepseek", "deepseek-chat"),
        ("fireworks:llama-v3p1-8b", "fireworks_ai", "accounts/fireworks/models/llama-v3p1-8b"),
        ("google_genai:gemini-3-pro", "gemini", "gemini-3-pro"),
        ("google_vertexai:gemini-2.5-pro", "vertex_ai", "gemini-2.5-pro"),
        ("groq:openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("huggingface:meta-llama/Llama-3.1-8B", "huggingface", "meta-llama/Llama-3.1-8B"),
        ("ibm:ibm/granite", "watsonx", "ibm/granite"),
        ("litellm:replicate/llama", "litellm", "replicate/llama"),
        ("mistralai:mistral-large-latest", "mistral", "mistral-large-latest"),
        ("nvidia:meta/llama3-70b-instruct", "nvidia_nim", "meta/llama3-70b-instruct"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("openai:ft:gpt-4o:org", "openai", "ft:gpt-4o:org"),
        ("openrouter:deepseek/deepseek-r1:free", "openrouter", "deepseek/deepseek-r1:free"),
        ("perplexity:sonar-pro", "perplexity", "sonar-pro"),
        ("together:meta-llama/Llama-3-70b", "together_ai", "meta-llama/Llama-3-70b"),
        ("xai:grok-4", "xai", "grok-4"),
    ],
)
def test_names_resolve_to_provider_and_model(full_name: str, provider: str, model: str):
    target = locate(full_name)
    assert (target.provider.name, target.model) == (provider, model)


@pytest.mark.parametrize(
    ("full_name", "keywords", "environment", "address", "model"),
    [
        ("gpt-4o", {}, {"OPENAI_API_KEY": "k"}, None, "gpt-4o"),
        ("gpt-4o", {}, {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://a/v1"}, "http://a/v1", "gpt-4o"),
        ("gpt-4o", {}, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://b/v1/"}, "http://b/v1", "gpt-4o"),
        ("gpt-4o", {"base_url": "http://c/v1"}, {"OPENAI_API_BASE": "http://a/v1"}, "http://c/v1", "gpt-4o"),
        ("gpt-4o", {"api_base": "http://c/v1"}, {}, "http://c/v1", "gpt-4o"),
        ("my-own-model", {"base_url": "http://c/v1"}, {}, "http://c/v1", "my-own-model"),
        ("org/my-own-model", {"base_url": "http://c/v1"}, {}, "http://c/v1", "org/my-own-model"),
        ("my-own-model", {}, {"OPENAI_BASE_URL": "http://b/v1"}, "http://b/v1", "my-own-model"),
        ("llama", {"provider": "groq", "api_key": "k"}, {}, "https://api.groq.com/openai/v1", "llama"),
        ("groq/llama", {}, {"GROQ_API_KEY": "k"}, "https://api.groq.com/openai/v1", "llama"),
        ("openrouter/a/b", {}, {"OPENROUTER_API_KEY": "k"}, "https://openrouter.ai/api/v1", "a/b"),
        ("together/a/b", {}, {"TOGETHER_API_KEY": "k"}, "https://api.together.xyz/v1", "a/b"),
        ("deepseek/deepseek-chat", {"api_key": "k"}, {}, "https://api.deepseek.com/v1", "deepseek-chat"),
        ("lm_studio/qwen", {}, {}, "http://localhost:1234/v1", "qwen"),
        ("hosted_vllm/a/b", {"base_url": "http://gpu:8000/v1"}, {}, "http://gpu:8000/v1", "a/b"),
    ],
)
def test_a_host_that_speaks_openais_protocol_needs_no_package(
    monkeypatch: pytest.MonkeyPatch,
    full_name: str,
    keywords: dict[str, Any],
    environment: dict[str, str],
    address: str | None,
    model: str,
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    built = LLM(full_name, **keywords).chat_model()
    assert type(built).__name__ == "ChatOpenAI"
    assert (built.openai_api_base, built.model_name) == (address, model)


@pytest.mark.parametrize(
    ("words", "environment", "address"),
    [
        ({}, {}, "http://localhost:11434/v1"),
        ({"base_url": "http://box:11434"}, {"OLLAMA_HOST": "other"}, "http://box:11434/v1"),
        ({"base_url": "http://box:11434/v1/"}, {}, "http://box:11434/v1"),
        ({}, {"OLLAMA_HOST": "0.0.0.0:5000"}, "http://127.0.0.1:5000/v1"),
        ({}, {"OLLAMA_HOST": "box"}, "http://box:11434/v1"),
        ({}, {"API_BASE": "http://box:9"}, "http://box:9/v1"),
        ({}, {"OLLAMA_API_BASE": "https://ollama.example"}, "https://ollama.example/v1"),
    ],
)
def test_ollama_uses_openais_protocol_without_its_package(
    monkeypatch: pytest.MonkeyPatch, words: dict[str, Any], environment: dict[str, str], address: str
):
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    built = LLM("ollama/llama3.2", **words).chat_model()
    assert (built.openai_api_base, built.model_name) == (address, "llama3.2")


def test_azure_takes_an_endpoint_a_deployment_path_or_its_openai_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_API_KEY", "k")
    built = LLM("azure/gpt-4o", base_url="https://x.openai.azure.com/", api_version="2025-01-01").chat_model()
    assert type(built).__name__ == "AzureChatOpenAI"
    assert (built.azure_endpoint, built.deployment_name, built.openai_api_version) == (
        "https://x.openai.azure.com",
        "gpt-4o",
        "2025-01-01",
    )
    path = "https://x.openai.azure.com/openai/deployments/mine"
    with pytest.warns(Outdated, match="`azure=True` of an LLM"):
        named = LLM("gpt-4o", azure=True, base_url=path)
    assert named.chat_model().deployment_name == "mine"
    monkeypatch.setenv("AZURE_API_BASE", "https://x.openai.azure.com/openai/v1")
    assert LLM("azure/gpt-4o").chat_model().openai_api_base == "https://x.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    ("full_name", "module", "line"),
    [
        ("anthropic/claude-x", "langchain_anthropic", 'pip install "crewgraph[anthropic]"'),
        ("gemini/gemini-x", "langchain_google_genai", 'pip install "crewgraph[google]"'),
        ("vertex_ai/gemini-x", "langchain_google_genai", 'pip install "crewgraph[google]"'),
        ("mistral/mistral-x", "langchain_mistralai", 'pip install "crewgraph[mistral]"'),
        ("litellm/replicate/x", "langchain_litellm", 'pip install "crewgraph[litellm]"'),
        ("bedrock/anthropic.claude-x", "langchain_aws", "pip install langchain-aws"),
    ],
)
def test_a_missing_package_is_reported_with_the_pip_command(
    full_name: str, module: str, line: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"needs the package") as caught:
        LLM(full_name, api_key="k").chat_model()
    assert line in str(caught.value)


@pytest.mark.parametrize("provider", [p for p in PROVIDERS.values() if p.key_needed], ids=lambda p: p.name)
def test_a_missing_key_names_the_variable_before_any_request(provider: Any):
    llm = LLM("some-model", provider=provider.name)
    if provider.base_url is None and provider.name in {"azure", "azure_ai", "watsonx", "databricks"}:
        with pytest.raises(UnknownModel, match=provider.base_variables.split()[0]):
            llm.chat_model()
        llm = LLM("some-model", provider=provider.name, base_url="http://127.0.0.1:1")
    with pytest.raises(MissingKey, match=provider.key_variables.split()[0]) as caught:
        llm.chat_model()
    assert isinstance(caught.value, ValueError)


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(UnknownModel, match="`mystery` is unknown") as caught:
        as_model("mystery")
    assert "openrouter" in str(caught.value)
    assert "base_url" in str(caught.value)
    for written, remedy in (
        ("antropic/claude", "Did you mean `anthropic`?"),
        ("Olama/llama", "Did you mean `ollama`?"),
        ("ollama", "Write `ollama/<model>`:"),
        ("mystery", "Put it in front of the name: `<provider>/mystery`."),
    ):
        with pytest.raises(UnknownModel, match=re.escape(f"`{written}` is unknown. {remedy}")):
            as_model(written)
    with pytest.raises(UnknownModel, match="`nobody` is not a known provider"):
        LLM("x", provider="nobody").chat_model()
    with pytest.raises(ModelError, match="An empty string is not a language model"):
        as_model("")


@pytest.mark.parametrize(
    ("name", "keywords", "warned"),
    [
        ("opnai/gpt-4o", {}, True),
        ("my-own-model", {}, False),
        ("openai/org/model", {}, False),
        ("org/model", {"base_url": "http://c/v1"}, False),
        ("org/model", {"provider": "openai"}, False),
    ],
)
def test_a_prefix_that_is_no_provider_is_named_when_the_environment_names_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, keywords: dict[str, Any], warned: bool
):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://b/v1")
    assert LLM(name, **keywords).provider == "openai"
    assert ("`opnai` is not a known provider" in caplog.text) is warned
    assert ("openai/opnai/gpt-4o" in caplog.text) is warned


def test_no_key_and_no_model_lists_the_choices_in_order():
    with pytest.raises(NoModelError) as caught:
        as_model(None)
    text = str(caught.value)
    places = [text.index(word) for word in ("OPENAI_API_KEY", "ollama/", "base_url", "LangChain", "ScriptedLLM")]
    assert places == sorted(places)
    assert isinstance(caught.value, ValueError)


def test_the_environment_names_the_default_model(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert default_llm().model == "gpt-4.1-mini"
    monkeypatch.setenv("OPENAI_MODEL_NAME", "gpt-4o")
    assert default_llm().model == "gpt-4o"
    monkeypatch.setenv("MODEL_NAME", "gpt-4o-mini")
    assert default_llm().model == "gpt-4o-mini"
    monkeypatch.setenv("MODEL", "groq/llama3")
    assert default_llm().provider == "groq"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKey, match="GROQ_API_KEY"):
        as_model(None)


@pytest.mark.parametrize(
    ("name", "shown", "provider"),
    [
        ("openai/gpt-4o", "gpt-4o", "openai"),
        ("anthropic/claude-x", "claude-x", "anthropic"),
        ("ollama/llama3", "llama3", "ollama"),
        ("ollama_chat/llama3", "llama3", "ollama"),
        ("openrouter/a/b", "a/b", "openrouter"),
        ("deepseek/deepseek-chat", "deepseek-chat", "deepseek"),
        ("hosted_vllm/org/x", "org/x", "hosted_vllm"),
        ("cerebras/llama3.1-8b", "llama3.1-8b", "cerebras"),
        ("dashscope/qwen-max", "qwen-max", "dashscope"),
        ("deepinfra/org/x", "org/x", "deepinfra"),
        ("groq/llama3", "groq/llama3", "groq"),
        ("mistral/mistral-large", "mistral/mistral-large", "mistral"),
        ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5", "anthropic"),
        ("groq:llama3", "groq/llama3", "groq"),
    ],
)
def test_the_name_is_shown_as_crewai_shows_it(name: str, shown: str, provider: str):
    llm = LLM(name)
    assert (llm.model, llm.provider) == (shown, provider)
    assert llm.target() == locate(name)


@pytest.mark.parametrize(
    ("name", "functions", "stop", "window"),
    [
        ("gpt-4o", True, True, 128_000),
        ("gpt-4", True, True, 8_192),
        ("gpt-4.1-mini", True, True, 1_047_576),
        ("gpt-5-mini", True, False, 400_000),
        ("o1-mini", False, False, 128_000),
        ("o3", True, False, 200_000),
        ("openrouter/openai/o3-mini", True, False, 200_000),
        ("claude-sonnet-4-5", True, True, 200_000),
        ("bedrock/us.anthropic.claude-sonnet-4", True, True, 200_000),
        ("gemini/gemini-2.5-flash", True, True, 1_048_576),
        ("ollama/llama3", False, True, 8_192),
        ("ollama/llama3.2", True, True, 131_072),
        ("ollama/something", False, True, 8_192),
        ("groq/llama-3.3-70b-versatile", True, True, 131_072),
    ],
)
def test_capabilities_of_well_known_models(name: str, functions: bool, stop: bool, window: int):
    llm = LLM(name)
    assert llm.supports_function_calling() is functions
    assert llm.supports_stop_words() is stop
    assert llm.get_context_window_size() == window * 85 // 100


def test_the_key_of_a_model_is_that_of_the_environment_unless_one_is_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of the environment")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    llm = LLM("anthropic/claude-sonnet-4-5")
    assert llm.api_key == "of the environment"
    assert "of the environment" not in str(llm.to_config_dict()) + repr(llm)
    llm.api_key = "given"
    assert llm.api_key == "given"
    assert LLM("anthropic/claude-sonnet-4-5", api_key="mine").api_key == "mine"
    assert [LLM("gpt-4o").api_key, LLM("nobody/knows").api_key] == [None, None]
