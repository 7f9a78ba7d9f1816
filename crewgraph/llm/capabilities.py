"""Capabilities of well-known models, looked up by name."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from crewgraph.schema import is_mapping

_DEFAULT_WINDOW = 8192

CONTEXT_WINDOWS: Mapping[str, int] = {
    "gpt-5": 400_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4-32k": 32_768,
    "gpt-4": 8_192,
    "gpt-3.5": 16_385,
    "gpt-oss": 131_072,
    "chatgpt-4o": 128_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude-2.1": 200_000,
    "claude-2": 100_000,
    "claude": 200_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini": 1_048_576,
    "gemma2": 8_192,
    "gemma-2": 8_192,
    "gemma": 131_072,
    "llama-3.1": 131_072,
    "llama3.1": 131_072,
    "llama-3.2": 131_072,
    "llama3.2": 131_072,
    "llama-3.3": 131_072,
    "llama3.3": 131_072,
    "llama-4": 1_048_576,
    "llama4": 1_048_576,
    "llama-3": 8_192,
    "llama3": 8_192,
    "deepseek": 131_072,
    "mixtral": 32_768,
    "mistral-large": 131_072,
    "mistral-medium": 131_072,
    "mistral-small": 131_072,
    "mistral-nemo": 131_072,
    "ministral": 131_072,
    "codestral": 262_144,
    "mistral": 32_768,
    "qwen3": 131_072,
    "qwen2.5": 131_072,
    "qwen-2.5": 131_072,
    "qwen": 32_768,
    "command-a": 262_144,
    "command-r": 131_072,
    "grok-4": 262_144,
    "grok": 131_072,
    "kimi": 131_072,
    "glm-4": 131_072,
    "sonar": 131_072,
    "nova": 300_000,
    "phi4": 16_384,
    "phi-4": 16_384,
}
"""Context windows in tokens by name prefix; the first match wins."""

_NO_STOP_MODELS = re.compile(r"^(?:o[134](?:$|-)|gpt-5|grok-(?:3-mini|4|code))")
_NO_MAX_TOKENS = re.compile(r"^(?:o[134](?:$|-)|gpt-5)")
_NO_TOOL_MODELS = re.compile(r"^o1-(?:mini|preview)")

_IMAGE_MODELS = re.compile(
    r"^(?:gpt-5|gpt-4o(?!-(?:mini-)?(?:audio|transcribe|tts))|chatgpt-4o|gpt-4\.[15]|gpt-4-(?:turbo|vision)|o1(?!-(?:mini|preview))"
    r"|o3(?!-mini)|o4|claude-(?!2|instant)|gemini|gemma-?3|llama-?4|pixtral|mistral-(?:medium-(?:3|2505|latest)|small-(?:3|2503|latest))"
    r"|magistral|llava|bakllava|moondream|minicpm-v|grok-4|nova-(?:lite|pro|premier)|qwen.*-?vl|.*(?:vision|omni|multimodal))"
)
_PDF_MODELS = re.compile(
    r"^(?:gpt-5|gpt-4o(?!-(?:mini-)?(?:audio|transcribe|tts))|gpt-4\.1|o1(?!-(?:mini|preview))|o3(?!-mini)|o4|claude-(?!2|instant|3-(?:opus|sonnet|haiku))|gemini)"
)

_AUDIO_MODELS = re.compile(r"^(?:gemini|gpt-4o(?:-mini)?-audio|gpt-audio|voxtral|.*(?:omni|multimodal))")
_VIDEO_MODELS = re.compile(r"^(?:gemini|nova-(?:lite|pro|premier)|qwen.*-?vl|.*omni)")

_LOCAL_PROVIDERS = {"ollama", "llamafile"}
_LOCAL_TOOL_MODELS = (
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
    """Strip the path, Bedrock's region and vendor prefixes, and `ft:` from a model name."""
    name = model.lower().removeprefix("ft:").rpartition("/")[2]
    return re.sub(r"^(?:(?:us|eu|apac|global)\.)?(?:anthropic|meta|amazon|mistral|cohere|deepseek)\.", "", name)


def context_window(model: str) -> int:
    """Return the context window of a model by its name, in tokens; 8192 for unknown names."""
    name = _bare(model)
    return next((size for prefix, size in CONTEXT_WINDOWS.items() if name.startswith(prefix)), _DEFAULT_WINDOW)


def context_window_of(llm: object, model: str) -> int:
    """Return the context window of a model in tokens.

    Args:
        llm: The user's model; its `get_context_window_size` takes precedence.
        model: Its name, used otherwise.
    """
    get_size = getattr(llm, "get_context_window_size", None)
    size: object = get_size() if callable(get_size) else None
    return size if isinstance(size, int) and size > 0 else context_window(model)


