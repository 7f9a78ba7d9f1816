"""Tools as users write them: subclasses of `BaseTool`, and functions under `@tool`.

Classes of tools whose fields have no types, as pydantic's first version took them.

Whether a tool's calls are to be allowed by a person.
"""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast, dataclass_transform, overload

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import ToolSpec
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import DefinitionError
from crewgraph.extras import load
from crewgraph.schema import from_signature
from crewgraph.tools.failure import ToolFailurePolicy
from crewgraph.tools.langchain import arguments_of, is_async_only, is_langchain_tool, langchain_tool
from crewgraph.tools.results import Rendered, restore_result, result_schema_of, result_text
from crewgraph.tools.structured import CrewStructuredTool, claim_use, prompt_text, tool_spec

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool

__all__ = ["BaseTool", "EnvVar", "Tool", "ToolType", "approval_of", "keep_always", "tool"]


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as ModelType
else:
    ModelType = type(BaseModel)

_PLAIN_TYPES = (str, int, float, bool, list, dict, tuple, set)


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, PrivateAttr))
class ToolType(ModelType):
    """Makes the classes of tools; a value that stands in one without a type is a field all the same."""

    def __new__(mcs, name: str, bases: tuple[type[Any], ...], namespace: dict[str, Any], **keywords: Any) -> Any:
        if untyped := _untyped_fields(bases, namespace):
            namespace = {**namespace, "__annotations__": {**_annotations(namespace), **untyped}}
            fields = ", ".join(f"`{field}`" for field in untyped)
            warn_deprecated(f"{fields} without a type in the class `{name}`", 'write the type: `name: str = "..."`')
        return super().__new__(mcs, name, bases, namespace, **keywords)


