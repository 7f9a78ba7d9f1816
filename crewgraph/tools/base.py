"""User-defined tools: subclasses of `BaseTool`, and functions with `@tool`.

`ToolType` accepts tool fields without annotations, as pydantic 1 did; `approval_of` returns whether calls need approval.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Self, cast, dataclass_transform, overload

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.annotations import annotations_in
from crewgraph.core.loops.bridge import acall, call, resolved
from crewgraph.core.messages import ToolSpec
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import DefinitionError
from crewgraph.functions import by_name, restored
from crewgraph.redaction import RedactedModel
from crewgraph.schema import from_signature, is_object
from crewgraph.tools.failure import ToolFailure, ToolFailurePolicy, ToolFailureReason
from crewgraph.tools.langchain import LangChainCall, is_langchain_tool, langchain_tool
from crewgraph.tools.results import Rendered, restore_result, result_schema_of, result_text
from crewgraph.tools.structured import (
    DOCSTRINGS_REMOVED,
    CrewStructuredTool,
    UsageLimitReached,
    checked_arguments,
    claim_use,
    prompt_text,
    tool_spec,
)

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as ModelType
else:
    ModelType = type(BaseModel)

_FUNCTIONS = frozenset({"cache_function", "require_approval", "func"})
"""The fields of tools that may hold a function."""

_PLAIN_TYPES = (str, int, float, bool, list, dict, tuple, set)


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, PrivateAttr))
class ToolType(ModelType):
    """Metaclass of tools that also makes fields of values without an annotation."""

    def __new__(mcs, name: str, bases: tuple[type[Any], ...], namespace: dict[str, Any], **keywords: Any) -> object:
        if untyped := _untyped_fields(bases, namespace):
            namespace = {**namespace, "__annotations__": {**annotations_in(namespace), **untyped}}
            fields = ", ".join(f"`{field}`" for field in untyped)
            warn_deprecated(f"{fields} without a type in the class `{name}`", 'write the type: `name: str = "..."`')
        return super().__new__(mcs, name, bases, namespace, **keywords)


def _untyped_fields(bases: tuple[type[object], ...], namespace: dict[str, object]) -> dict[str, object]:
    """Return the fields without an annotation, with the types of the base class's field or of their value."""
    known = {
        name: field.annotation
        for base in reversed(bases)
        for name, field in (base.model_fields if issubclass(base, BaseModel) else {}).items()
    }
    values = {name: value for name, value in namespace.items() if not name.startswith(("_", "model_"))}
    candidates = {
        name: known.get(name, type(cast("object", value)))
        for name, value in values.items()
        if isinstance(value, _PLAIN_TYPES) or (name in known and not _is_member_function(value))
    }
    if not candidates:
        return {}
    annotated = annotations_in(namespace)
    return {name: annotation for name, annotation in candidates.items() if name not in annotated}


def _is_member_function(value: Any) -> bool:
    return inspect.isroutine(value) or isinstance(value, (property, staticmethod, classmethod))


_APPROVAL = "require_approval"


def approval_of(tool: Any) -> bool | Callable[..., Any]:
    """Return `require_approval` of a tool of any kind, from the attribute or from the tool's `metadata`.

    Returns:
        Whether a person has to approve each call, or a function that decides this from the arguments of a call.

    Raises:
        DefinitionError: The value is neither a bool nor a function.
    """
    approval: object = getattr(tool, _APPROVAL, None)
    if approval is None:
        metadata = getattr(tool, "metadata", None)
        approval = metadata.get(_APPROVAL) if is_object(metadata) else None
    if isinstance(approval, bool) or callable(approval):
        return approval
    if approval is None:
        return False
    raise DefinitionError(
        f"`{_APPROVAL}` of the tool `{tool.name}` is {approval!r:.80}. Pass True, False, or a function that takes the "
        "arguments as a dict and says whether to ask a person."
    )


class EnvVar(BaseModel):
    """An environment variable that a tool needs."""

    name: str
    """Its name: `"SEARCH_KEY"`."""

    description: str
    """What it is for."""

    required: bool = True
    """Whether the tool cannot work without it."""

    default: str | None = None
    """The value if it is not set."""


class _FromSignature(BaseModel):
    """Default of `args_schema`: derive the schema from the signature of `_run`."""


def keep_always(_arguments: object = None, _result: object = None) -> bool:
    """Default `cache_function`: cache every result."""
    return True


def keep_never(_arguments: object = None, _result: object = None) -> bool:
    """A `cache_function` that rejects every result: the tool acts, or another call may answer differently."""
    return False


