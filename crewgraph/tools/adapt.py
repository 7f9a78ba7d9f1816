"""Adapts everything that `tools=[...]` accepts to one interface (`as_tool`), and traces calls as LangChain tool runs."""

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextvars import Context
from copy import copy, deepcopy
from functools import cache, partial, wraps
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Self, TypeGuard, Union, cast, get_args, get_origin
from uuid import uuid4

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from crewgraph.annotations import return_type
from crewgraph.core.current import config_context, is_traced
from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import acall, call, resolved
from crewgraph.core.messages import ToolSpec
from crewgraph.core.otel import enter_span_of_run
from crewgraph.core.plain import NotPlain, SteersGraph, plain
from crewgraph.errors import DefinitionError, ToolFailed
from crewgraph.schema import JsonSchema, PlainDict, PlainMapping, call_arguments, is_list, is_object, validated
from crewgraph.text import shorten
from crewgraph.tools.arguments import Refusal, read_arguments
from crewgraph.tools.base import BaseTool, Tool, approval_of, keep_always, tool
from crewgraph.tools.failure import ReportedFailure, ToolFailure
from crewgraph.tools.injected import InjectedArguments, unfilled_arguments, wants_call_id
from crewgraph.tools.langchain import (
    arguments_of,
    function_of,
    is_async_only,
    is_langchain_tool,
    tool_of_retriever,
)
from crewgraph.tools.results import Rendered, is_blocks, observation, render_blocks
from crewgraph.tools.structured import (
    CrewStructuredTool,
    UsageCounted,
    check_parameters,
    claim_use,
    keyword_names,
    prompt_text,
    tool_spec,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from crewgraph.core.operations import Program


_MOCKS = "unittest.mock"
_QUOTED_CHARACTERS = 200
"""Maximum number of characters of an invalid value that are quoted."""


class CommandReturned(ToolFailed):
    """A tool ran and returned a LangGraph `Command` that cannot be obeyed.

    Args:
        tool: Its name.
    """

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"the tool `{tool}` returned a LangGraph `Command` that cannot be obeyed here: the tool has run, and the command was "
            f"not obeyed. The run ends, and resuming it does not call the tool again. {NO_COMMANDS} Then start a new run, or "
            "fork this one from before the task."
        )


NO_COMMANDS = (
    "A tool hands over with `Command(graph=Command.PARENT, goto=...)`, alone, where the crew is a node of a graph, "
    "`builder.add_node(crew.compile())`, and updates keys of its state with `Command(update=...)`. Elsewhere let the tool return "
    "data, and decide what comes next from it: with a conditional edge of the graph around the crew, a router of a flow, or "
    "`allow_delegation`."
)
"""What to do where a command is not obeyed."""


def _returns_command(function: object) -> bool:
    returned: object = return_type(function) if callable(function) else None
    return any(_is_command(kind) for kind in (returned, *get_args(returned))) and not _may_be_data(returned)


def is_command(value: object) -> bool:
    """Return whether a value is a LangGraph `Command`."""
    return type(value).__name__ == "Command" and _is_command(type(value))


def _is_command(kind: object) -> bool:
    kind = get_origin(kind) or kind
    return isinstance(kind, type) and kind.__name__ == "Command" and kind.__module__ == "langgraph.types"


def _may_be_data(returned: object) -> bool:
    is_union = get_origin(returned) in (Union, UnionType)
    return is_union and not all(_is_command(kind) for kind in get_args(returned))


class _AnyArguments(BaseModel, extra="allow"):
    """The arguments of a mock of a tool."""


