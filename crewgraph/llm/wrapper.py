"""What stands around a model at work, and is called as it is."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from crewgraph.core.protocols import Model

__all__ = ["ModelWrapper"]


M = TypeVar("M", bound=Model)


class ModelWrapper(Generic[M]):
    """Passes on what the model in it is called."""

    model: M

    @property
    def name(self) -> str:
        """The model's name as its provider knows it."""
        return self.model.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name and parameters as plain data."""
        return self.model.identity

    @property
    def native_tools(self) -> bool:
        """Whether tool calls are a part of the model's protocol."""
        return self.model.native_tools
