"""Settings and capabilities of models."""

from typing import Any

import pytest

from crewgraph import LLM, ScriptedLLM


def test_properties_derived_from_the_name():
    claude = LLM("anthropic/claude-sonnet-4-5", thinking={"type": "enabled", "budget_tokens": 2000})
    assert (claude.is_anthropic, claude.llm_type, claude.supports_multimodal()) == (True, "anthropic", True)
    assert claude.thinking == {"type": "enabled", "budget_tokens": 2000}
    assert (LLM("gpt-4").is_anthropic, LLM("gpt-4").supports_multimodal(), LLM("gpt-4").thinking) == (
        False,
        False,
        None,
    )
    assert claude.get_file_uploader() is None
    assert claude.format_text_content("hello") == {"type": "text", "text": "hello"}


@pytest.mark.parametrize(
    ("words", "too_long", "too_large"), [(10, False, False), (300, False, True), (900, True, True)]
)
def test_a_conversation_or_a_result_that_is_too_long_is_known_before(words: int, too_long: bool, too_large: bool):
    llm = LLM("gpt-4o", context_window_size=1000)
    text = "tide" * words
    messages = [{"role": "user", "content": text}]
    assert llm.get_input_tokens_count(messages) == words
    assert llm.is_context_window_overflowing_threshold(messages) is too_long
    assert llm.is_tool_result_overflowing_threshold(text) is too_large


def test_tools_and_response_models_count_as_well():
    tools = [{"type": "function", "function": {"name": "add"}}]
    assert LLM("gpt-4o").get_input_tokens_count("hi", tools) > 1 == LLM("gpt-4o").get_input_tokens_count("hi")


def test_a_conversation_is_condensed_in_place_behind_its_system_messages():
    llm = ScriptedLLM(["high water at 9:40"])
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": "At 9:40."},
    ]
    llm.summarize_messages(messages, [])
    assert [message["role"] for message in messages] == ["system", "user"]
    assert "high water at 9:40" in messages[1]["content"]
    assert "When is high water?" in llm.requests[0].text
    only: list[Any] = [{"role": "system", "content": "Be brief."}]
    llm.summarize_messages(only)
    assert only == [{"role": "system", "content": "Be brief."}]
