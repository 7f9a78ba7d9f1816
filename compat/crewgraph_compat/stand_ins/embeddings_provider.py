"""A provider of embeddings as a model: what it is told, by keywords or by the environment."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = ["BaseEmbeddingsProvider", "said"]

T = TypeVar("T")


class BaseEmbeddingsProvider(BaseModel, Generic[T]):
    """Who embeds, and what they are told; what is not known here is handed on to `embedding_callable`.

    What is not given is looked for in the environment, by the names of the field that are written in capitals.
    """

    model_config = ConfigDict(
        extra="allow",
        arbitrary_types_allowed=True,
        populate_by_name=True,
        validate_default=True,
        protected_namespaces=(),
    )

    embedding_callable: type[T]
    """The class that embeds, made with the other fields."""

    def made(self) -> T:
        """What embeds, told all that is known here.

        Raises:
            EmbedderError: something of it is wrong.
            MissingExtra: the provider's package is not installed.
        """
        return self.embedding_callable(**self.model_dump(exclude={"embedding_callable"}))

    @property
    def embedder(self) -> NamedEmbedder:
        """The same, for wherever an `embedder` is taken."""
        return embedder_of(self.made())

    @model_validator(mode="before")
    @classmethod
    def _from_environment(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        words = dict(cast("Mapping[str, Any]", given))
        there = {name.upper(): value for name, value in os.environ.items()}
        for name, field in cls.model_fields.items():
            known = [name, *_names(field)]
            variable = next((one for one in known if one.isupper() and one in there), None)
            if variable is not None and not any(one in words for one in known):
                words[name] = there[variable]
        return words


def said(*names: str, default: Any = ...) -> Any:
    """A field that is also given by other names; those in capitals may stand in the environment."""
    return Field(default, validation_alias=AliasChoices(*names))


def _names(field: FieldInfo) -> Iterator[str]:
    found = field.validation_alias
    if isinstance(found, AliasChoices):
        yield from (one for one in found.choices if isinstance(one, str))
