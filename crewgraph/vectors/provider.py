"""One who embeds: a service or a library, and how its LangChain class is spoken to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Provider"]


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A service or library, and the LangChain class that embeds with it."""

    name: str
    module: str = "langchain_openai"
    class_name: str = "OpenAIEmbeddings"
    extra: str = ""
    """What is installed with `pip install "crewgraph[extra]"`; "" is always there."""

    needs: tuple[str, ...] = ()
    """Further packages of the extra, by the names that they are imported with."""

    model: str | None = None
    """The model where none is named; None: one has to be."""

    words: Mapping[str, str]
    """Keys of the configuration, and what the class calls them."""

    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Where the environment has what the configuration leaves out, by the class's words."""

    key: str | None = None
    """The class's word for a key that requests are refused without."""

    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the class is always told."""

    telling: tuple[str, ...] = ()
    """The class's words, beside the model, that change vectors."""
