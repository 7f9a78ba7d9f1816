"""From a text to a structure, step by step, for programs that do it themselves; tasks do it as a part of their work."""

from typing import Any, TypedDict

from pydantic import BaseModel, ValidationError

from crewgraph.core.loops.bridge import in_thread
from crewgraph.definitions.converter import Converter
from crewgraph.errors import ConverterError
from crewgraph.llm.structure import read_structure
from crewgraph.prompts.book import english
from crewgraph.schema import described

__all__ = [
    "CreateConverterKwargs",
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
    return _shaped(model.model_validate_json(result), is_json_output)


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
        return _shaped(found, is_json_output)
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


def _shaped(found: BaseModel, is_json_output: bool) -> dict[str, Any] | BaseModel:
    return found.model_dump(mode="json") if is_json_output else found
