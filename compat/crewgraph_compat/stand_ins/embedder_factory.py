"""An embedder from its description, by CrewAI's names."""

from collections.abc import Mapping
from typing import Any, cast

from crewgraph.vectors.resolve import embedder_of

__all__ = ["build_embedder"]


_KEYS = ("provider", "config")


def build_embedder(spec: object) -> Any:
    """The embedder that is described, in any form that `embedder=` takes; what it embeds is asked of it by calling it.

    A `config` may also stand beside the `provider`, as older tools hand it on. Of a custom provider it is an object of the
    class that was given.

    Raises:
        EmbedderError: it describes none.
        MissingExtra: its provider's package is not installed.
    """
    if not isinstance(spec, Mapping) or "provider" not in spec:
        return embedder_of(cast("object", spec))
    said = cast("Mapping[str, Any]", spec)
    beside = {key: value for key, value in said.items() if key not in _KEYS}
    config: dict[str, Any] = {**(said.get("config") or {}), **beside}
    return _built(str(said["provider"]), config)


def _built(provider: str, config: dict[str, Any]) -> Any:
    own = config.get("embedding_callable")
    if provider == "custom" and isinstance(own, type):
        return own(**{key: value for key, value in config.items() if key != "embedding_callable"})
    return embedder_of({"provider": provider, "config": config})
