"""The base class of models that ask other models."""

from collections.abc import Sequence
from typing import Any

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.operations import Do, Program, adrive, drive
from crewgraph.core.protocols import Config, Model


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
