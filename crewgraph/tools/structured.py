"""`CrewStructuredTool`, a tool made of a function; tools as models see them, and usage limits."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Protocol, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from crewgraph.annotations import signature_of
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import ToolSpec
from crewgraph.errors import DefinitionError, LimitReached, ToolFailed
from crewgraph.functions import by_name, restored
from crewgraph.redaction import redact_text
from crewgraph.schema import (
    JsonSchema,
    PlainDict,
    call_arguments,
    fault_text,
    flat_schema,
    from_signature,
    is_derived,
    json_schema,
    schema_outline,
    validated,
)
from crewgraph.text import model_name, shorten
from crewgraph.tools.failure import ToolFailurePolicy
from crewgraph.tools.results import result_schema_of, result_text

_T = TypeVar("_T")

DOCSTRINGS_REMOVED = " Python runs with `-OO`, which removes docstrings: use `-O`." if sys.flags.optimize > 1 else ""
"""Added to errors about a missing docstring."""


_lock = Lock()
"""Shared by all tools: it is held only to count, and tools stay copyable."""


class UsageLimitReached(LimitReached):
    """A tool was used `max_usage_count` times."""


class UsageCounted(Protocol):
    """An object with a usage limit."""

    name: str
    max_usage_count: int | None
    current_usage_count: int


def claim_use(tool: UsageCounted) -> None:
    """Count a use before it happens.

    Raises:
        UsageLimitReached: No use is left; nothing is counted.
    """
    with _lock:
        if tool.max_usage_count is not None and tool.current_usage_count >= tool.max_usage_count:
            times = "once" if tool.max_usage_count == 1 else f"{tool.max_usage_count} times"
            raise UsageLimitReached(f"`{tool.name}` may be used {times} and has been. Go on without it.")
        object.__setattr__(tool, "current_usage_count", tool.current_usage_count + 1)  # the tool may be frozen


class InvalidArguments(ToolFailed, ValueError):
    """The arguments do not match the schema of the tool."""


def keyword_names(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the parameter names of a function; None if it accepts any keyword."""
    parameters = signature_of(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return frozenset(parameters)


def checked_arguments(
    name: str, schema: type[BaseModel], function: Callable[..., Any], raw_arguments: Mapping[str, object]
) -> dict[str, Any]:
    """Validate and convert the keyword arguments of a program's call of a tool.

    Arguments that neither the schema nor, where the schema was derived from it, the function has are dropped, as are
    defaults that the function does not accept.

    Raises:
        InvalidArguments: The arguments do not match the schema.
    """
    try:
        arguments = call_arguments(validated(schema, dict(raw_arguments)))
    except ValidationError as error:
        problems = "; ".join(_schema_problem(detail) for detail in error.errors(include_url=False))
        outline = schema_outline(json_schema(schema))
        raise InvalidArguments(f"the arguments of `{name}` are invalid: {problems}. It takes: {outline}") from error
    accepted = keyword_names(function)
    if accepted is None:
        return arguments
    if is_derived(schema):  # what models cannot write is not in the schema, but a program may give it
        arguments = {key: raw_arguments[key] for key in raw_arguments if key in accepted} | arguments
    return {key: value for key, value in arguments.items() if key in accepted or key in raw_arguments}


def _schema_problem(error: ErrorDetails) -> str:
    location = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"`{location}` is missing"
    message = f"{fault_text(error)} (given: {shorten(repr(error['input']), _QUOTED_CHARACTERS)})"
    return f"`{location}`: {message}" if location else message


_QUOTED_CHARACTERS = 200
"""Maximum number of characters of an invalid value that are quoted."""


class _Nothing(BaseModel):
    """What a tool without a function takes."""


def _no_function(**arguments: object) -> object:
    raise ToolFailed("the tool has no function; set `func`")


class CrewStructuredTool:
    """A tool with a function; `args_schema` is derived from its signature if it is None.

    Raises:
        DefinitionError: The function requires a parameter that `args_schema` does not have.
    """

    def __init__(
        self,
        name: str = "",
        description: str = "",
        args_schema: type[BaseModel] | None = None,
        func: Callable[..., Any] | None = None,
        result_as_answer: bool = False,
        max_usage_count: int | None = None,
        current_usage_count: int = 0,
        *,
        once: bool = False,
        cache_function: Callable[..., bool] | None = None,
        require_approval: bool | Callable[..., Any] = False,
        result_schema: type[BaseModel] | None = None,
        tool_failure_policy: ToolFailurePolicy | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.args_schema = args_schema or (_Nothing if func is None else from_signature(func, name="Arguments"))
        self.func = func or _no_function
        self.result_as_answer = result_as_answer
        self.max_usage_count = max_usage_count
        self.current_usage_count = current_usage_count
        self.once = once
        self.cache_function = cache_function
        self.require_approval = require_approval
        self.result_schema = result_schema or result_schema_of(self.func)
        self.tool_failure_policy = tool_failure_policy
        self._rendered_by: Callable[[object], str] | None = None
        if func is not None:
            check_parameters(name, func, self.args_schema)

    def __getstate__(self) -> PlainDict:
        names = ("func", "cache_function", "require_approval")
        return {**vars(self), **{name: by_name(vars(self)[name], f"`{name}` of tool `{self.name}`") for name in names}}

    def __setstate__(self, state: PlainDict) -> None:
        vars(self).update({name: restored(value) for name, value in state.items()})

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any],
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        args_schema: type[BaseModel] | None = None,
        infer_schema: bool = True,
        **kwargs: Any,
    ) -> "CrewStructuredTool":
        """Create a tool from a function.

        Args:
            func: The function, sync or async.
            name: The name; defaults to the name of the function.
            description: The description; defaults to the docstring.
            return_direct: Whether the result becomes the agent's final answer.
            args_schema: The arguments; derived from the signature by default.
            infer_schema: Whether `args_schema` may be derived.
            **kwargs: Further arguments of the constructor.

        Raises:
            DefinitionError: There is no description or no schema.
        """
        title = name or getattr(func, "__name__", type(func).__name__)
        text = description or inspect.getdoc(func)
        if not text:
            raise DefinitionError(
                f"the tool `{title}` has no description, which tells models when to use it. "
                f"Write a docstring, or pass `description`.{DOCSTRINGS_REMOVED}"
            )
        if args_schema is None and not infer_schema:
            raise DefinitionError(f"the tool `{title}` has no schema. Pass `args_schema`, or set `infer_schema=True`.")
        schema = args_schema or from_signature(func, name=f"{title.title().replace(' ', '')}Schema")
        return cls(title, text, schema, func, return_direct, **kwargs)

    @property
    def args(self) -> PlainDict:
        """The JSON schema of each argument."""
        return self.spec["parameters"].get("properties", {})

    @property
    def spec(self) -> ToolSpec:
        """The tool as models see it."""
        return tool_spec(self.name, self.description, self.args_schema)

    @property
    def prompt_text(self) -> str:
        """The tool as described in a prompt."""
        return prompt_text(self.spec)

    @property
    def formatted_description(self) -> str:
        """CrewAI's name for `prompt_text`."""
        return self.prompt_text

    def format_output_for_agent(self, raw_result: object) -> str:
        """Return the text of a result for the model, in the form that the tool has which this one was converted from."""
        if self._rendered_by is not None:
            return self._rendered_by(raw_result)
        return result_text(self.name, self.result_schema, raw_result)

    def rendered_by(self, render: Callable[[object], str]) -> "CrewStructuredTool":
        """Let a function give the text of results, and return this tool."""
        self._rendered_by = render
        return self

    def invoke(self, input: str | PlainDict, config: PlainDict | None = None, **kwargs: object) -> Any:
        """Call the function and count the use.

        Args:
            input: The arguments as a dict or as JSON text.
            config: Has no effect; accepted for compatibility with LangChain tools.
            **kwargs: Passed to the function without validation.

        Returns:
            The result of the function; coroutines are awaited.

        Raises:
            InvalidArguments: The arguments do not match the schema.
            UsageLimitReached: The tool was used `max_usage_count` times.
        """
        arguments = self._arguments(input)
        claim_use(self)
        return call(self.func, **(arguments | kwargs))

    async def ainvoke(self, input: str | PlainDict, config: PlainDict | None = None, **kwargs: object) -> Any:
        """Async version of `invoke`; sync functions run in a thread."""
        arguments = self._arguments(input)
        claim_use(self)
        return await acall(self.func, **(arguments | kwargs))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if args:
            return self.invoke(args[0], **kwargs)
        return self.invoke(kwargs)

    def _arguments(self, input: str | dict[str, object]) -> dict[str, object]:
        try:
            parsed = json.loads(input) if isinstance(input, str) else input
        except ValueError as error:
            raise InvalidArguments(f"the arguments of `{self.name}` are not JSON: {error}") from error
        try:
            return call_arguments(validated(self.args_schema, cast(Any, parsed)))
        except ValidationError as error:
            raise InvalidArguments(f"the arguments of `{self.name}` are invalid: {error}") from error

    def __repr__(self) -> str:
        return redact_text(f"CrewStructuredTool(name={self.name!r}, description={self.description!r})")


