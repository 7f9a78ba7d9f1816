"""Converters turn a text into a structured output with a language model.

Tasks do this on their own; the functions are for programs that convert texts themselves.
"""

from abc import ABC, abstractmethod
from typing import Any, TypedDict

from pydantic import BaseModel, ValidationError

from crewgraph.core.loops.bridge import acall, call
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.overrides import overridable
from crewgraph.prompts.book import default_book
from crewgraph.schema import PlainDict, model_outline


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


class CreateConverterKwargs(TypedDict, total=False):
    """Arguments of a converter."""

    llm: Any
    text: str
    model: type[BaseModel]
    instructions: str


def convert_to_model(
    result: str | BaseModel,
    output_pydantic: type[BaseModel] | None,
    output_json: type[BaseModel] | None,
    agent: object = None,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """Convert a text to the requested structure: an instance, or a dict for `output_json`; the text itself if that fails.

    Raises:
        TypeError: If a model is needed and there is neither an agent nor a converter.
    """
    schema = output_pydantic or output_json
    if schema is None:
        return result if isinstance(result, str) else result.model_dump_json()
    text = result if isinstance(result, str) else result.model_dump_json()
    try:
        return validate_model(text, schema, output_json is not None)
    except ValidationError:
        return handle_partial_json(text, schema, output_json is not None, agent, converter_cls)


def validate_model(result: str, model: type[BaseModel], is_json_output: bool) -> dict[str, Any] | BaseModel:
    """Validate a JSON text; return an instance of the model, or its fields.

    Raises:
        pydantic.ValidationError: If the text is invalid.
    """
    return _as_requested(model.model_validate_json(result), is_json_output)


def handle_partial_json(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: object,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """Convert the JSON inside a text; if there is none, ask a language model. Returns what `convert_to_model` returns."""
    instance, _ = read_structure(result, model)
    if instance is not None:
        return _as_requested(instance, is_json_output)
    return convert_with_instructions(result, model, is_json_output, agent, converter_cls)


def convert_with_instructions(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: Any,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """Convert a text with a language model; return the text itself if that fails.

    Raises:
        TypeError: If there is neither an agent nor a converter.
    """
    if agent is None:
        raise TypeError(
            "the text contains no valid JSON, so a model has to convert it: pass `agent=`, whose model is used"
        )
    llm = getattr(agent, "function_calling_llm", None) or agent.llm
    instructions = get_conversion_instructions(model, llm)
    converter = create_converter(agent, converter_cls, llm=llm, text=result, model=model, instructions=instructions)
    try:
        return validate_model(converter.to_json(), model, True) if is_json_output else converter.to_pydantic()
    except ConverterError:
        return result


def create_converter(
    agent: object = None, converter_cls: type[Converter] | None = None, *args: Any, **kwargs: object
) -> Converter:
    """Create a converter of the given class, else of the agent's, with the given arguments.

    Raises:
        ValueError: If there is neither an agent nor a class.
    """
    if agent is None and converter_cls is None:
        raise ValueError("a converter needs `agent=` or `converter_cls=`")
    return (converter_cls or getattr(agent, "get_output_converter", Converter))(*args, **kwargs)


def get_conversion_instructions(model: type[BaseModel], llm: object) -> str:
    """Return the instructions that make a language model write a structure."""
    return default_book().slice("conversion_system", schema=model_outline(model))


def generate_model_description(model: type[BaseModel]) -> str:
    """Return a sketch of the JSON that a model expects."""
    return model_outline(model)


def _as_requested(instance: BaseModel, is_json_output: bool) -> PlainDict | BaseModel:
    return instance.model_dump(mode="json") if is_json_output else instance