class BaseTool(RedactedModel, ABC, metaclass=ToolType):
    """Base class of tools.

    Subclasses set `name` and `description` and implement `_run`, whose parameters are the arguments of the tool.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    """The name; for models, characters other than letters, digits, `_` and `-` are replaced."""

    description: str
    """What the tool does and when to use it, for the model; `prompt_text` renders it together with the arguments."""

    env_vars: list[EnvVar] = Field(default_factory=list[EnvVar])
    """Environment variables that the tool needs: `[EnvVar(name="SEARCH_KEY", description="The key of the search service")]`."""

    args_schema: type[BaseModel] = _FromSignature
    """A pydantic model of the arguments; derived from the signature of `_run` if not set."""

    result_schema: type[BaseModel] | None = None
    """The type of results, which models see as JSON; taken from the annotation of `_run` if that is a pydantic model."""

    description_updated: bool = False
    """Has no effect; accepted for compatibility."""

    cache_function: Callable[..., bool] = keep_always
    """Called with the arguments and the result; returns whether the result may be cached:
    `lambda arguments, result: result != "unknown"`."""

    result_as_answer: bool = False
    """Whether the result becomes the agent's final answer."""

    max_usage_count: int | None = None
    """Maximum number of uses; None for no limit."""

    current_usage_count: int = 0
    """Number of uses in this process."""

    once: bool = False
    """Whether a call must never be repeated: if a crash leaves its outcome unknown, it is reported instead of retried."""

    require_approval: bool | Callable[..., Any] = False
    """Whether a person has to approve each call by an agent, or a function that decides this from the arguments, a dict:
    `lambda arguments: arguments["euros"] > 100`."""

    tool_failure_policy: ToolFailurePolicy | None = None
    """What happens when the tool fails: "ignore", "warn" (the failure is listed in the output) or "raise" (the task fails); None
    for the policy of the task, the agent or the crew."""

    @field_validator("max_usage_count")
    @classmethod
    def validate_max_usage_count(cls, value: int | None) -> int | None:
        """Reject limits below 1."""
        if value is not None and value < 1:
            raise ValueError("`max_usage_count` must be 1 or more, or None for no limit")
        return value

    @field_validator("args_schema", mode="before")
    @classmethod
    def _default_schema(cls, value: Any) -> object:
        return _FromSignature if value is None else value

    @model_validator(mode="after")
    def _read_signature(self) -> Self:
        args_schema = cast("type[BaseModel] | None", self.args_schema)
        if args_schema is None or args_schema is _FromSignature:
            # Bypass pydantic: a subclass may be frozen or validate assignments.
            schema = from_signature(self._function, name=f"{type(self).__name__}Schema")
            object.__setattr__(self, "args_schema", schema)
        if self.result_schema is None and (returned := result_schema_of(self._function)) is not None:
            object.__setattr__(self, "result_schema", returned)
        return self

    @property
    def _function(self) -> Callable[..., Any]:
        return self._run

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
        """Return the text of a result for the model; override it to customize the format.

        Args:
            raw_result: What `_run` returned; in a run resumed after a crash, restored from the recorded data.
        """
        return result_text(self.name, self.result_schema, raw_result)

    @abstractmethod
    def _run(self, *args: Any, **kwargs: Any) -> object:
        """Execute the tool; may be async."""

    async def _arun(self, *args: Any, **kwargs: Any) -> object:
        """Execute the tool in an async run; by default, call `_run`, in a thread if it is sync."""
        return await acall(self._run, *args, **kwargs)

    def run(self, *args: Any, **kwargs: object) -> Any:
        """Execute the tool and count the use.

        Args:
            *args: Passed to `_run` as they are; with them, nothing is checked.
            **kwargs: Checked and converted by `args_schema`; unknown ones are dropped.

        Returns:
            What `_run` returns; a `ToolFailure` if the tool was used `max_usage_count` times.

        Raises:
            InvalidArguments: The arguments do not match the schema (also ValueError).
        """
        arguments = self._checked(args, kwargs)
        return self._limit_reached() or call(self._run, *args, **arguments)

    async def arun(self, *args: Any, **kwargs: object) -> Any:
        """Async version of `run`.

        Raises:
            InvalidArguments: The arguments do not match the schema (also ValueError).
        """
        arguments = self._checked(args, kwargs)
        return self._limit_reached() or await self._arun(*args, **arguments)

    def _limit_reached(self) -> ToolFailure | None:
        """Count a use; if none is left, return what says so."""
        try:
            claim_use(self)
        except UsageLimitReached as error:
            return ToolFailure(message=str(error), reason=ToolFailureReason.USAGE_LIMIT)

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, object]) -> dict[str, object]:
        return kwargs if args else checked_arguments(self.name, self.args_schema, self._function, kwargs)

    def reset_usage_count(self) -> None:
        """Reset the usage counter to 0."""
        self.current_usage_count = 0

    def to_structured_tool(self) -> CrewStructuredTool:
        """Convert to a `CrewStructuredTool`, which has its own usage counter."""
        converted = CrewStructuredTool(
            self.name,
            self.description,
            self.args_schema,
            self._run,
            self.result_as_answer,
            self.max_usage_count,
            self.current_usage_count,
            once=self.once,
            cache_function=self.cache_function,
            require_approval=self.require_approval,
            result_schema=self.result_schema,
            tool_failure_policy=self.tool_failure_policy,
        )
        return converted.rendered_by(self._text_of)

    def to_langchain(self) -> "StructuredTool":
        """Convert to a LangChain tool, for any LangChain or LangGraph agent.

        Raises:
            DefinitionError: An argument has a name that LangChain reserves.
        """
        return langchain_tool(
            self.spec,
            self.args_schema,
            self.run,
            self.arun,
            return_direct=self.result_as_answer,
            require_approval=self.require_approval,
        )

    @classmethod
    def from_langchain(cls, tool: Any, *, once: bool = False) -> "Tool":
        """Convert a LangChain tool; agents also accept LangChain tools directly.

        Args:
            tool: The LangChain tool; `require_approval` is read from its `metadata`.
            once: The value of the field `once`.

        Raises:
            DefinitionError: `tool` is not a LangChain tool, or has a JSON schema instead of a pydantic model.
        """
        if not is_langchain_tool(tool):
            raise DefinitionError(f"`from_langchain` takes a LangChain tool, not {type(tool).__name__} {tool!r}.")
        invoke = LangChainCall(tool)
        schema = invoke.arguments
        if isinstance(schema, dict):
            raise DefinitionError(
                f"the LangChain tool `{tool.name}` has a JSON schema instead of a pydantic model. "
                "Pass the tool itself to the agent."
            )

        return Tool(
            name=tool.name,
            description=tool.description,
            args_schema=schema,
            func=invoke,
            result_as_answer=bool(getattr(tool, "return_direct", False)),
            once=once,
            require_approval=approval_of(tool),
        )

    @property
    def _origin(self) -> Any:
        """What the author wrote, shared by all tools converted from it."""
        return self

    def _render(self, result: Any) -> Rendered:
        """Render a result, given as plain data, for the model."""
        text = cast("object", self.format_output_for_agent(restore_result(self.result_schema, result)))
        return text if isinstance(text, str) else resolved(text), []

    def _text_of(self, result: Any) -> str:
        return self._render(result)[0]

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        fields, declared = dict(state["__dict__"]), type(self).model_fields
        for name in _FUNCTIONS & fields.keys():
            if isfunction(fields[name]) and fields[name] is declared[name].default:
                del fields[name]  # the class has it
            else:
                fields[name] = by_name(fields[name], f"`{name}` of tool `{self.name}`")
        return {**state, "__dict__": fields}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        fields, declared = dict(state["__dict__"]), type(self).model_fields
        for name in _FUNCTIONS & declared.keys():
            fields[name] = restored(fields[name]) if name in fields else declared[name].default
        super().__setstate__({**state, "__dict__": fields})

    def _generate_description(self) -> None:
        """Do nothing; CrewAI tools call this after they change the description."""


