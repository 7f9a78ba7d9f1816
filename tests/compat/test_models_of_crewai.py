"""CrewAI's model modules, and `crewai_files` if it is not installed."""

import asyncio
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import crewgraph_compat
import pytest

import crewgraph
from crewgraph.contrib.files.agent_files import ReadFileTool
from crewgraph.contrib.files.file import ImageFile


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with crewgraph_compat.installed():
        yield


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize(
    ("path", "model", "provider"),
    [
        ("openai.completion.OpenAICompletion", "gpt-4o", "openai"),
        ("anthropic.completion.AnthropicCompletion", "claude-sonnet-4-5", "anthropic"),
        ("gemini.completion.GeminiCompletion", "gemini-2.5-flash", "gemini"),
        ("azure.completion.AzureCompletion", "my-deployment", "azure"),
        ("bedrock.completion.BedrockCompletion", "anthropic.claude-sonnet-4", "bedrock"),
    ],
)
def test_a_class_of_a_provider_is_a_model_of_that_provider(path: str, model: str, provider: str):
    llm = named(f"crewai.llms.providers.{path}")(model=model, temperature=0.1)
    assert isinstance(llm, crewgraph.LLM)
    assert (llm.model, llm.provider, llm.temperature) == (model, provider, 0.1)


def test_what_the_client_is_made_with_can_be_read_back():
    made = named("crewai.llms.providers.openai.completion.OpenAICompletion")(default_headers={"x": "1"}, max_retries=4)
    assert (made.model, made.default_headers, made.max_retries, made.organization) == ("gpt-4o", {"x": "1"}, 4, None)
    assert (made.is_gpt4_model, made.is_o1_model) == (True, False)


def test_a_provider_that_speaks_openais_protocol():
    module = import_module("crewai.llms.providers.openai_compatible.completion")
    llm = module.OpenAICompatibleCompletion(model="deepseek-chat", provider="deepseek")
    assert llm.provider == "deepseek"
    assert module.OPENAI_COMPATIBLE_PROVIDERS["groq"].api_key_env == "GROQ_API_KEY"


def test_tables_of_models():
    windows = import_module("crewai.llms.context_window")
    sizes = {"gpt-4": 8, "gpt-4o": 128, "openai/o3": 200}
    resolve = windows.resolve_context_window_size
    assert [resolve(name, sizes, default=1) for name in ("openai/gpt-4o-mini", "gpt-4-x", "unknown")] == [128, 8, 1]
    assert windows.bare_context_windows(sizes) == {"gpt-4": 8, "gpt-4o": 128, "o3": 200}
    assert "gpt-4o" in named("crewai.llms.constants.OPENAI_MODELS")
    assert named("crewai.llm.LITELLM_AVAILABLE") is False
    for provider in ("Anthropic", "Azure", "Bedrock", "Gemini", "OpenAI"):
        listed = named(f"crewai.llms.constants.{provider.upper()}_MODELS")
        assert listed and list(get_args(named(f"crewai.llms.constants.{provider}Models"))) == listed


class TooMany(Exception):
    status_code = 429


def test_what_failed_for_too_many_requests_is_done_again():
    retry = import_module("crewai.llms.retry")
    waits: list[float] = []
    left = [TooMany(), TooMany()]

    def work() -> str:
        if left:
            raise left.pop()
        return "done"

    assert retry.run_with_rate_limit_retry(work, sleep=waits.append) == "done"
    assert len(waits) == 2
    assert retry.get_retry_delay_seconds(2, random_value=lambda: 0.5) == 3.0
    assert retry.get_retry_delay_seconds(2, retry_after_seconds=7) == 7

    async def slept(_: float) -> None: ...

    async def fails() -> str:
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        asyncio.run(retry.arun_with_rate_limit_retry(fails, sleep=slept))


def test_settings_for_a_while():
    base = import_module("crewai.llms.base_llm")
    llm = crewgraph.LLM("gpt-4o", stop=["a"])
    with base.call_stop_override(llm, ["b"]), base.call_stream_override(llm, True):
        assert (llm.stop, llm.stream) == (["b"], True)
    assert (llm.stop, llm.stream) == (["a"], False)


def test_files_are_ours_where_their_package_is_not_installed():
    files = import_module("crewai_files")
    assert files.ImageFile is ImageFile
    assert import_module("crewai_files.core.types").ImageFile is ImageFile
    assert named("crewai.tools.agent_tools.read_file_tool.ReadFileTool") is ReadFileTool
    with pytest.raises(ImportError, match="never uploaded"):
        exec("from crewai_files import get_uploader", {})


def test_nothing_of_them_stays_behind():
    import_module("crewai_files.processing.exceptions")
    crewgraph_compat.uninstall()
    assert not [name for name in sys.modules if name.startswith("crewai_files")]


def test_the_tool_tells_what_there_is():
    tool = ReadFileTool()
    assert "no files" in tool.run(file_name="x")
    tool.set_files({"note": crewgraph_files(b"hello"), "data": crewgraph_files(b"\x00\xff")})
    assert tool.run(file_name="note") == "hello"
    assert "Base64: AP8=" in tool.run(file_name="data")


def crewgraph_files(data: bytes) -> Any:
    return import_module("crewai_files").File(source=data)
