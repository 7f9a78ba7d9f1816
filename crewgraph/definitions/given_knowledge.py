"""Knowledge as users give it to agents and crews."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator

from crewgraph.extras import load
from crewgraph.knowledge.passage import KnowledgeConfig

if TYPE_CHECKING:
    from crewgraph.knowledge.knowledge import Knowledge

__all__ = ["GivenKnowledge", "GivenKnowledgeConfig", "GivenSources", "current_knowledge"]


def _sources(given: Any) -> list[Any] | None:
    if not given:
        return given
    made: list[Any] = load("crewgraph.knowledge.source.kinds").as_sources(
        cast(list[Any], given) if isinstance(given, (list, tuple)) else [given]
    )
    return made


def _knowledge(given: Any) -> Any:
    if given is None or all(callable(getattr(given, name, None)) for name in ("query", "reset")):
        return given
    raise ValueError(
        f"`knowledge` is a `Knowledge`, not {given!r:.60}; give texts and files as `knowledge_sources=[...]`"
    )


def _config(given: Any) -> KnowledgeConfig | None:
    if given is None or isinstance(given, KnowledgeConfig):
        return given
    if isinstance(given, Mapping):
        return KnowledgeConfig.model_validate(given)
    raise ValueError(f"`knowledge_config` is a `KnowledgeConfig`, or its fields as a dict, not {given!r:.60}")


GivenSources = Annotated[Any, AfterValidator(_sources)]
"""A list of what knowledge comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""

GivenKnowledge = Annotated[Any, AfterValidator(_knowledge)]
"""A `Knowledge`, or an object like one."""

GivenKnowledgeConfig = Annotated[Any, AfterValidator(_config)]
"""A `KnowledgeConfig`, or its fields as a dict."""


def current_knowledge(given: Any, sources: list[Any] | None, name: str, storage: Any, embedder: Any) -> Any:
    """The knowledge that was given; else that of the sources, which is made anew where these have changed.

    Args:
        given: what there is: given by the user, or made by this function.
        sources: where it comes from.
        name: what its collection is called.
        storage: where it is kept.
        embedder: what turns it into vectors.
    """
    if given is not None and not getattr(given, "made_of", None):
        return given
    if not sources:
        return None
    of = (*map(id, sources), id(storage), id(embedder))
    if given is not None and given.made_of == of:
        return given
    made: Knowledge = load("crewgraph.knowledge.knowledge").Knowledge(name, sources, embedder, storage=storage)
    made.made_of = of
    return made
