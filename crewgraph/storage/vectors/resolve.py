"""Resolution of an `embedder` argument, in all forms that users may pass, to a `NamedEmbedder`."""

from collections.abc import Mapping
from functools import cache

from langchain_core.embeddings import Embeddings

from crewgraph.errors import EmbedderError
from crewgraph.schema import PlainDict, PlainMapping, is_mapping
from crewgraph.storage.vectors.embedder import (
    CheckedEmbeddings,
    FunctionEmbeddings,
    NamedEmbedder,
    identity_of,
    shared_embedder,
)
from crewgraph.storage.vectors.local import DIMENSIONS, SMALLEST, LocalEmbeddings
from crewgraph.storage.vectors.provider_embeddings import open_provider
from crewgraph.storage.vectors.providers import CUSTOM_EMBEDDERS, check_provider, embedding_provider

_ACCEPTED = (
    'None (local), "provider/model", {"provider": ..., "config": {...}}, a function of a list of texts, or a LangChain '
    "`Embeddings`"
)


def embedder_of(source: object = None) -> NamedEmbedder:
    """Resolve an `embedder` argument; nothing is sent or embedded.

    Args:
        source: None for the local embedder, so that no text leaves the machine by default; "provider/model";
            CrewAI's `{"provider": ..., "config": {...}}`; a function, sync or async, from a list of texts to a vector for
            each; a class of such functions; a LangChain `Embeddings`; a `NamedEmbedder`, or an object that has one
            as its `embedder`.

    Raises:
        EmbedderError: `source` is none of these, or its provider or configuration is wrong.
        MissingExtra: the provider's package is not installed; the message says how to install it.
    """
    if source is None:
        return _local_embedder(DIMENSIONS)
    if isinstance(source, NamedEmbedder):
        return source
    if isinstance(source, str):
        provider, _, model = source.strip().partition("/")
        if not model and provider.startswith("text-embedding-"):
            provider, model = "openai", provider
        key = "dimensions" if provider == "local" else "model"
        return _from_config({"provider": provider, "config": {key: model} if model else {}})
    if is_mapping(source):
        return _from_config(source)
    inner = None if isinstance(source, type) else getattr(source, "embedder", None)
    return inner if isinstance(inner, NamedEmbedder) else _from_object(source)


@cache
def _local_embedder(dimensions: int) -> NamedEmbedder:
    embeddings = LocalEmbeddings(dimensions)
    return NamedEmbedder(embeddings, embeddings.name)


def _from_config(embedder_config: PlainMapping) -> NamedEmbedder:
    check_provider(embedder_config)
    config: object = embedder_config.get("config") or {}
    if not is_mapping(config):
        raise EmbedderError(f"The `config` of an embedder must be a dict, not a `{type(config).__name__}`.")
    return _from_provider(embedder_config["provider"], dict(config))


def _from_provider(provider: str, config: dict[str, object]) -> NamedEmbedder:
    match provider.strip().lower():
        case "local":
            return _local_embedder(_local_size(config))
        case chosen if chosen in CUSTOM_EMBEDDERS:
            return _from_custom_config(config)
        case _:
            return open_provider(embedding_provider(provider), config)


def _local_size(config: Mapping[str, object]) -> int:
    if unknown := sorted(set(config) - {"dimensions"}):
        raise EmbedderError(f"The embedder `local` has no {unknown}. Its `config` may hold: dimensions.")
    size = str(config.get("dimensions") or DIMENSIONS)
    if not size.isdecimal() or int(size) < SMALLEST:
        raise EmbedderError(f"The embedder `local` needs at least {SMALLEST} `dimensions`, not {size}.")
    return int(size)


def _from_custom_config(config: PlainDict) -> NamedEmbedder:
    function, name = config.pop("embedding_callable", None), config.pop("name", None)
    if function is None or (config and not isinstance(function, type)):
        problem = f"and this one has also {sorted(config)}" if function is not None else f"not {sorted(config)}"
        raise EmbedderError(
            f"The `config` of a custom embedder is a function of a list of texts as `embedding_callable`, and perhaps a `name`, "
            f"{problem}."
        )
    return _from_object(function, name, config)


def _from_object(source: object, name: str | None = None, config: Mapping[str, object] | None = None) -> NamedEmbedder:
    arguments = config or {}
    return shared_embedder(
        source, {"": name, **arguments}, lambda: _named_embedder(_as_embeddings(source, arguments), source, name)
    )


def _as_embeddings(source: object, config: PlainMapping) -> Embeddings:
    if isinstance(source, type):
        try:
            source = source(**config)
        except TypeError as error:
            raise EmbedderError(
                f"The embedder `{source.__name__}` cannot be created from its `config`: {error}"
            ) from error
    if isinstance(source, Embeddings):
        return source
    if callable(source):
        return FunctionEmbeddings(source)
    raise EmbedderError(f"A `{type(source).__name__}` is not an embedder. Accepted: {_ACCEPTED}.")


def _named_embedder(source: Embeddings, origin: object, name: str | None) -> NamedEmbedder:
    if isinstance(source, LocalEmbeddings):
        return NamedEmbedder(source, name or source.name, origin)
    identity = name or identity_of(source.function if isinstance(source, FunctionEmbeddings) else source)
    checked = CheckedEmbeddings(source, identity)
    # The length of vectors; if nothing was embedded yet, a word is.
    return NamedEmbedder(
        checked, lambda: f"custom/{identity}/{checked.size or len(checked.embed_query('size'))}", origin
    )