def supports_images(model: str) -> bool:
    """Return whether a model accepts images."""
    return _IMAGE_MODELS.match(_bare(model)) is not None


def supports_pdfs(model: str) -> bool:
    """Return whether a model accepts PDF files."""
    return _PDF_MODELS.match(_bare(model)) is not None


def input_modalities(llm: object, model: str) -> frozenset[str]:
    """Return which of "image" and "pdf" a model accepts.

    Args:
        llm: The user's model, whose own methods take precedence; of a list of fallbacks, all must accept a kind.
        model: Its name, used otherwise.
    """
    if isinstance(llm, (list, tuple)):
        modalities = [input_modalities(member, _llm_name(member, model)) for member in cast("Sequence[object]", llm)]
        return frozenset(
            kind for kind in ("image", "pdf") if modalities and all(kind in member for member in modalities)
        )
    supported = {"image": supports_images(model), "pdf": supports_pdfs(model)}
    supports_multimodal, langchain_profile = getattr(llm, "supports_multimodal", None), getattr(llm, "profile", None)
    if callable(supports_multimodal):
        has_images = bool(supports_multimodal())
        supported = {"image": has_images, "pdf": has_images and supported["pdf"]}
    elif is_mapping(langchain_profile):  # LangChain's
        supported = {kind: bool(langchain_profile.get(f"{kind}_inputs", known)) for kind, known in supported.items()}
    return frozenset(kind for kind, is_supported in supported.items() if is_supported)


_MODELS_OF = {"image": _IMAGE_MODELS, "pdf": _PDF_MODELS, "audio": _AUDIO_MODELS, "video": _VIDEO_MODELS}


_UNSURE = ("crewgraph.llm.llm", "crewgraph.llm.scripted")
"""The modules of models of which it is not known what they take."""


def refuses(llm: object, kind: str) -> bool:
    """Return whether a model is known to reject messages with something of a kind: "image", "pdf", "audio" or "video".

    Args:
        llm: The user's model or its name; of a list of fallbacks, all must accept it.
        kind: The kind.
    """
    if isinstance(llm, (list, tuple)):
        return any(refuses(member, kind) for member in cast("Sequence[object]", llm))
    if hasattr(llm, "generate_prompt") and not hasattr(llm, "bind_tools"):
        return True  # a completion model of LangChain
    profile, supports_multimodal = getattr(llm, "profile", None), getattr(llm, "supports_multimodal", None)
    if is_mapping(profile) and f"{kind}_inputs" in profile:
        return not profile[f"{kind}_inputs"]
    name = _bare(_llm_name(llm, ""))
    is_known = name.startswith(tuple(CONTEXT_WINDOWS))
    if callable(supports_multimodal) and supports_multimodal() and (kind == "image" or not is_known):
        return False
    if is_known:
        return not _MODELS_OF[kind].match(name)
    # An `LLM` of another name may take it, and a `ScriptedLLM` takes anything; other classes say what they take.
    return callable(supports_multimodal) and supports_multimodal.__module__ not in _UNSURE


def _llm_name(llm: object, default: str) -> str:
    name = llm if isinstance(llm, str) else getattr(llm, "model", None) or getattr(llm, "model_name", None)
    return name if isinstance(name, str) else default


def supports_stop_words(model: str) -> bool:
    """Return whether a model supports stop words; reasoning models of OpenAI and xAI reject requests that have them."""
    return _NO_STOP_MODELS.match(_bare(model)) is None


def takes_max_tokens(model: str) -> bool:
    """Return whether a model takes `max_tokens`; OpenAI's reasoning models only take `max_completion_tokens`, on any server."""
    return _NO_MAX_TOKENS.match(_bare(model)) is None


_STRICT_APIS = {"ChatAnthropic", "ChatAnthropicMessages", "ChatAnthropicVertex", "ChatBedrock", "ChatBedrockConverse"}


def has_strict_api(model_class: type[object]) -> bool:
    """Return whether the API of a LangChain class rejects blank stop words and has no format for "any JSON object"."""
    return any(kind.__name__ in _STRICT_APIS for kind in model_class.__mro__)


def without_blank(stop: Sequence[str]) -> list[str]:
    """Return the stop words that are more than white space."""
    return [word for word in stop if word.strip()]


def supports_tools(provider: str, model: str) -> bool:
    """Return whether a model supports tools.

    Most hosted models do. Local servers reject requests with tools for models that were not trained to use them.
    """
    name = _bare(model)
    if provider in _LOCAL_PROVIDERS:
        return name.startswith(_LOCAL_TOOL_MODELS)
    return _NO_TOOL_MODELS.match(name) is None and provider != "perplexity"
