"""Converters turn a text into a structured output with a language model.

Tasks do this on their own; the functions are for programs that convert texts themselves.
"""

from abc import ABC, abstractmethod
from typing import Any, TypedDict

from pydantic import BaseModel, ValidationError

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.overrides import overridable
from crewgraph.prompts.book import english
from crewgraph.schema import described

__all__ = [
    "Converter",
    "CreateConverterKwargs",
    "OutputConverter",
    "async_convert_to_model",
    "async_convert_with_instructions",
    "async_handle_partial_json",
    "convert_to_model",
    "convert_with_instructions",
    "create_converter",
    "generate_model_description",
    "get_conversion_instructions",
    "handle_partial_json",
    "validate_model",
]


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

    @overridable
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

    @overridable
    def to_json(self, current_attempt: int = 1) -> Any:
        """The text as JSON text that fits the model; see `to_pydantic`."""
        return self.to_pydantic(current_attempt).model_dump_json()

    @overridable
    def convert(self) -> BaseModel:
        """Another name of `to_pydantic`."""
        return self.to_pydantic()

    async def ato_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """`to_pydantic`, beside the event loop."""
        return await in_thread(self.to_pydantic, current_attempt)

    async def ato_json(self, current_attempt: int = 1) -> Any:
        """`to_json`, beside the event loop."""
        return await in_thread(self.to_json, current_attempt)


class CreateConverterKwargs(TypedDict, total=False):
    """What a converter is made with."""

    llm: Any
    text: str
    model: type[BaseModel]
    instructions: str


def convert_to_model(
    result: str | BaseModel,
    output_pydantic: type[BaseModel] | None,
    output_json: type[BaseModel] | None,
    agent: Any = None,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """A text as the structure asked for: an instance, for `output_json` a dict; the text itself where that fails.

    Raises:
        TypeError: a model has to be asked, and there is neither agent nor converter.
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
    """A JSON text as an instance of a model, or as its fields.

    Raises:
        pydantic.ValidationError: it does not fit.
    """
    return _as_requested(model.model_validate_json(result), is_json_output)


def handle_partial_json(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: Any,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """The JSON that stands in a text, as `convert_to_model` gives it; a language model is asked where there is none."""
    found, _ = read_structure(result, model)
    if found is not None:
        return _as_requested(found, is_json_output)
    return convert_with_instructions(result, model, is_json_output, agent, converter_cls)


def convert_with_instructions(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: Any,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """What a language model makes of a text; the text itself where that does not fit.

    Raises:
        TypeError: there is neither agent nor converter.
    """
    if agent is None:
        raise TypeError(
            "the text holds no JSON that fits, so a model has to be asked: give `agent=`, whose model that is"
        )
    llm = getattr(agent, "function_calling_llm", None) or agent.llm
    instructions = get_conversion_instructions(model, llm)
    converter = create_converter(agent, converter_cls, llm=llm, text=result, model=model, instructions=instructions)
    try:
        return validate_model(converter.to_json(), model, True) if is_json_output else converter.to_pydantic()
    except ConverterError:
        return result


def create_converter(
    agent: Any = None, converter_cls: type[Converter] | None = None, *args: Any, **kwargs: Any
) -> Converter:
    """A converter of the given class, else of the agent's, made with the given keywords.

    Raises:
        ValueError: there is neither agent nor class.
    """
    if agent is None and converter_cls is None:
        raise ValueError("a converter needs `agent=` or `converter_cls=`")
    return (converter_cls or getattr(agent, "get_output_converter", Converter))(*args, **kwargs)


def get_conversion_instructions(model: type[BaseModel], llm: Any) -> str:
    """What a language model is told, to make it write a structure."""
    return english().slice("conversion_system", schema=described(model))


def generate_model_description(model: type[BaseModel]) -> str:
    """A model as a sketch of the JSON it wants."""
    return described(model)


async def async_convert_to_model(
    result: str | BaseModel,
    output_pydantic: type[BaseModel] | None,
    output_json: type[BaseModel] | None,
    agent: Any = None,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """`convert_to_model`, beside the event loop."""
    return await in_thread(convert_to_model, result, output_pydantic, output_json, agent, converter_cls)


async def async_handle_partial_json(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: Any,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """`handle_partial_json`, beside the event loop."""
    return await in_thread(handle_partial_json, result, model, is_json_output, agent, converter_cls)


async def async_convert_with_instructions(
    result: str,
    model: type[BaseModel],
    is_json_output: bool,
    agent: Any,
    converter_cls: type[Converter] | None = None,
) -> dict[str, Any] | BaseModel | str:
    """`convert_with_instructions`, beside the event loop."""
    return await in_thread(convert_with_instructions, result, model, is_json_output, agent, converter_cls)


def _as_requested(found: BaseModel, is_json_output: bool) -> dict[str, Any] | BaseModel:
    return found.model_dump(mode="json") if is_json_output else found
