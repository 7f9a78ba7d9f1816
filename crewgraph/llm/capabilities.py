"""What well-known models can do, told by their names."""

import re

__all__ = ["calls_functions", "context_window", "takes_stop", "window_of"]

_DEFAULT_WINDOW = 8192

_WINDOWS: tuple[tuple[str, int], ...] = (
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-0125", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("chatgpt-4o", 128_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude-2.1", 200_000),
    ("claude-2", 100_000),
    ("claude", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini", 1_048_576),
    ("gemma2", 8_192),
    ("gemma-2", 8_192),
    ("gemma", 131_072),
    ("llama-3.1", 131_072),
    ("llama3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama3.2", 131_072),
    ("llama-3.3", 131_072),
    ("llama3.3", 131_072),
    ("llama-4", 1_048_576),
    ("llama4", 1_048_576),
    ("llama-3", 8_192),
    ("llama3", 8_192),
    ("deepseek", 131_072),
    ("mixtral", 32_768),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("mistral-small", 131_072),
    ("mistral-nemo", 131_072),
    ("ministral", 131_072),
    ("codestral", 262_144),
    ("mistral", 32_768),
    ("qwen3", 131_072),
    ("qwen2.5", 131_072),
    ("qwen-2.5", 131_072),
    ("qwen", 32_768),
    ("command-a", 262_144),
    ("command-r", 131_072),
    ("grok-4", 262_144),
    ("grok", 131_072),
    ("kimi", 131_072),
    ("glm-4", 131_072),
    ("sonar", 131_072),
    ("nova", 300_000),
    ("phi4", 16_384),
    ("phi-4", 16_384),
)

_REASONING = re.compile(r"^(?:o[134](?:$|-)|gpt-5)")
_PLAIN_REASONING = re.compile(r"^o1-(?:mini|preview)")

_LOCAL = {"ollama", "llamafile"}
_LOCAL_CALLERS = (
    *(
        "llama3.1",
        "llama3.2",
        "llama3.3",
        "llama4",
        "qwen2.5",
        "qwen3",
        "qwq",
        "mistral",
        "mixtral",
        "ministral",
    ),
    *(
        "command-r",
        "command-a",
        "hermes3",
        "granite3",
        "granite4",
        "firefunction",
        "gpt-oss",
        "phi4-mini",
        "devstral",
    ),
    *("nemotron", "cogito", "smollm2", "athene-v2", "magistral"),
)


def _bare(model: str) -> str:
    """The model's own name: without a path, `us.` regions and vendors of Bedrock, and `ft:`."""
    name = model.lower().removeprefix("ft:").rpartition("/")[2]
    return re.sub(r"^(?:(?:us|eu|apac|global)\.)?(?:anthropic|meta|amazon|mistral|cohere|deepseek)\.", "", name)


def context_window(model: str) -> int:
    """How many tokens a model reads; 8192 for a name that is not known."""
    name = _bare(model)
    return next((size for prefix, size in _WINDOWS if name.startswith(prefix)), _DEFAULT_WINDOW)


def window_of(llm: object, model: str) -> int:
    """How many tokens a model reads.

    Args:
        llm: what a user gave; asked, if it can say.
        model: its name, by which it is known otherwise.
    """
    asked = getattr(llm, "get_context_window_size", None)
    size: object = asked() if callable(asked) else None
    return size if isinstance(size, int) and size > 0 else context_window(model)


def takes_stop(model: str) -> bool:
    """Whether a model takes stop words: OpenAI's reasoning models refuse a request that has them."""
    return _REASONING.match(_bare(model)) is None


def calls_functions(provider: str, model: str) -> bool:
    """Whether a model takes tools.

    Hosted models do, but for a few; of those that run at home only some were taught to, and their servers
    refuse a request with tools for the others.
    """
    name = _bare(model)
    if provider in _LOCAL:
        return name.startswith(_LOCAL_CALLERS)
    return _PLAIN_REASONING.match(name) is None and provider != "perplexity"