def traced(
    spec: ToolSpec,
    args: PlainDict,
    config: "RunnableConfig",
    work: Callable[[Context], Any],
    awork: Callable[[Context], Coroutine[Any, Any, Any]],
    render: Callable[[Any], Rendered] | None = None,
) -> "Program[Any]":
    """Execute a tool call inside a LangChain callback run.

    Args:
        spec: The tool.
        args: The arguments of the call.
        config: The caller's config.
        work: Executes the call in the given context, in which models and graphs are children of the run.
        awork: Async version of `work`.
        render: Returns the result as the model sees it, for the message that a call with an id ends with; None if as it is.
    """
    from crewgraph.core.operations import Do

    config, call = called_with(config)
    if not is_traced(config):
        with config_context(config) as context:
            return (yield Do(work, awork, context))
    from langchain_core.runnables.config import (
        get_async_callback_manager_for_config,
        get_callback_manager_for_config,
        patch_config,
        set_config_context,
    )

    shown: Callable[[Any], Program[object]] | None = call.get("shown")
    identified: PlainMapping = {"tool_call_id": call["id"]} if "id" in call else {}
    serialized = {"name": spec["name"], "description": spec["description"]}
    start: PlainDict = {"inputs": args, "name": spec["name"], "run_id": config.get("run_id"), **identified}
    run = yield Do(
        lambda: get_callback_manager_for_config(config).on_tool_start(serialized, str(args), **start),
        lambda: get_async_callback_manager_for_config(config).on_tool_start(serialized, str(args), **start),
    )
    try:
        with set_config_context(patch_config(config, callbacks=run.get_child())) as context:
            enter_span_of_run(context, run.handlers, run.run_id)
            value = yield Do(work, awork, context)
        visible = value if shown is None else (yield from shown(value))
        if identified:
            text = observation(visible) if visible is not value or render is None else render(value)[0]
            visible = tool_message(text, call["id"], spec["name"])
    except GeneratorExit:  # the run is lost
        raise
    except BaseException as error:  # the run in the trace ends with whatever was raised
        end = partial(run.on_tool_error, error, **identified)
        yield Do(end, end)
        raise
    yield Do(run.on_tool_end, run.on_tool_end, visible)
    return value


_CALL = "__crewgraph_tool_call"


def with_call(config: "RunnableConfig", **call: Any) -> "RunnableConfig":
    """Return a config for a tool's call.

    Args:
        config: The config.
        call: What is known of the call: its `id`, where the model gave it one; `state`, which returns the agent's state;
            `shown`, a program that returns what the run in the trace shows for a result; `result`, for the `artifact`.
    """
    configurable: PlainDict = config.get("configurable") or {}
    return {**config, "configurable": {**configurable, _CALL: {**configurable.get(_CALL, {}), **call}}}


def identified(config: "RunnableConfig") -> "RunnableConfig":
    """Return a config whose call has an id, by which listeners find its result; in the text protocol the model gives none."""
    configurable: PlainDict = config.get("configurable") or {}
    return config if "id" in configurable.get(_CALL, {}) else with_call(config, id=f"call_{uuid4().hex}")


def called_with(config: "RunnableConfig") -> "tuple[RunnableConfig, PlainMapping]":
    """Return a config without what `with_call` added, and that."""
    configurable: PlainDict = config.get("configurable") or {}
    if _CALL not in configurable:
        return config, {}
    own: RunnableConfig = {**config, "configurable": {k: v for k, v in configurable.items() if k != _CALL}}
    return own, configurable[_CALL]


def tool_message(text: str, call_id: str, name: str, **fields: Any) -> Any:
    """Return LangChain's message with the result of a call."""
    from langchain_core.messages import ToolMessage

    return ToolMessage(text, tool_call_id=call_id, name=name, **fields)


