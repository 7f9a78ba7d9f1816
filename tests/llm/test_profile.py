"""Settings and capabilities of models."""

from crewgraph import LLM


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
