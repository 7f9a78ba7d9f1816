"""Tools to LangChain and from LangChain; its packages are loaded when a tool is made for it, never before."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from crewgraph.core.messages import ToolSpec
from crewgraph.errors import DefinitionError
from crewgraph.extras import load
from crewgraph.schema import call_arguments, json_schema, validated

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool

__all__ = ["arguments_of", "as_langchain_tool", "is_async_only", "is_langchain_tool", "langchain_tool", "wants_call_id"]

_RESERVED = {"config", "run_manager"}
"""Argument names that LangChain keeps for itself."""


def is_langchain_tool(value: Any) -> bool:
    """Whether something is a LangChain tool, judged by what it can do."""
    # Asked of the class: on the instance the schema would be made to find out.
    tool_class = cast(Any, type(value))
    has_methods = all(hasattr(tool_class, name) for name in ("tool_call_schema", "invoke", "ainvoke"))
    return has_methods and hasattr(value, "name") and hasattr(value, "description")


def as_langchain_tool(source: Any) -> Any:
    """The LangChain tool that a tool of any kind is or becomes.

    Args:
        source: A `BaseTool`, a `CrewStructuredTool`, or a LangChain tool.

    Raises:
        DefinitionError: An argument has a name that LangChain keeps for itself.
    """
    if is_langchain_tool(source):
        return source
    if hasattr(source, "to_langchain"):
        return source.to_langchain()

    def call(**given: Any) -> Any:
        return source.invoke(given)

    async def acall(**given: Any) -> Any:
        return await source.ainvoke(given)

    return_direct, approval = source.result_as_answer, getattr(source, "require_approval", False)
    return langchain_tool(
        source.spec, source.args_schema, call, acall, return_direct=return_direct, require_approval=approval
    )


def arguments_of(tool: Any) -> type[BaseModel] | dict[str, Any]:
    """What a model may give a LangChain tool: a model, or a JSON schema where the tool has only that.

    Arguments that LangChain injects are not among them.
    """
    schema: object = tool.tool_call_schema
    if isinstance(schema, dict):
        return cast(dict[str, Any], schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema
    return cast(Any, schema).schema()  # a model of pydantic's first version


def is_async_only(tool: Any) -> bool:
    """Whether a LangChain tool has an async body and no other."""
    return getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None


def wants_call_id(tool: Any) -> bool:
    """Whether a LangChain tool has the id of its call injected, so that it must be given a whole call."""
    schema = getattr(tool, "args_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return False
    metadata = [item for field in schema.model_fields.values() for item in field.metadata]
    classes = [item if isinstance(item, type) else type(item) for item in metadata]
    return any(cls.__name__ == "InjectedToolCallId" for cls in classes)


def langchain_tool(
    spec: ToolSpec,
    schema: type[BaseModel],
    call: Callable[..., Any],
    acall: Callable[..., Awaitable[Any]],
    *,
    return_direct: bool,
    require_approval: Any = False,
) -> "StructuredTool":
    """A LangChain tool.

    Args:
        spec: Its name, description and parameters.
        schema: What it takes.
        call: Does it, with the arguments by name.
        acall: The same.
        return_direct: Whether its result ends an agent's work.
        require_approval: Whether a person has to allow its calls; it stands in the tool's `metadata`.

    Raises:
        DefinitionError: An argument has a name that LangChain keeps for itself.
    """
    if reserved := sorted(_RESERVED & spec["parameters"].get("properties", {}).keys()):
        raise DefinitionError(
            f"the tool `{spec['name']}` has the argument `{reserved[0]}`, "
            f"a name that LangChain keeps for itself. Rename the argument."
        )

    def func(**given: Any) -> Any:
        return call(**call_arguments(validated(schema, given)))

    async def coroutine(**given: Any) -> Any:
        return await acall(**call_arguments(validated(schema, given)))

    has_alias = any(field.alias for field in schema.model_fields.values())
    return load("langchain_core.tools").StructuredTool(
        name=spec["name"],
        description=spec["description"],
        args_schema=json_schema(schema) if has_alias else schema,  # LangChain drops what goes by an alias
        func=func,
        coroutine=coroutine,
        return_direct=return_direct,
        metadata={"require_approval": require_approval} if require_approval else None,
    )
