"""Base class of models that wrap another model."""

from typing import Generic, TypeVar

from crewgraph.core.protocols import Model
from crewgraph.schema import PlainMapping

__all__ = ["ModelWrapper"]


M = TypeVar("M", bound=Model)


class ModelWrapper(Generic[M]):
    """Delegates name, identity and protocol to the wrapped model."""

    model: M

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        return self.model.name

    @property
    def identity(self) -> PlainMapping:
        """Name and parameters as plain data."""
        return self.model.identity

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        return self.model.native_tools