class AdaptedTool(ABC):
    """A tool of any kind."""

    def __init__(
        self,
        source: Any,
        schema: type[BaseModel] | JsonSchema,
        result_as_answer: bool,
    ) -> None:
        self.source = source
        """The user's tool."""
        self.schema = schema
        """The arguments: a pydantic model, or a JSON schema."""
        self.title = str(source.name)
        """The name given by the author."""
        self.spec: ToolSpec = tool_spec(self.title, str(source.description), schema)
        """The tool as models see it."""
        self.result_as_answer = result_as_answer
        """Whether the result becomes the agent's final answer."""
        self.once = bool(getattr(source, "once", False))
        """Whether a call must not be repeated if a crash leaves its outcome unknown."""
        self.steers = False
        """Whether it returns a LangGraph `Command`, by its annotation."""

    @property
    def reads_state(self) -> bool:
        """Whether it reads the agent's state, a store or the run's context, so that equal arguments are not all it knows."""
        return False

    @property
    def cache_function(self) -> Callable[..., bool] | None:
        """Called with arguments and result; returns whether the result may be cached. None if it always may."""
        cache_function: Any = getattr(self.source, "cache_function", None)
        return None if cache_function is keep_always else cache_function

    @property
    def asks_for_cache(self) -> bool:
        """Whether it asks for its results to be reused: by a `cache_function`, or as read-only by MCP's annotations."""
        if self.cache_function is not None:
            return True
        annotations: object = getattr(self.source, "metadata", None)  # where LangChain's adapters for MCP put them
        return is_object(annotations) and annotations.get("readOnlyHint") is True

    @property
    def name(self) -> str:
        """The name that models use."""
        return self.spec["name"]

    @property
    def require_approval(self) -> bool | Callable[..., Any]:
        """Whether a person has to approve calls, or a function that decides this from the arguments."""
        return approval_of(self.source)

    @property
    def origin(self) -> Any:
        """What the author wrote, a function or an object, shared by all tools converted from it."""
        return self.source

    @property
    def prompt_text(self) -> str:
        """The tool as described in a prompt with the text protocol."""
        return prompt_text(self.spec)

    def named(self, name: str) -> Self:
        """Return a copy with another name."""
        renamed = copy(self)
        renamed.spec = {**self.spec, "name": name}
        return renamed

    def prepare(self, written: object) -> PlainDict | Refusal:
        """Parse the arguments that a model wrote; return valid plain data, or a refusal."""
        return read_arguments(self.spec, self.schema, written)

    def resolved(self, args: PlainDict) -> PlainDict:
        """Return valid arguments as the tool gets them: converted, with defaults, by its own names; as plain data.

        Raises:
            pydantic.ValidationError: They are not valid.
        """
        if not isinstance(self.schema, type) or not self.schema.model_fields:  # a JSON schema
            properties: dict[str, Any] = self.spec["parameters"].get("properties", {})
            defaults = {name: one["default"] for name, one in properties.items() if one.get("default") is not None}
            return {**deepcopy(defaults), **args}
        return {name: _plain_argument(value, args.get(name)) for name, value in self._values(self.schema, args).items()}

    def as_written(self, arguments: PlainDict) -> PlainDict:
        """Return arguments by the names that models write, where these are others than those of the tool."""
        fields = self.schema.model_fields if isinstance(self.schema, type) else {}
        known = self.spec["parameters"].get("properties", {})
        names = {name: _written_name(name, field) for name, field in fields.items() if name not in known}
        return {names.get(name, name): value for name, value in arguments.items()}

    def giving(self, arguments: PlainDict, written: PlainDict) -> PlainDict:
        """Return what a model would write for the tool to get these arguments.

        Args:
            arguments: As `resolved` returns them, changed.
            written: What it wrote, of which is kept what already gives them; so are defaults.
        """
        try:
            before = self.as_written(self.resolved(written))
        except ValidationError:
            before = written
        named = self.as_written(arguments)
        changed = {name: value for name, value in named.items() if name not in before or before[name] != value}
        return {**{name: value for name, value in written.items() if name in named}, **changed}

    def _values(self, schema: type[BaseModel], args: PlainDict) -> PlainDict:
        return call_arguments(validated(schema, args))

    def count_uses(self, uses: int, *, anew: bool = False) -> None:
        """Set how often a tool with `max_usage_count` was used: at least so often, or exactly (`anew`)."""
        limit: int | None = getattr(self.source, "max_usage_count", None)
        if limit is not None and (anew or uses > self.source.current_usage_count):
            object.__setattr__(self.source, "current_usage_count", min(uses, limit))  # the tool may be frozen

    @abstractmethod
    def use(self, args: PlainDict, config: "RunnableConfig") -> "Program[Any]":
        """Execute the tool and return plain data.

        Raises:
            UsageLimitReached: The tool was used `max_usage_count` times.
            ToolFailed: The result cannot be converted to plain data.
            ReportedFailure: The tool returned a `ToolFailure`.
            Exception: Whatever the tool raises.
        """

    def shown(self, result: Any) -> Rendered:
        """Render a result of `use` for the model: a text, and image blocks."""
        return observation(result), []

    def _plain(self, value: Any) -> object:
        if isinstance(value, ToolFailure):
            raise ReportedFailure(value)
        try:
            return value if is_command(value) else plain(value)
        except SteersGraph as error:
            raise CommandReturned(self.title) from error
        except NotPlain as error:
            raise ToolFailed(f"`{self.title}` returned {error}") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"


