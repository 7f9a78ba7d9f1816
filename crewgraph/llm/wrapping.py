"""Base classes of models that ask other models: `AskingModel`, and `ModelWrapper` of those that wrap one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import BaseModel

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.operations import Do, Program, adrive, drive
from crewgraph.core.protocols import Config, Model
from crewgraph.llm.structure import structured_model
from crewgraph.schema import PlainMapping


class AskingModel:
    """A model that asks others; subclasses say how, as a program for sync and async runs."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation."""
        return drive(self.answer(messages, tools, stop, config))

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        return await adrive(self.answer(messages, tools, stop, config))

    def answer(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config, /
    ) -> Program[Reply]:
        """Answer a conversation."""
        raise NotImplementedError


def asking(model: Model, *request: Any) -> Do:
    """Ask a model."""
    return Do(model.complete, model.acomplete, *request)


M = TypeVar("M", bound=Model)


class ModelWrapper(AskingModel, Generic[M]):
    """Delegates name, identity and protocol to the wrapped model; subclasses are dataclasses."""

    model: M

    @cached_property
    def innermost(self) -> Model:
        """The model inside all wrappers."""
        return self.model.innermost if isinstance(self.model, ModelWrapper) else self.model

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        return self.innermost.name

    @property
    def identity(self) -> PlainMapping:
        """Name and parameters as plain data."""
        return self.innermost.identity

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        return self.innermost.native_tools

    def for_structure(self, structure: type[BaseModel]) -> Self | None:
        """Return a copy around a model that answers with an instance of a pydantic model; None if it cannot."""
        model = structured_model(self.model, structure)
        return None if model is None else cast("Self", replace(cast("Any", self), model=model))
