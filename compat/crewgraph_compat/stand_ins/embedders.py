"""Embedders as crewai_tools asks for them."""

from collections.abc import Mapping
from typing import Any, Protocol, Required, TypeVar, cast, runtime_checkable

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from crewgraph.storage.vectors.resolve import embedder_of

_KEYS = ("provider", "config")
_Texts = TypeVar("_Texts", contravariant=True)


@runtime_checkable
class EmbeddingFunction(Protocol[_Texts]):
    """Maps a list of texts to a vector each, as lists of numbers or numpy arrays."""

    def __call__(self, input: _Texts) -> Any: ...

    def embed_query(self, input: _Texts) -> Any:
        """Return the vectors of queries; by default they are embedded like other texts."""
        return self(input)


class CustomEmbeddingFunction(EmbeddingFunction[list[str]]):
    """A custom function, for `{"provider": "custom", "config": {"embedding_callable": ...}}`."""

    def __call__(self, input: list[str]) -> Any:
        raise NotImplementedError(
            f"`{type(self).__name__}` cannot embed: define `__call__(self, input)`, which takes a list of texts."
        )


class ProviderSpec(TypedDict, total=False):
    """The specification of an embedder; `build_embedder` checks the provider and its settings."""

    provider: Required[str]
    config: dict[str, Any]


def build_embedder(spec: object) -> Any:
    """Create an embedder from any form that `embedder=` accepts; call it to embed texts.

    The keys of `config` may also be next to `provider`, as older tools pass them. A custom provider yields an instance of
    the given class.

    Raises:
        EmbedderError: The specification is invalid.
        MissingExtra: The provider's package is not installed.
    """
    if not isinstance(spec, Mapping) or "provider" not in spec:
        return embedder_of(cast("object", spec))
    settings = cast("Mapping[str, Any]", spec)
    extra = {key: value for key, value in settings.items() if key not in _KEYS}
    config: dict[str, Any] = {**(settings.get("config") or {}), **extra}
    own = config.get("embedding_callable")
    if settings["provider"] == "custom" and isinstance(own, type):
        return own(**{key: value for key, value in config.items() if key != "embedding_callable"})
    return embedder_of({"provider": settings["provider"], "config": config})