class _FunctionTool(AdaptedTool):
    """A `BaseTool` or `CrewStructuredTool`: calls its function inside a traced run."""

    def __init__(self, source: BaseTool | CrewStructuredTool, mock: object = None) -> None:
        super().__init__(source, source.args_schema, source.result_as_answer)
        self._mock = mock
        self._model = source.args_schema
        self._counter: UsageCounted = source
        self._afunction: Callable[..., Any] | None = None
        if isinstance(source, BaseTool):
            self._function = source.func if isinstance(source, Tool) else source._run  # pyright: ignore[reportPrivateUsage]
            if type(source)._arun is not BaseTool._arun:  # pyright: ignore[reportPrivateUsage]
                self._afunction = source._arun  # pyright: ignore[reportPrivateUsage]
        else:
            self._function = source.func
        check_parameters(self.title, self._function, source.args_schema)
        self._accepted_names = keyword_names(self._function)
        self.steers = _returns_command(self._function)

    def use(self, args: PlainDict, config: "RunnableConfig") -> "Program[object]":
        arguments = self._values(self._model, args)
        claim_use(self._counter)

        def work(context: Context) -> object:
            return self._plain(context.run(partial(call, self._function, **arguments)))

        async def awork(context: Context) -> object:
            loop = asyncio.get_running_loop()
            return self._plain(await loop.create_task(self._acall(arguments), context=context))

        return (yield from traced(self.spec, args, config, work, awork, self.shown))

    @property
    def origin(self) -> object:
        if self._mock is not None:
            return self._mock
        return self.source._origin if isinstance(self.source, BaseTool) else self.source  # pyright: ignore[reportPrivateUsage]

    def shown(self, result: Any) -> Rendered:
        if isinstance(self.source, BaseTool):
            return self.source._render(result)  # pyright: ignore[reportPrivateUsage]
        return call(self.source.format_output_for_agent, result), []

    async def _acall(self, arguments: PlainDict) -> Any:
        if self._afunction is not None:
            try:
                return await self._afunction(**arguments)
            except NotImplementedError:  # many tools have an `_arun` that only raises this
                pass
        return await acall(self._function, **arguments)

    def _values(self, schema: type[BaseModel], args: PlainDict) -> PlainDict:
        arguments = call_arguments(validated(schema, args))
        if self._accepted_names is None or arguments.keys() <= self._accepted_names:
            return arguments
        # drop defaults that the function does not accept
        return {name: value for name, value in arguments.items() if name in self._accepted_names or name in args}


