"""Schemas of models and functions: JSON schemas, outlines for prompts, and models that validate arguments."""

import copyreg
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from types import FunctionType, MethodType, NoneType
from typing import Annotated, Any, Optional, TypeAlias, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import ErrorDetails
from typing_extensions import TypeIs

from crewgraph.annotations import argument_types, signature_of
from crewgraph.errors import DefinitionError
from crewgraph.functions import by_name, check_importable

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema as data: keywords and their values, https://json-schema.org/draft/2020-12."""

PlainDict: TypeAlias = dict[str, Any]
"""Plain data by name, as `crewgraph.core.plain` makes it: records, messages, the arguments of tools, and JSON documents."""

PlainMapping: TypeAlias = Mapping[str, Any]
"""Plain data by name that is only read."""

Metadata: TypeAlias = dict[str, Any]
"""What users attach to a memory, a passage or an answer: JSON values by name."""


def is_object(value: object) -> TypeIs[PlainDict]:
    """Return whether a value is a dict; its keys are taken to be names."""
    return isinstance(value, dict)


def is_mapping(value: object) -> TypeIs[PlainMapping]:
    """Return whether a value is a mapping; its keys are taken to be names."""
    return isinstance(value, Mapping)


def get_field(holder: object, name: str) -> object:
    """Return a value of a mapping or an attribute of an object; None if it is missing."""
    if is_mapping(holder):
        return holder.get(name)
    return getattr(holder, name, None)


def not_a_model(field: str, value: object) -> str | None:
    """Return what to write instead of a value that is no pydantic model, for a field that takes one; None if it is one."""
    if isinstance(value, BaseModel):
        return f"`{field}` is a pydantic model, the class: write `{type(value).__name__}`, not an instance of it"
    written = re.sub(r"\b(?>(?:\w++\.)+)|<class '|'>", "", repr(value))
    if isinstance(value, type) and issubclass(value, BaseModel):
        return None
    return f"`{field}` is a pydantic model, not `{written:.60}`; wrap it in one: `class Items(BaseModel): items: {written:.60}`"


def is_list(value: object) -> TypeIs[list[Any]]:
    """Return whether a value is a list."""
    return isinstance(value, list)


def is_sequence(value: object) -> TypeIs[list[Any] | tuple[Any, ...]]:
    """Return whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


_M = TypeVar("_M", bound=BaseModel)
_Schemas = Mapping[str, JsonSchema]
_SCHEMA_ERRORS = (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError)


class _Derived(type(BaseModel)):
    """The type of models that were created from something else. They pickle as what they were created from."""


def _reduced(model: type[BaseModel]) -> Any:
    create, arguments = vars(model).get(_RECIPE, (None, ()))
    if create is None:
        return model.__qualname__
    for argument in arguments:
        check_importable(argument)  # here and not in tools: `cloudpickle`, which copies functions, does not come here
    return create, tuple(by_name(argument) for argument in arguments)


copyreg.pickle(_Derived, _reduced)  # pyright: ignore[reportArgumentType]
_RECIPE = "__recipe__"


def derived_model(base: type[BaseModel], create: Callable[..., object], *arguments: object) -> type[BaseModel]:
    """Return a model like another one that pickles as a call of `create`, which makes it again."""
    model = create_model(base.__name__, __base__=base, __doc__=base.__doc__, __cls_kwargs__={"metaclass": _Derived})
    return _created(model, create, *arguments)


def _created(model: type[_M], create: Callable[..., object], *arguments: object) -> type[_M]:
    """Note how a model can be created again, and return it."""
    type.__setattr__(model, _RECIPE, (create, arguments))
    return model


class _Arguments(BaseModel, metaclass=_Derived):
    """The base of models created from signatures; arguments whose names cannot be field names have aliases."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _OpenArguments(_Arguments):
    """The arguments of a function that accepts `**kwargs`."""

    model_config = ConfigDict(extra="allow")


# ---------------------------------------------------------------- JSON schema
class _QuietGenerator(GenerateJsonSchema):
    """Leaves out defaults that JSON cannot express (sentinels) without a warning, which the user could not act on."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {
        "skipped-choice",
        "non-serializable-default",
    }


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model as providers accept it: definitions inlined, without titles.

    A recursive model keeps `$ref` and `$defs` for its recursive part.

    Raises:
        DefinitionError: A field has a type that JSON cannot express.
    """
    try:
        schema = model.model_json_schema(schema_generator=_QuietGenerator)
    except _SCHEMA_ERRORS as error:
        raise DefinitionError(
            f"the model `{model.__name__}` has no JSON schema: {error.message} "
            f"Use types that JSON can express, or leave the field out."
        ) from error
    return flat_schema(schema)


