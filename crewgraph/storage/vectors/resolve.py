"""Anything that users give as `embedder`, as one with a name."""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from langchain_core.embeddings import Embeddings

from crewgraph.errors import EmbedderError
from crewgraph.storage.vectors.embedder import CheckedEmbeddings, FunctionEmbeddings, NamedEmbedder, held, identity_of
from crewgraph.storage.vectors.local import DIMENSIONS, SMALLEST, LocalEmbeddings
from crewgraph.storage.vectors.opening import opened
from crewgraph.storage.vectors.providers import provider_of

__all__ = ["embedder_of"]


_CUSTOM = ("custom", "callable")
_ACCEPTED = (
    'None (local), "provider/model", {"provider": ..., "config": {...}}, a function of a list of texts, or a LangChain '
    "`Embeddings`"
)


def embedder_of(given: object = None) -> NamedEmbedder:
    """The embedder in what a user gave; nothing is sent, and nothing is embedded.

    Args:
        given: None, which is the local one: no text leaves the machine unless somebody says so. "provider/model";
            CrewAI's `{"provider": ..., "config": {...}}`; a function, sync or async, of a list of texts that gives a vector
            for each; a class of such functions; a LangChain `Embeddings`; an embedder that is one already, or what has one
            as its `embedder`.

    Raises:
        EmbedderError: it is none of these, or its provider or configuration is wrong.
        MissingExtra: the provider's package is not installed; the message says how to install it.
    """
    if given is None:
        return _local(DIMENSIONS)
    if isinstance(given, NamedEmbedder):
        return given
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, Mapping):
        return _configured(cast("Mapping[str, Any]", given))
    inner = None if isinstance(given, type) else getattr(given, "embedder", None)
    return inner if isinstance(inner, NamedEmbedder) else _custom(given)


@cache
def _local(dimensions: int) -> NamedEmbedder:
    embeddings = LocalEmbeddings(dimensions)
    return NamedEmbedder(embeddings, embeddings.name)


def _named(given: str) -> NamedEmbedder:
    provider, _, model = given.strip().partition("/")
    if not model and provider.startswith("text-embedding-"):
        provider, model = "openai", provider
    key = "dimensions" if provider == "local" else "model"
    return _configured({"provider": provider, "config": {key: model} if model else {}})


def _configured(given: Mapping[str, Any]) -> NamedEmbedder:
    wrong = sorted(set(given) - {"provider", "config"})
    if wrong or not isinstance(given.get("provider"), str):
        raise EmbedderError(
            f'An embedder as a dict is {{"provider": ..., "config": {{...}}}}, and this one has the keys {sorted(given)}.'
        )
    config: Any = given.get("config") or {}
    if not isinstance(config, Mapping):
        raise EmbedderError(f"The `config` of an embedder is a dict, not a `{type(config).__name__}`.")
    return _provided(given["provider"], dict(cast("Mapping[str, Any]", config)))


def _provided(provider: str, config: dict[str, Any]) -> NamedEmbedder:
    match provider.strip().lower():
        case "local":
            return _local(_local_size(config))
        case chosen if chosen in _CUSTOM:
            return _custom_of(config)
        case _:
            return opened(provider_of(provider), config)


def _local_size(config: Mapping[str, Any]) -> int:
    if unknown := sorted(set(config) - {"dimensions"}):
        raise EmbedderError(f"The embedder `local` has no {unknown}. Its `config` may hold: dimensions.")
    size = str(config.get("dimensions") or DIMENSIONS)
    if not size.isdecimal() or int(size) < SMALLEST:
        raise EmbedderError(f"The embedder `local` has at least {SMALLEST} `dimensions`, not {size}.")
    return int(size)


def _custom_of(config: dict[str, Any]) -> NamedEmbedder:
    function, name = config.pop("embedding_callable", None), config.pop("name", None)
    if function is None or (config and not isinstance(function, type)):
        told = f"and this one has also {sorted(config)}" if function is not None else f"not {sorted(config)}"
        raise EmbedderError(
            f"The `config` of a custom embedder is a function of a list of texts as `embedding_callable`, and perhaps a `name`, "
            f"{told}."
        )
    return _custom(function, name, config)


def _custom(given: Any, name: str | None = None, config: Mapping[str, Any] | None = None) -> NamedEmbedder:
    words = config or {}
    return held(given, {"": name, **words}, lambda: _of_source(_made(given, words), given, name))


def _made(given: Any, config: Mapping[str, Any]) -> Embeddings:
    if isinstance(given, type):
        try:
            given = given(**config)
        except TypeError as error:
            raise EmbedderError(f"The embedder `{given.__name__}` cannot be made of its `config`: {error}") from error
    if isinstance(given, Embeddings):
        return given
    if callable(given):
        return FunctionEmbeddings(given)
    raise EmbedderError(f"A `{type(given).__name__}` is no embedder. Accepted are {_ACCEPTED}.")


def _of_source(source: Embeddings, given: object, name: str | None) -> NamedEmbedder:
    if isinstance(source, LocalEmbeddings):
        return NamedEmbedder(source, name or source.name, given)
    identity = name or identity_of(source.function if isinstance(source, FunctionEmbeddings) else source)
    checked = CheckedEmbeddings(source, identity)
    return NamedEmbedder(checked, lambda: f"custom/{identity}/{_size(checked)}", given)


def _size(embeddings: CheckedEmbeddings) -> int:
    """How many numbers a vector has; where nothing was embedded yet, a word is."""
    if embeddings.size is None:
        embeddings.embed_query("size")
    return cast("int", embeddings.size)