class _LangChainTool(AdaptedTool):
    """A LangChain tool, which validates its arguments and traces its calls itself."""

    def __init__(self, source: object) -> None:
        super().__init__(source, arguments_of(source), bool(getattr(source, "return_direct", False)))
        self._wants_call_id = wants_call_id(source)
        self._injected = InjectedArguments.of(source)
        self.steers = _returns_command(function_of(source) or getattr(source, "_run", None))
        if unfilled := unfilled_arguments(source):
            names = ", ".join(f"`{name}`" for name in unfilled)
            raise DefinitionError(
                f"the tool `{self.title}` cannot be called: neither models nor runs fill {names}, an `InjectedToolArg`. Give it "
                "a default, or read the value from the run instead: with a parameter `config: RunnableConfig`, from "
                '`config["configurable"]`, or with `runtime: ToolRuntime`, from `runtime.context`.'
            )

    @property
    def reads_state(self) -> bool:
        return self._injected is not None

    def use(self, args: PlainDict, config: "RunnableConfig") -> "Program[object]":
        config, call = called_with(config)
        call_id: str = call.get("id") or f"call_{digest([self.title, args])}"
        if self._injected is not None:
            state: PlainDict = call["state"](call_id) if "state" in call else {}
            args = self._injected.added_to(args, self.title, call_id, config, state)
        source, result = self.source, dict[str, Any]()
        is_async = getattr(source, "coroutine", None) is not None or _overrides_arun(source)
        if "id" in call or self._wants_call_id:  # the input is the whole call
            source, result = _noting(source), call.get("result", {})
            args = {"type": "tool_call", "name": self.title, "args": args, "id": call_id}
        from crewgraph.core.operations import user_call

        invoke = source.ainvoke if is_async_only(source) else source.invoke
        returned = yield user_call(invoke, args, config, twin=source.ainvoke if is_async else None)
        return self._unwrap(returned, source, result)

    def _unwrap(self, returned: Any, tool: Any, result: PlainDict) -> object:
        from langchain_core.messages import ToolMessage

        if not isinstance(returned, ToolMessage):
            return self._plain(returned)
        result["artifact"] = returned.artifact
        noted: list[object] = getattr(tool, "noted", [])
        if noted and returned.status == "success" and tool.response_format == "content":
            return self._plain(noted[-1])  # which the message holds as a text
        from langgraph.types import Command

        artifact: object = returned.artifact
        if any(isinstance(item, Command) for item in (artifact if is_list(artifact) else [artifact])):
            raise CommandReturned(self.title)
        return self._plain(returned.content)

    def shown(self, result: Any) -> Rendered:
        return render_blocks(result) if is_blocks(result) else super().shown(result)


class _ProviderTool(AdaptedTool):
    """A tool that the model's provider runs, such as its search of the web."""

    def __init__(self, source: PlainDict) -> None:
        spec = provider_tool(source)
        super().__init__(SimpleNamespace(name=spec["name"], description=""), spec["parameters"], False)
        self.spec = spec

    def use(self, args: PlainDict, config: "RunnableConfig") -> "Program[object]":
        raise ToolFailed(f"`{self.title}` runs at the model's provider, which has not run it")


def is_provider_tool(value: object) -> TypeGuard[PlainDict]:
    """Return whether a value is a dict that stands for a tool of a model's provider, rather than describing a function."""
    described = ("function", "input_schema", "parameters", "title", "toolSpec")
    kind = value.get("type", "function" if "name" in value else "") if is_object(value) and value else "function"
    return is_object(value) and kind not in ("function", "object") and not any(name in value for name in described)


def provider_tool(value: PlainDict) -> ToolSpec:
    """Return a tool of a model's provider, which is sent as it is."""
    name = str(value.get("name") or value.get("type") or next(iter(value)))
    return {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}, "native": value}


_SLOTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


def _noting(tool: Any) -> Any:
    """Return a LangChain tool that notes what its function returns in `noted`; it shares all its state with the given one."""
    if not hasattr(tool, "__pydantic_private__"):  # an object with the interface of a tool
        return tool
    kind: Any = _noting_class(tool.__class__)
    noting = kind.__new__(kind)
    for slot in _SLOTS:
        object.__setattr__(noting, slot, getattr(tool, slot))
    object.__setattr__(noting, "noted", [])
    return noting


