"""Memory and knowledge as users give them to crews."""

from typing import Any

from pydantic import BaseModel

from crewgraph.definitions.given_knowledge import GivenKnowledge, GivenSources
from crewgraph.definitions.given_memory import GivenKind, GivenMemory

__all__ = ["Remembering"]


class Remembering(BaseModel):
    """What crews have of memories and knowledge."""

    memory: GivenMemory = False
    """Whether it remembers: True makes the kinds below that are not given; or a `Memory` for everything."""

    short_term_memory: GivenKind = None
    """What was found out with tools, and answers."""

    long_term_memory: GivenKind = None
    """How well tasks were done, and what is to be done better."""

    entity_memory: GivenKind = None
    """What it knows of people, places and things."""

    external_memory: GivenKind = None
    """A memory that lives elsewhere."""

    contextual_memory: bool = False
    """The same as `memory`: whether it remembers, so that agents are told of it."""

    memory_config: dict[str, Any] | None = None
    """Where it remembers and has no `external_memory`, what makes one: `{"provider": "mem0", "config": {...}}`."""

    embedder: Any = None
    """What turns texts into vectors, for the memories that are made."""

    knowledge: GivenKnowledge = None
    """What all of its agents know; made of `knowledge_sources` where it is not given."""

    knowledge_sources: GivenSources = None
    """Where that comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""