class Tool(BaseTool):
    """A tool that calls a function."""

    func: Callable[..., Any]
    """The function, sync or async."""

    @property
    def _function(self) -> Callable[..., object]:
        return self.func

    @property
    def _origin(self) -> object:
        return self.func

    def _run(self, *args: Any, **kwargs: object) -> object:
        return self.func(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: object) -> object:
        """Call the undecorated function."""
        return self.func(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    name: str | None = None,
    /,
    *,
    result_as_answer: bool = False,
    max_usage_count: int | None = None,
    once: bool = False,
    require_approval: bool | Callable[..., Any] = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(*args: Any, **settings: object) -> Any:
    """Convert a function to a tool: `@tool`, `@tool("Name")`, `@tool("Name", max_usage_count=3)`.

    The docstring becomes the description, with an `Args:` section for the descriptions of the arguments; the annotations
    become the schema.

    Args:
        *args: The function, or the name of the tool; defaults to the name of the function.
        **settings: `result_as_answer`, `max_usage_count`, `once` and `require_approval`, as the fields of `BaseTool`.

    Raises:
        DefinitionError: The argument is neither a function nor a name, or the function has no docstring.
    """
    match args:
        case ():
            return partial(_tool_of_function, name=None, settings=settings)
        case (str() as name,):
            return partial(_tool_of_function, name=name, settings=settings)
        case (function,) if callable(function) and not isinstance(function, type):
            return _tool_of_function(function, None, settings)
        case _:
            raise DefinitionError(
                f'`tool` takes a function or a name, not {args!r}. Write `@tool` or `@tool("Name")` above a function.'
            )


def _tool_of_function(function: Callable[..., Any], name: str | None, settings: dict[str, Any]) -> Tool:
    if not callable(function):
        raise DefinitionError(f"`@tool` decorates functions, not {function!r}.")
    title = name or getattr(function, "__name__", type(function).__name__)
    description = inspect.getdoc(function) if inspect.isroutine(function) else function.__doc__
    if not description:
        raise DefinitionError(
            f"the function `{title}` has no docstring, which tells models when to use the tool. "
            f"Write one.{DOCSTRINGS_REMOVED}"
        )
    schema = from_signature(function, name="".join(word.title() for word in title.split()))
    return Tool(name=title, description=description, args_schema=schema, func=function, **settings)