@cache
def _noting_class(kind: Any) -> type[Any]:
    @wraps(kind._run)
    def _run(self: Any, *args: Any, **keywords: Any) -> Any:
        self.noted.append(resolved(kind._run(self, *args, **keywords)))
        return self.noted[-1]

    @wraps(kind._arun)
    async def _arun(self: Any, *args: Any, **keywords: Any) -> Any:
        self.noted.append(await kind._arun(self, *args, **keywords))
        return self.noted[-1]

    own: PlainDict = {"__module__": kind.__module__, "__slots__": ("noted",), "_run": _run}
    if next(one for one in kind.__mro__ if "_arun" in vars(one)).__name__ != "BaseTool":  # which calls `_run`
        own["_arun"] = _arun
    return kind.__class__(kind.__name__, (kind,), own)


def _overrides_arun(source: object) -> bool:
    """Return whether a LangChain tool implements `_arun` itself, instead of LangChain's default with a small thread pool."""
    owner = next((c for c in type(source).__mro__ if "_arun" in vars(c)), None)
    return owner is not None and not owner.__module__.startswith("langchain_core.tools")


def _plain_argument(value: object, written: object) -> object:
    try:
        return plain(value)
    except NotPlain:  # an object that only the tool knows: people see what it was made of
        return written or f"<{type(value).__qualname__}>"


def _written_name(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias or field.alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return next((one for one in choices if isinstance(one, str)), name)


def as_tool(value: Any) -> AdaptedTool:
    """Adapt what a user passed as a tool.

    Args:
        value: A `BaseTool`, a `CrewStructuredTool`, a LangChain tool or retriever, a dict that stands for a tool of the model's
            provider, or a function with a docstring.

    Raises:
        DefinitionError: `value` is none of these.
    """
    if isinstance(value, AdaptedTool):
        return value
    if isinstance(value, (BaseTool, CrewStructuredTool)):
        kind: type[Any] = type(value)
        is_real = issubclass(kind, (BaseTool, CrewStructuredTool))
        return _FunctionTool(value) if is_real else _FunctionTool(_tool_of_mock(value), mock=value)
    if is_langchain_tool(value):
        return _LangChainTool(value)
    if is_provider_tool(value):
        return _ProviderTool(value)
    if (retriever := tool_of_retriever(value)) is not None:
        return _LangChainTool(retriever)
    if inspect.isroutine(value):
        return _FunctionTool(tool(cast(Callable[..., Any], value)))
    quoted = shorten(repr(value), _QUOTED_CHARACTERS)
    raise DefinitionError(
        f"{quoted} is not a tool.{_hint(value)} Tools are: an instance of a subclass of `crewgraph.tools.BaseTool`, "
        f"a function with `@tool`, a `CrewStructuredTool`, a LangChain tool, a function with a docstring."
    )


def _hint(value: object) -> str:
    """Return how to pass a value as a tool, if there is a way."""
    if isinstance(value, type):
        return f" It is a class: write `{value.__name__}(...)`."
    if isinstance(value, (list, tuple, set)):
        return " Unpack it: `tools=[*group]`."
    if _has_method(value, "as_retriever") and not _has_method(value, "as_tool"):
        return " Pass `store.as_retriever()`."
    if _has_method(value, "as_tool"):
        return " Pass the result of its `as_tool()`."
    return " Pass the result of its `get_tools()`." if _has_method(value, "get_tools") else ""


def _has_method(value: object, method: str) -> bool:
    return callable(getattr(type(value), method, None))


def _tool_of_mock(mock: Any) -> BaseTool:
    """Return a tool that calls a mock of one, such as `MagicMock(spec=BaseTool)`."""

    def answer(**arguments: Any) -> object:
        returned = mock.run(**arguments)
        is_invented = type(returned).__module__ == _MOCKS
        return mock._run(**arguments) if is_invented else returned

    own = cast("dict[str, Any]", vars(mock))
    schema: type[BaseModel] = own.get("args_schema", _AnyArguments)
    return Tool(name=str(mock.name), description=str(mock.description), args_schema=schema, func=answer)