def flat_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert any JSON schema to the form that `json_schema` returns."""
    own = {key: value for key, value in schema.items() if key not in ("$defs", "definitions", "$schema")}
    definitions: dict[str, JsonSchema] = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    recurring: dict[str, JsonSchema] = {}
    inlined: JsonSchema = _inlined(own, definitions, (), recurring)
    return {**inlined, "$defs": recurring} if recurring else inlined


def _inlined(node: object, definitions: _Schemas, above: tuple[str, ...], recurring: dict[str, JsonSchema]) -> Any:
    if is_list(node):
        return [_inlined(item, definitions, above, recurring) for item in node]
    if not is_object(node):
        return node
    result = {
        key: value for key, value in node.items() if key not in ("$ref", "title") and not _is_unset_keyword(key, value)
    }
    result = {key: _inlined_value(key, value, definitions, above, recurring) for key, value in result.items()}
    if "$ref" not in node:
        return result
    name = str(node["$ref"]).rpartition("/")[2]
    if name not in definitions:  # it points outside of the schema and stays as it is
        return {"$ref": node["$ref"], **result}
    if name not in above:
        return {**_inlined(definitions[name], definitions, (*above, name), recurring), **result}
    if name not in recurring:
        recurring[name] = {}  # before recursing, since it refers to itself
        recurring[name] = _inlined(definitions[name], definitions, (*above, name), recurring)
    return {"$ref": f"#/$defs/{name}", **result}


def _is_unset_keyword(key: str, value: object) -> bool:
    """Return whether a keyword has no effect, as in schemas serialized with all keywords."""
    return (value is None and key not in ("default", "const")) or (value == [] and key in ("anyOf", "oneOf", "allOf"))


def _inlined_value(
    key: str, value: Any, definitions: _Schemas, above: tuple[str, ...], recurring: dict[str, JsonSchema]
) -> object:
    if key in ("default", "const", "enum", "examples"):
        return value
    if key in ("properties", "patternProperties"):  # the keys are names, which may include `title`
        return {name: _inlined(item, definitions, above, recurring) for name, item in value.items()}
    return _inlined(value, definitions, above, recurring)


# ---------------------------------------------------------------- outlines for prompts
def model_outline(model: type[BaseModel]) -> str:
    """Outline the JSON that a model accepts, for a prompt: one line for each field, with its type and description."""
    return schema_outline(json_schema(model))


def schema_outline(schema: Mapping[str, Any]) -> str:
    """Outline the JSON that a schema accepts; see `model_outline`."""
    definitions: dict[str, JsonSchema] = schema.get("$defs", {})
    return _outline(schema, definitions, "")


def _outline(schema: Mapping[str, Any], definitions: _Schemas, indent: str) -> str:
    if "$ref" in schema:
        return f"another {str(schema['$ref']).rpartition('/')[2]}"
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "enum" in schema:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(_outline(choice, definitions, indent) for choice in choices))
    kind = schema.get("type", "anything")
    if is_list(kind):
        return " or ".join(map(str, kind))
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_outline(item, definitions, indent) for item in schema['prefixItems'])}]"
        items: JsonSchema | bool | None = schema.get("items")
        return f"[{_outline(items, definitions, indent)}, ...]" if isinstance(items, dict) and items else "[...]"
    if kind == "object":
        return _object_outline(schema, definitions, indent)
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _object_outline(schema: Mapping[str, Any], definitions: _Schemas, indent: str) -> str:
    fields: Mapping[str, JsonSchema] = schema.get("properties", {})
    if not fields:
        values: JsonSchema | bool | None = schema.get("additionalProperties")
        if not isinstance(values, dict) or not values:
            return "{}"
        return f"{{name: {_outline(values, definitions, indent)}, ...}}"
    required: list[str] = schema.get("required", [])
    inner = indent + "  "
    lines: list[str] = []
    for name, field in fields.items():
        note = "; ".join(_field_notes(field, name in required))
        line = f"{inner}{json.dumps(name, ensure_ascii=False)}: {_outline(field, definitions, inner)}"
        lines.append(f"{line}  // {note}" if note else line)
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def _field_notes(field: Mapping[str, object], required: bool) -> Iterator[str]:
    if meaning := str(field.get("description", "")).strip():
        yield " ".join(meaning.split())
    for key, words in _BOUNDS.items():
        if key in field:
            yield f"{words} {field[key]}"
    if not required:
        default = field.get("default")
        yield "optional" if default is None else f"default {json.dumps(default, ensure_ascii=False)}"


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "minLength": "characters at least",
    "maxLength": "characters at most",
    "minItems": "items at least",
    "maxItems": "items at most",
    "pattern": "matching",
}


# ---------------------------------------------------------------- models from functions
def from_signature(function: Callable[..., Any], *, name: str) -> type[BaseModel]:
    """Create a model of the arguments of a function from its annotations, defaults and docstring.

    A parameter without an annotation accepts anything; one with the default None also accepts None. `*args` is
    left out, and `**kwargs` allows any further argument. A parameter of a type that JSON cannot express (a
    connection, a callback) is left out if it has a default. The text about a parameter in the docstring becomes
    its description.

    Args:
        function: A function or a bound method; `self` and `cls` of an unbound one are left out.
        name: The model's name.

    Raises:
        DefinitionError: The signature cannot be read, or requires an argument that a model cannot write.
    """
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"the signature of {function!r} cannot be read: {error}. Pass `args_schema`.") from error
    hints, descriptions = _hints(function), _parameter_descriptions(inspect.getdoc(function) or "")
    fields: dict[str, Any] = {}
    is_open = False
    for position, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind is parameter.VAR_POSITIONAL or (
            position == 0 and parameter.name in ("self", "cls") and parameter.annotation is parameter.empty
        ):
            continue
        elif field := _argument_field(
            function, parameter, hints.get(parameter.name, Any), descriptions.get(parameter.name)
        ):
            fields[_argument_field_name(parameter.name)] = field
    model = create_model(name, __base__=_OpenArguments if is_open else _Arguments, **fields)
    is_bound = isinstance(function, MethodType)
    return _created(model, _signature_model, function.__func__ if is_bound else function, is_bound, name)


def _signature_model(function: FunctionType, is_bound: bool, name: str) -> type[BaseModel]:
    return from_signature(MethodType(function, object()) if is_bound else function, name=name)


def from_json_schema(schema: Mapping[str, Any], *, name: str) -> type[BaseModel]:
    """Create a model with the given JSON schema that passes its values on unchecked, for a function that checks them itself."""

    def model_json_schema(_: type[BaseModel], *args: Any, **kwargs: object) -> dict[str, Any]:
        return deepcopy(dict(schema))

    members = {"model_json_schema": classmethod(model_json_schema), "__doc__": schema.get("description")}
    model = cast(type[BaseModel], type(name, (_OpenArguments,), {**members, "__module__": __name__}))
    return _created(model, _from_json_schema, schema, name)


def _from_json_schema(schema: Mapping[str, Any], name: str) -> type[BaseModel]:
    return from_json_schema(schema, name=name)


def text_fields_model(name: str, meanings: Mapping[str, str]) -> type[BaseModel]:
    """Create a model of required text fields, whose aliases are the given names.

    Args:
        name: The model's name.
        meanings: The description of each text, by name.
    """
    fields: dict[str, Any] = {
        f"text_{number}": (str, Field(alias=field_name, description=meaning))
        for number, (field_name, meaning) in enumerate(meanings.items())
    }
    return _created(create_model(name, __base__=_Arguments, **fields), text_fields_model, name, dict(meanings))


def _hints(function: Callable[..., Any]) -> dict[str, object]:
    try:
        return argument_types(function)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        where = getattr(function, "__qualname__", repr(function))
        raise DefinitionError(
            f"an annotation of `{where}` cannot be understood: {error}. "
            f"Import the names it uses at the top of the module, or pass `args_schema`."
        ) from error


def _argument_field(
    function: Callable[..., Any], parameter: inspect.Parameter, hint: Any, description: str | None
) -> object:
    has_default = parameter.default is not parameter.empty
    where = f"the parameter `{parameter.name}` of `{getattr(function, '__qualname__', function)}`"
    if parameter.kind is parameter.POSITIONAL_ONLY:
        if has_default:
            return None
        raise DefinitionError(f"{where} is positional-only, but models name every argument. Remove the `/`.")
    if not _has_json_schema(hint):
        if has_default:
            return None
        raise DefinitionError(
            f"{where} has the type {hint!r}, which a model cannot write. "
            f"Give it a default, take it from the tool's own fields, or pass `args_schema`."
        )
    if has_default and parameter.default is None and not _accepts_none(hint):
        hint = Optional[hint]  # noqa: UP045  (`hint | None` fails where a hint is a string or Any-like object)
    options: dict[str, Any] = {"default": parameter.default if has_default else ...}
    if meaning := _annotated_description(hint) or description:
        options["description"] = meaning
    if _argument_field_name(parameter.name) != parameter.name:
        options["alias"] = parameter.name
    return (hint, Field(**options))


def _has_json_schema(hint: Any) -> bool:
    try:
        TypeAdapter(hint).json_schema(schema_generator=_QuietGenerator)
    except _SCHEMA_ERRORS:
        return False
    return True


def _accepts_none(hint: object) -> bool:
    if hint is Any or hint is NoneType or hint is None:
        return True
    if get_origin(hint) is Annotated:
        return _accepts_none(get_args(hint)[0])
    return NoneType in get_args(hint)


def _annotated_description(hint: object) -> str | None:
    if get_origin(hint) is not Annotated:
        return None
    for extra in get_args(hint)[1:]:
        if isinstance(extra, FieldInfo) and extra.description:
            return extra.description
    return next((extra for extra in get_args(hint)[1:] if isinstance(extra, str)), None)


def _argument_field_name(name: str) -> str:
    """Return the name of an argument's field: prefixed if the argument's name would shadow a member of BaseModel."""
    is_hiding = name.startswith(("_", "model_")) or hasattr(BaseModel, name)
    return f"argument_{name.lstrip('_')}" if is_hiding else name


_SECTION = re.compile(r"^(?:Args|Arguments|Parameters|Params):?[ \t]*$")
_ENTRY = re.compile(r"^\*{0,2}(\w++)[ \t]*+(?:\([^)]*+\)[ \t]*+)?:[ \t]*+(.*)$")
_REST_ENTRY = re.compile(r"^[ \t]*+:param[ \t](?:[^:]*[ \t])?(\w++):[ \t]*+(.*)$")


def _parameter_descriptions(docstring: str) -> dict[str, str]:
    """Return the text about each parameter in a docstring (an `Args:` section or `:param x:` lines)."""
    notes: dict[str, list[str]] = {}
    section_indent: int | None = None
    entry_indent, current = 0, None
    for line in docstring.splitlines():
        indent, text = len(line) - len(line.lstrip()), line.strip()
        if match := _REST_ENTRY.match(line):
            current, entry_indent, section_indent = match[1], indent, None
            notes[current] = [match[2]]
        elif _SECTION.match(text):
            section_indent, entry_indent, current = indent, 0, None
        elif not text:
            current = None if section_indent is None else current
        elif current and indent > entry_indent:
            notes[current].append(text)
        elif section_indent is not None and indent > section_indent and (match := _ENTRY.match(text)):
            current, entry_indent = match[1], indent
            notes[current] = [match[2]]
        elif section_indent is not None and indent <= section_indent:
            section_indent, current = None, None
    return {name: " ".join(" ".join(lines).split()) for name, lines in notes.items() if any(lines)}


# ---------------------------------------------------------------- validation
def validated(model: type[_M], data: object) -> _M:
    """Validate data as an instance of a model; a string is parsed as JSON.

    Raises:
        pydantic.ValidationError: The data do not fit (also ValueError).
    """
    if isinstance(data, str):
        return model.model_validate_json(data)
    return model.model_validate(data)


def fault_text(fault: ErrorDetails) -> str:
    """Return what is wrong with a value, in the words of the validator that refused it, without pydantic's "Value error"."""
    return fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def call_arguments(instance: BaseModel) -> dict[str, Any]:
    """Return the keyword arguments of a function call from the validated arguments.

    Nested models and dataclasses are dicts, as in CrewAI, also where a parameter is annotated with them. Unset fields have
    their defaults.
    """
    return instance.model_dump(by_alias=isinstance(instance, _Arguments))


def is_derived(model: type[BaseModel]) -> bool:
    """Return whether a model of arguments was created by `from_signature`."""
    return issubclass(model, _Arguments)


def trusted(model: type[_M], fields: dict[str, Any]) -> _M:
    """Return an instance of a model without validating its fields: all of them, in their order, none private or extra."""
    instance = model.__new__(model)
    object.__setattr__(instance, "__dict__", fields)
    object.__setattr__(instance, "__pydantic_fields_set__", set(fields))
    object.__setattr__(instance, "__pydantic_extra__", None)
    object.__setattr__(instance, "__pydantic_private__", None)
    return instance
