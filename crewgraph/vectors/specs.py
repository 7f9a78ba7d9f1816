"""The forms of embedders as data, for annotations."""

from typing import Any, Required, TypedDict

__all__ = ["ProviderConfig", "ProviderSpec"]

ProviderConfig = dict[str, Any]
"""What a provider is told: model, key, address and such; `docs/embedders.md` lists the keys."""


class ProviderSpec(TypedDict, total=False):
    """An embedder by its provider's name."""

    provider: Required[str]
    """"openai", "azure", "ollama", "google-generativeai", ..., "custom" or "local"."""

    config: ProviderConfig
