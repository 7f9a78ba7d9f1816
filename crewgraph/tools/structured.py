"""A tool around a function: `CrewStructuredTool`.

The names models call tools by.

How often a tool may be used.
"""

import hashlib
import inspect
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Protocol, TypeVar, cast

from pydantic import BaseModel, ValidationError

from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import ToolSpec
from crewgraph.errors import DefinitionError, LimitReached, ToolFailed
from crewgraph.schema import call_arguments, flat_schema, from_signature, json_schema, outline, validated
from crewgraph.tools.failure import ToolFailurePolicy
from crewgraph.tools.results import result_schema_of, result_text

__all__ = [
    "CrewStructuredTool",
    "InvalidArguments",
    "UsageCounted",
    "UsageLimitReached",
    "claim_use",
    "find_tool",
    "model_name",
    "prompt_text",
    "tool_spec",
]


_T = TypeVar("_T")
_MAX_LENGTH = 64
_INVALID = re.compile(r"[^A-Za-z0-9_-]+")


def model_name(title: str) -> str:
    """A tool's name as every provider takes it: 1 to 64 of a-z, A-Z, 0-9, `_` and `-`.

    Accents are taken off. Where letters of other scripts are lost, or the end is cut off, a few digits made
    from the whole title keep different titles apart; they are the same in every process.
    """
    ascii_title = "".join(char for char in unicodedata.normalize("NFKD", title) if not unicodedata.combining(char))
    name = _INVALID.sub("_", ascii_title).strip("_")
    is_whole = not any(char.isalnum() and not char.isascii() for char in ascii_title) and 0 < len(name) <= _MAX_LENGTH
    if is_whole:
        return name
    digits = hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name[: _MAX_LENGTH - 9].rstrip('_') or 'tool'}_{digits}"


def find_tool(written: str, tools: Mapping[str, _T]) -> _T | None:
    """The tool a model means by what it wrote: its name, or the same in other letters, spaces or quotes.

    Args:
        written: What stands where a tool's name should.
        tools: Tools by model name.
    """
    if (exact := tools.get(written)) is not None:
        return exact
    name = model_name(written.strip().strip("`'\"*").strip())
    if (match := tools.get(name)) is not None:
        return match
    matches = [tool for known, tool in tools.items() if _loose_name(known) == _loose_name(name)]
    return matches[0] if len(matches) == 1 else None


def _loose_name(name: str) -> str:
    return name.casefold().replace("-", "_").replace("_", "")


_lock = Lock()
"""One for all tools: a tool must stay copyable, and the count is the only thing done under it."""


class UsageLimitReached(LimitReached):
    """A tool was used as often as its `max_usage_count` allows."""


class UsageCounted(Protocol):
    """Something with a count of uses."""

    name: str
    max_usage_count: int | None
    current_usage_count: int


def claim_use(tool: UsageCounted) -> None:
    """Count one more use, before it happens.

    Raises:
        UsageLimitReached: There is none left; nothing is counted.
    """
    with _lock:
        if tool.max_usage_count is not None and tool.current_usage_count >= tool.max_usage_count:
            times = "once" if tool.max_usage_count == 1 else f"{tool.max_usage_count} times"
            raise UsageLimitReached(f"`{tool.name}` may be used {times} and has been. Go on without it.")
        object.__setattr__(tool, "current_usage_count", tool.current_usage_count + 1)  # it may be frozen


class InvalidArguments(ToolFailed, ValueError):
    """The arguments given to a tool do not fit what it takes."""


class _Nothing(BaseModel):
    """What a tool without a function takes."""


def _no_function(**arguments: Any) -> Any:
    raise ToolFailed("the tool has no function; give it `func`")


