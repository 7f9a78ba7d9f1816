"""Base class of models that wrap another model."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from crewgraph.core.protocols import Model

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
    def identity(self) -> Mapping[str, Any]:
        """Name and parameters as plain data."""
        return self.model.identity

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        return self.model.native_tools
