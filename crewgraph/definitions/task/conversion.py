"""Converters turn a text into a structured output with a language model.

Tasks do this on their own; the functions are for programs that convert texts themselves.
"""

from abc import ABC, abstractmethod
from typing import Any

from pydantic import BaseModel

from crewgraph.core.loops.bridge import acall, call
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.overrides import overridable
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import model_outline


class OutputConverter(BaseModel, ABC):
    """Fields of every converter."""

    text: str
    """The text to convert."""

    llm: Any
    """The model that converts: an object with `call(messages)`, or anything that an agent accepts as `llm`."""

    model: type[BaseModel]
    """The target model."""

    instructions: str
    """Instructions for the language model."""

    max_attempts: int = 3
    """Maximum number of attempts."""

    @abstractmethod
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """Convert the text to an instance of the model."""

    @abstractmethod
    def to_json(self, current_attempt: int = 1) -> Any:
        """Convert the text to JSON."""


class Converter(OutputConverter):
    """Converts with a language model, retrying with the validation error; subclass it for a task's `converter_cls`."""

    @overridable
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """Convert the text to an instance of the model.

        Args:
            current_attempt: Number of the first attempt, from 1 to `max_attempts`.

        Raises:
            ConverterError: If no attempt succeeds.
            Exception: Any error of the language model.
        """
        llm, prompts = as_llm(self.llm), default_book()
        messages = [{"role": "system", "content": self.instructions}, {"role": "user", "content": self.text}]
        problem = "the model was not asked"
        for _ in range(current_attempt, max(self.max_attempts, current_attempt) + 1):
            answer: object = call(llm.call, messages)
            if isinstance(answer, self.model):  # a model with this `response_format`
                return answer
            instance, problem = read_structure(str(answer), self.model)
            if instance is not None:
                return instance
            messages += [
                {"role": "assistant", "content": str(answer)},
                {"role": "user", "content": prompts.slice("conversion_again", error=problem)},
            ]
        raise ConverterError(
            f"the text was not converted to `{self.model.__name__}` in {self.max_attempts} attempts: {problem}. Check the "
            "`instructions`, or use a model that writes JSON."
        )

    @overridable
    def to_json(self, current_attempt: int = 1) -> Any:
        """Convert the text to JSON text that fits the model; see `to_pydantic`."""
        return call(self.to_pydantic, current_attempt).model_dump_json()

    @overridable
    def convert(self) -> BaseModel:
        """Alias of `to_pydantic`."""
        return self.to_pydantic()

    async def ato_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """Async version of `to_pydantic`, run in a thread."""
        return await acall(self.to_pydantic, current_attempt)

    async def ato_json(self, current_attempt: int = 1) -> Any:
        """Async version of `to_json`, run in a thread."""
        return await acall(self.to_json, current_attempt)


def convert_to_model(
    result: str | BaseModel,
    output_pydantic: type[BaseModel] | None,
    output_json: type[BaseModel] | None,
    agent: Any = None,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """Convert a text to the requested structure: an instance, or a dict for `output_json`; the text itself if that fails.

    Raises:
        TypeError: If a model is needed and there is no agent.
    """
    text, schema = result if isinstance(result, str) else result.model_dump_json(), output_pydantic or output_json
    if schema is None:
        return text
    instance, _ = read_structure(text, schema)
    if instance is None:
        if agent is None:
            raise TypeError(
                "the text contains no valid JSON, so a model has to convert it: pass `agent=`, whose model is used"
            )
        converter = (converter_cls or agent.get_output_converter)(
            llm=getattr(agent, "function_calling_llm", None) or agent.llm,
            text=text,
            model=schema,
            instructions=default_book().slice("conversion_system", schema=model_outline(schema)),
        )
        try:
            instance = schema.model_validate_json(converter.to_json()) if output_json else converter.to_pydantic()
        except ConverterError:
            return text
    return instance.model_dump(mode="json") if output_json else instance