def _untyped_fields(bases: tuple[type[Any], ...], namespace: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value and no type, with the types that their base or their value has."""
    known = {name: field.annotation for base in reversed(bases) for name, field in _fields(base).items()}
    values = {name: value for name, value in namespace.items() if not name.startswith(("_", "model_"))}
    candidates = {
        name: known.get(name, type(cast("object", value)))
        for name, value in values.items()
        if isinstance(value, _PLAIN_TYPES) or (name in known and not _is_method(value))
    }
    if not candidates:
        return {}
    annotated = _annotations(namespace)
    return {name: annotation for name, annotation in candidates.items() if name not in annotated}


def _fields(base: type[Any]) -> dict[str, Any]:
    return base.model_fields if issubclass(base, BaseModel) else {}


def _is_method(value: Any) -> bool:
    return inspect.isroutine(value) or isinstance(value, (property, staticmethod, classmethod))


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    annotate = namespace.get("__annotate_func__") or namespace.get("__annotate__")
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace and annotate is not None:
        annotationlib: Any = load("annotationlib")
        return dict(annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF))
    return dict(namespace.get("__annotations__", {}))


_APPROVAL = "require_approval"


def approval_of(tool: Any) -> bool | Callable[..., Any]:
    """What a tool of any kind says of it: as its attribute `require_approval`, else in its `metadata`.

    Returns:
        Whether each call has to be allowed, or a function that says so of a call's arguments.

    Raises:
        DefinitionError: It is neither.
    """
    approval: Any = getattr(tool, _APPROVAL, None)
    if approval is None:
        metadata = getattr(tool, "metadata", None)
        approval = cast("dict[str, Any]", metadata).get(_APPROVAL) if isinstance(metadata, dict) else None
    if isinstance(approval, bool) or callable(approval):
        return approval
    if approval is None:
        return False
    raise DefinitionError(
        f"`{_APPROVAL}` of the tool `{tool.name}` is {approval!r:.80}. Give True, False, or a function that takes the "
        "arguments as a dict and says whether to ask a person."
    )


class EnvVar(BaseModel):
    """An environment variable that a tool reads."""

    name: str
    description: str
    required: bool = True
    default: str | None = None


class _FromSignature(BaseModel):
    """Stands where `args_schema` was not given."""


def keep_always(_arguments: Any = None, _result: Any = None) -> bool:
    """Every result may be kept."""
    return True


class BaseTool(BaseModel, ABC, metaclass=ToolType):
    """Something that an agent may have done.

    Subclass it, give `name` and `description`, and write `_run`; its parameters are what models may fill in.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    """What it is called; models see it with other characters than letters, digits, `_` and `-` replaced."""

    description: str
    """What it does and when to use it, for the model; kept as written (`prompt_text` is the rendering)."""

    env_vars: list[EnvVar] = Field(default_factory=list[EnvVar])
    """The environment variables it reads."""

    args_schema: type[BaseModel] = _FromSignature
    """What it takes; made from the signature of `_run` where it is not given."""

    result_schema: type[BaseModel] | None = None
    """What it returns; read from the annotation of `_run` where that is a model. Models are shown it as JSON of this form."""

    description_updated: bool = False
    """Kept for programs that set it; it changes nothing."""

    cache_function: Callable[..., bool] = keep_always
    """Given the arguments and the result, says whether the result may be kept and given again."""

    result_as_answer: bool = False
    """Whether its result is the agent's answer."""

    max_usage_count: int | None = None
    """How often it may be used; None sets no bound."""

    current_usage_count: int = 0
    """How often it was used, in this process."""

    once: bool = False
    """Whether a call must never be repeated: one whose outcome a crash left unknown is reported instead."""

    require_approval: bool | Callable[..., Any] = False
    """Whether a person has to allow each call that an agent makes; or a function that says so of a call, given its arguments as
    a dict."""

    tool_failure_policy: ToolFailurePolicy | None = None
    """What its failures mean for the task; where None, the task, the agent or the crew says so."""

    @field_validator("max_usage_count")
    @classmethod
    def validate_max_usage_count(cls, value: int | None) -> int | None:
        """Refuse a bound below 1."""
        if value is not None and value < 1:
            raise ValueError("`max_usage_count` must be 1 or more, or None for no bound")
        return value

    @field_validator("args_schema", mode="before")
    @classmethod
    def _default_schema(cls, value: Any) -> Any:
        return _FromSignature if value is None else value

    @model_validator(mode="after")
    def _read_signature(self) -> Self:
        given = cast("type[BaseModel] | None", self.args_schema)
        if given is None or given is _FromSignature:
            # Past pydantic's assignment, which a subclass may have validated or frozen.
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

    @property
    def tool_type(self) -> str:
        """Where its class is found: "module.Class"."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def format_output_for_agent(self, raw_result: Any) -> str:
        """What a model is shown of a result; write it anew for a form of one's own.

        Args:
            raw_result: what `_run` returned; in a run that goes on after a crash, read from what was recorded of it.
        """
        return result_text(self.name, self.result_schema, raw_result)

    @abstractmethod
    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Do it; may be async."""

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        """Do it in an async run; where it is not written, `_run` is called, in a thread if it blocks."""
        return await acall(self._run, *args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Use it, with arguments as for `_run`.

        Raises:
            UsageLimitReached: It was used as often as it may be.
        """
        claim_use(self)
        return call(self._run, *args, **kwargs)

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        """The same in an async run.

        Raises:
            UsageLimitReached: It was used as often as it may be.
        """
        claim_use(self)
        return await self._arun(*args, **kwargs)

    def reset_usage_count(self) -> None:
        """Start counting uses from 0."""
        self.current_usage_count = 0

    def to_structured_tool(self) -> CrewStructuredTool:
        """The same as a `CrewStructuredTool`, which counts its uses for itself."""
        return CrewStructuredTool(
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

    def to_langchain(self) -> "StructuredTool":
        """The same as a LangChain tool, for any LangChain or LangGraph agent.

        Raises:
            DefinitionError: An argument has a name that LangChain keeps for itself.
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
        """A tool from a LangChain one (agents take LangChain tools as they are, too).

        Args:
            tool: The LangChain tool; `require_approval` is read from its `metadata`.
            once: As the field.

        Raises:
            DefinitionError: It is no LangChain tool, or it has only a JSON schema.
        """
        if not is_langchain_tool(tool):
            raise DefinitionError(f"`from_langchain` takes a LangChain tool, not {type(tool).__name__} {tool!r}.")
        schema = arguments_of(tool)
        if isinstance(schema, dict):
            raise DefinitionError(
                f"the LangChain tool `{tool.name}` has a JSON schema and no model. Give the agent the tool itself."
            )

        def func(**given: Any) -> Any:
            return tool.ainvoke(given) if is_async_only(tool) else tool.invoke(given)

        return Tool(
            name=tool.name,
            description=tool.description,
            args_schema=schema,
            func=func,
            result_as_answer=bool(getattr(tool, "return_direct", False)),
            once=once,
            require_approval=approval_of(tool),
        )

    @property
    def _origin(self) -> Any:
        """What its author wrote: the same for every tool that is made of it."""
        return self

    def _shown(self, result: Any) -> Rendered:
        """How a model is shown a result, plain data."""
        return self.format_output_for_agent(restore_result(self.result_schema, result)), []

    def _generate_description(self) -> None:
        """Nothing: subclasses written for CrewAI call it after they change the description."""


class Tool(BaseTool):
    """A tool around a function."""

    func: Callable[..., Any]
    """What it does; sync or async."""

    @property
    def _function(self) -> Callable[..., Any]:
        return self.func

    @property
    def _origin(self) -> Any:
        return self.func

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if there were no decorator."""
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
def tool(*args: Any, **settings: Any) -> Any:
    """Make a tool of a function: `@tool`, `@tool("Name")`, `@tool("Name", max_usage_count=3)`.

    The docstring is the description, the annotations make the schema; an `Args:` section tells what each
    argument means.

    Args:
        *args: The function, or the tool's name (else the function's).
        **settings: `result_as_answer`, `max_usage_count`, `once` and `require_approval`, as the fields of `BaseTool`.

    Raises:
        DefinitionError: It was given neither a function nor a name, or the function has no docstring.
    """
    match args:
        case ():
            return partial(_from_function, name=None, settings=settings)
        case (str() as name,):
            return partial(_from_function, name=name, settings=settings)
        case (function,) if callable(function) and not isinstance(function, type):
            return _from_function(function, None, settings)
        case _:
            raise DefinitionError(
                f'`tool` takes a function or a name, not {args!r}. Write `@tool` or `@tool("Name")` above a function.'
            )


def _from_function(function: Callable[..., Any], name: str | None, settings: dict[str, Any]) -> Tool:
    if not callable(function):
        raise DefinitionError(f"`@tool` stands above a function, not {function!r}.")
    title = name or getattr(function, "__name__", type(function).__name__)
    description = inspect.getdoc(function) if inspect.isroutine(function) else function.__doc__
    if not description:
        raise DefinitionError(
            f"the function `{title}` has no docstring, so no model knows when to use the tool. Write one."
        )
    schema = from_signature(function, name="".join(word.title() for word in title.split()))
    return Tool(name=title, description=description, args_schema=schema, func=function, **settings)