class CrewStructuredTool:
    """A function with a name, a description and a schema of its arguments, which is made from the function where None.

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
        if func is not None:
            _check_parameters(name, func, self.args_schema)

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
        """A tool from a function.

        Args:
            func: What it does; sync or async.
            name: Else the function's.
            description: Else the function's docstring.
            return_direct: Whether its result is the agent's answer.
            args_schema: Else made from the signature.
            infer_schema: Whether it may be made from the signature.
            **kwargs: Further settings of the tool.

        Raises:
            DefinitionError: It has no description or no schema.
        """
        title = name or getattr(func, "__name__", type(func).__name__)
        text = description or inspect.getdoc(func)
        if not text:
            raise DefinitionError(
                f"the tool `{title}` has no description, so no model knows when to use it. "
                f"Write a docstring, or give `description`."
            )
        if args_schema is None and not infer_schema:
            raise DefinitionError(f"the tool `{title}` has no schema. Give `args_schema`, or let it be inferred.")
        schema = args_schema or from_signature(func, name=f"{title.title().replace(' ', '')}Schema")
        return cls(title, text, schema, func, return_direct, **kwargs)

    @property
    def args(self) -> dict[str, Any]:
        """The JSON schema of each argument."""
        return self.spec["parameters"].get("properties", {})

    @property
    def spec(self) -> ToolSpec:
        """How a model sees it."""
        return tool_spec(self.name, self.description, self.args_schema)

    @property
    def prompt_text(self) -> str:
        """How a prompt tells of it."""
        return prompt_text(self.spec)

    @property
    def formatted_description(self) -> str:
        """How a prompt tells of it, under the name that CrewAI has for that."""
        return self.prompt_text

    def format_output_for_agent(self, raw_result: Any) -> str:
        """What a model is shown of a result."""
        return result_text(self.name, self.result_schema, raw_result)

    def has_reached_max_usage_count(self) -> bool:
        """Whether it was used as often as it may be."""
        return self.max_usage_count is not None and self.current_usage_count >= self.max_usage_count

    def invoke(self, input: str | dict[str, Any], config: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """Use it.

        Args:
            input: The arguments, as a dict or as a JSON text.
            config: Of no effect; there for the callers of LangChain tools.
            **kwargs: Given to the function as they are.

        Returns:
            What the function returns; if that is async, what it gives in the end.

        Raises:
            InvalidArguments: The arguments do not fit.
            UsageLimitReached: It was used as often as it may be.
        """
        arguments = self._arguments(input)
        claim_use(self)
        return call(self.func, **(arguments | kwargs))

    async def ainvoke(self, input: str | dict[str, Any], config: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """The same; a function that blocks does so in a thread."""
        arguments = self._arguments(input)
        claim_use(self)
        return await acall(self.func, **(arguments | kwargs))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if args:
            return self.invoke(args[0], **kwargs)
        return self.invoke(kwargs)

    def _arguments(self, input: str | dict[str, Any]) -> dict[str, Any]:
        try:
            parsed = json.loads(input) if isinstance(input, str) else input
        except ValueError as error:
            raise InvalidArguments(f"the arguments of `{self.name}` are no JSON: {error}") from error
        try:
            return call_arguments(validated(self.args_schema, cast(Any, parsed)))
        except ValidationError as error:
            raise InvalidArguments(f"the arguments of `{self.name}` do not fit: {error}") from error

    def __repr__(self) -> str:
        return f"CrewStructuredTool(name={self.name!r}, description={self.description!r})"


def _check_parameters(name: str, func: Callable[..., Any], schema: type[BaseModel]) -> None:
    known = set(schema.model_fields) | {field.alias for field in schema.model_fields.values()}
    for parameter in inspect.signature(func).parameters.values():
        is_variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not is_variable and parameter.name not in known:
            raise DefinitionError(
                f"the tool `{name}` requires `{parameter.name}`, which its `args_schema` does not have. "
                f"Add the field `{parameter.name}` to `{schema.__name__}`, or give the parameter a default."
            )


def tool_spec(title: str, description: str, schema: type[BaseModel] | dict[str, Any]) -> ToolSpec:
    """A tool as a model sees it, with a name that every provider takes."""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    parameters |= flat_schema(schema) if isinstance(schema, dict) else json_schema(schema)
    parameters.pop("description", None)  # the schema's docstring; the tool has a description of its own
    return {"name": model_name(title), "description": description, "parameters": parameters}


def prompt_text(spec: ToolSpec) -> str:
    """A tool as a prompt tells of it, where calls are written as text."""
    description = inspect.cleandoc(spec["description"])
    if not spec["parameters"].get("properties"):
        return f"{spec['name']}: {description}\nArguments: none, {{}}"
    return f"{spec['name']}: {description}\nArguments: {outline(spec['parameters'])}"
