"""Conversion of tools to and from LangChain, whose packages are imported only when a tool is converted."""

import re
from collections.abc import Awaitable, Callable
from inspect import Parameter, isfunction
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, create_model

from crewgraph.annotations import signature_of
from crewgraph.core.messages import ToolSpec
from crewgraph.errors import DefinitionError
from crewgraph.extras import load
from crewgraph.functions import ByName, by_name, found_by_name, is_importable
from crewgraph.schema import PlainDict, derived_model, is_object, json_schema

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool


_RESERVED = {"config", "run_manager"}
"""Argument names that LangChain reserves."""


def is_langchain_tool(value: Any) -> bool:
    """Return whether an object has the interface of a LangChain tool."""
    # Checked on the class, because the instance would build its schema.
    tool_class = cast(Any, type(value))
    has_methods = all(hasattr(tool_class, name) for name in ("tool_call_schema", "invoke", "ainvoke"))
    return has_methods and hasattr(value, "name") and hasattr(value, "description")


class LangChainCall:
    """A function that calls a LangChain tool. It pickles if another process can import the tool's function or class."""

    def __init__(self, tool: Any) -> None:
        self.tool = tool

    def __call__(self, /, **arguments: object) -> Any:
        return self.tool.ainvoke(arguments) if is_async_only(self.tool) else self.tool.invoke(arguments)

    @property
    def arguments(self) -> type[BaseModel] | PlainDict:
        """The arguments of the tool, as `arguments_of` returns them."""
        schema = arguments_of(self.tool)
        return (
            schema if isinstance(schema, dict) else derived_model(schema, _call_arguments, self, function_of(self.tool))
        )

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        tool: Any = self.tool
        function = function_of(tool)
        if function is None or not is_importable(function):
            return LangChainCall, (tool,)
        if isfunction(function) and found_by_name(function) is tool:
            return LangChainCall, (ByName(function, of_tool=True),)
        fields: PlainDict = {
            name: getattr(tool, name) for name in tool.model_fields_set if name not in ("func", "coroutine")
        }
        if isinstance(schema := fields.get("args_schema"), type) and found_by_name(schema) is not schema:
            del fields["args_schema"]  # of the function's signature
        return _made_again, (cast("object", type(tool)), by_name(tool.func), by_name(tool.coroutine), fields)


def _made_again(kind: Any, func: object, coroutine: object, fields: PlainDict) -> LangChainCall:
    return LangChainCall(kind.from_function(func, coroutine=coroutine, **fields))


def _call_arguments(call: LangChainCall, _function: object) -> type[BaseModel] | PlainDict:
    return call.arguments


def function_of(tool: Any) -> Any:
    """Return the function that a LangChain tool was made of; None for one of a class of its own."""
    return getattr(tool, "func", None) or getattr(tool, "coroutine", None)


def tool_of_retriever(value: Any) -> Any:
    """Return the tool that searches with a LangChain retriever; None for anything else."""
    kind = value.__class__
    if not callable(getattr(kind, "_get_relevant_documents", None)):
        return None
    name = value.name or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    return load("langchain_core.tools").create_retriever_tool(value, name, "Search the documents.")


def as_langchain_tool(source: Any) -> Any:
    """Convert a tool of any kind to a LangChain tool.

    Args:
        source: A `BaseTool`, a `CrewStructuredTool`, or a LangChain tool, which is returned as is.

    Raises:
        DefinitionError: An argument has a name that LangChain reserves.
    """
    if is_langchain_tool(source):
        return source
    if hasattr(source, "to_langchain"):
        return source.to_langchain()

    def call(**arguments: object) -> Any:
        return source.invoke(arguments)

    async def acall(**arguments: object) -> Any:
        return await source.ainvoke(arguments)

    return_direct, approval = source.result_as_answer, getattr(source, "require_approval", False)
    return langchain_tool(
        source.spec, source.args_schema, call, acall, return_direct=return_direct, require_approval=approval
    )


def arguments_of(tool: Any) -> type[BaseModel] | PlainDict:
    """Return the arguments of a LangChain tool as a pydantic model, or as a JSON schema if it has only that.

    Arguments that LangChain injects are excluded.
    """
    if isinstance(tool, load("langchain_core.tools").Tool) and tool.args_schema is None:
        fields: dict[str, Any] = {_only_parameter(tool): (str, ...)}
        return create_model(str(tool.name), **fields)
    schema: object = tool.tool_call_schema
    if is_object(schema):
        return schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return _without_config(schema) if getattr(tool, "args_schema", None) is None else schema
    return cast(Any, schema).schema()  # a pydantic 1 model


def _only_parameter(tool: Any) -> str:
    """Return the name of the only argument of LangChain's `Tool`, whose schema describes its own `_run` instead."""
    function = tool.func or tool.coroutine
    named = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = () if function is None else signature_of(function).parameters.values()
    return next((one.name for one in parameters if one.kind in named), "tool_input")


def _without_config(schema: type[BaseModel]) -> type[BaseModel]:
    """Return the arguments of a tool's `_run` without its `RunnableConfig`, which LangChain fills in but leaves in the schema."""
    config_type = load("langchain_core.runnables").RunnableConfig
    fields = {name: field for name, field in schema.model_fields.items() if field.annotation is not config_type}
    if len(fields) == len(schema.model_fields):
        return schema
    given: dict[str, Any] = {name: (field.annotation, field) for name, field in fields.items()}
    return create_model(schema.__name__, __doc__=schema.__doc__, **given)


def is_async_only(tool: object) -> bool:
    """Return whether a LangChain tool has only an async implementation."""
    return getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None


def langchain_tool(
    spec: ToolSpec,
    schema: type[BaseModel],
    call: Callable[..., Any],
    acall: Callable[..., Awaitable[Any]],
    *,
    return_direct: bool,
    require_approval: object = False,
) -> "StructuredTool":
    """Create a LangChain tool.

    Args:
        spec: Name, description and parameters.
        schema: The arguments.
        call: Validates the arguments, by the names that models use, and executes the tool with them.
        acall: Async version of `call`.
        return_direct: Whether the result becomes the agent's final answer.
        require_approval: Whether a person has to approve calls; stored in the tool's `metadata`.

    Raises:
        DefinitionError: An argument has a name that LangChain reserves.
    """
    if reserved := sorted(_RESERVED & spec["parameters"].get("properties", {}).keys()):
        raise DefinitionError(
            f"the tool `{spec['name']}` has the argument `{reserved[0]}`, "
            f"a name that LangChain reserves. Rename the argument."
        )

    def func(**arguments: object) -> Any:
        return call(**arguments)

    async def coroutine(**arguments: object) -> Any:
        return await acall(**arguments)

    has_alias = any(field.alias for field in schema.model_fields.values())
    return load("langchain_core.tools").StructuredTool(
        name=spec["name"],
        description=spec["description"],
        args_schema=json_schema(schema) if has_alias else schema,  # LangChain drops arguments with an alias
        func=func,
        coroutine=coroutine,
        return_direct=return_direct,
        metadata={"require_approval": require_approval} if require_approval else None,
    )
