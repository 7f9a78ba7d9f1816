"""Converters: a model turns a text into a structure."""

from abc import ABC, abstractmethod
from typing import Any

from pydantic import BaseModel

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.own_version import ours
from crewgraph.prompts.book import english

__all__ = ["Converter", "OutputConverter"]


class OutputConverter(BaseModel, ABC):
    """What every converter is made with."""

    text: str
    """What is converted."""

    llm: Any
    """Who converts: an object with `call(messages)`, or anything else that an agent takes as `llm`."""

    model: type[BaseModel]
    """What it becomes."""

    instructions: str
    """How the model is told so."""

    max_attempts: int = 3
    """How often the model is asked at the most."""

    @abstractmethod
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """The text as an instance of the model."""

    @abstractmethod
    def to_json(self, current_attempt: int = 1) -> Any:
        """The text as JSON."""


class Converter(OutputConverter):
    """Asks a language model, and asks again with what was wrong; a task's `converter_cls` may be a subclass."""

    @ours
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """The text as an instance of the model.

        Args:
            current_attempt: the number of the first attempt, counted from 1 to `max_attempts`.

        Raises:
            ConverterError: no attempt gave what fits.
            Exception: whatever the language model raised.
        """
        llm, again = as_llm(self.llm), english()
        messages = [{"role": "system", "content": self.instructions}, {"role": "user", "content": self.text}]
        problem = "the model was not asked"
        for _ in range(current_attempt, max(self.max_attempts, current_attempt) + 1):
            answer: Any = llm.call(messages)
            if isinstance(answer, self.model):  # a model with this `response_format`
                return answer
            found, problem = read_structure(str(answer), self.model)
            if found is not None:
                return found
            messages += [
                {"role": "assistant", "content": str(answer)},
                {"role": "user", "content": again.slice("conversion_again", error=problem)},
            ]
        raise ConverterError(
            f"the text was not converted to `{self.model.__name__}` in {self.max_attempts} attempts: {problem}. Look at the "
            "`instructions`, or take a model that writes JSON."
        )

    @ours
    def to_json(self, current_attempt: int = 1) -> Any:
        """The text as JSON text that fits the model; see `to_pydantic`."""
        return self.to_pydantic(current_attempt).model_dump_json()

    @ours
    def convert(self) -> BaseModel:
        """Another name of `to_pydantic`."""
        return self.to_pydantic()

    async def ato_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """`to_pydantic`, beside the event loop."""
        return await in_thread(self.to_pydantic, current_attempt)

    async def ato_json(self, current_attempt: int = 1) -> Any:
        """`to_json`, beside the event loop."""
        return await in_thread(self.to_json, current_attempt)