def check_parameters(name: str, func: Callable[..., object], schema: type[BaseModel]) -> None:
    """Check that a schema has what the function of a tool requires.

    Raises:
        DefinitionError: it lacks a parameter.
    """
    if is_derived(schema):
        return
    known = set(schema.model_fields) | {field.alias for field in schema.model_fields.values()}
    for parameter in signature_of(func).parameters.values():
        is_variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not is_variable and parameter.name not in known:
            raise DefinitionError(
                f"the tool `{name}` requires `{parameter.name}`, which its `args_schema` does not have. "
                f"Add the field `{parameter.name}` to `{schema.__name__}`, or give the parameter a default."
            )


def tool_spec(title: str, description: str, schema: type[BaseModel] | JsonSchema) -> ToolSpec:
    """Return a tool as models see it, with a name that all providers accept."""
    parameters: dict[str, object] = {"type": "object", "properties": {}}
    parameters |= flat_schema(schema) if isinstance(schema, dict) else json_schema(schema)
    parameters.pop("description", None)  # the docstring of the schema: the tool has its own description
    return {"name": model_name(title), "description": description, "parameters": parameters}


def prompt_text(spec: ToolSpec) -> str:
    """Describe a tool in a prompt with the text protocol."""
    description = inspect.cleandoc(spec["description"])
    if not spec["parameters"].get("properties"):
        return f"{spec['name']}: {description}\nArguments: none, {{}}"
    return f"{spec['name']}: {description}\nArguments: {schema_outline(spec['parameters'])}"
