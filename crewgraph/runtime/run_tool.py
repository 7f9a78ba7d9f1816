"""Crews and flows as tools of LangChain agents."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import InitErrorDetails

from crewgraph.annotations import is_unresolved, signature_of
from crewgraph.compiler.crew.inputs import crew_input
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.core.plain import answer_text
from crewgraph.core.pregel import node_identity, within_call
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.errors import RunError
from crewgraph.schema import PlainDict
from crewgraph.text import model_name, shorten

_Kickoff = Callable[[PlainDict], Any]
_Akickoff = Callable[[PlainDict], Awaitable[Any]]

_MAX_DESCRIPTION = 800  # characters


class _RunTool(StructuredTool):
    """A tool that runs a crew or flow. Parallel calls of a node keep their own runs, in whatever order they begin."""

    def invoke(self, input: "str | PlainDict | ToolCall", config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return super().invoke(input, _own_config(input, config), **kwargs)

    async def ainvoke(
        self, input: "str | PlainDict | ToolCall", config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        own = _own_config(input, config)
        ended = asyncio.Event()
        with _parallel_calls(config, ended) as calls:
            try:
                return await super().ainvoke(input, own, **kwargs)
            except Exception:
                # `ToolNode` abandons its other calls when one fails or interrupts, and the next attempt would run them again
                # while they are still running.
                ended.set()
                await asyncio.sleep(0)  # until all parallel calls have begun
                for call in list(calls):
                    await call.wait()
                raise


_active_calls: dict[int, list[asyncio.Event]] = {}
"""The running calls of each node, by `node_identity`; each event is set when its call has ended."""


@contextmanager
def _parallel_calls(config: RunnableConfig | None, ended: asyncio.Event) -> Generator[list[asyncio.Event]]:
    """Register a call among the parallel calls of its node, and yield them all."""
    node = node_identity(ensure_config(config))
    calls = [ended] if node is None else _active_calls.setdefault(node, [])
    if node is not None:
        calls.append(ended)
    try:
        yield calls
    finally:
        ended.set()
        calls.remove(ended)
        if node is not None and not calls:
            _active_calls.pop(node, None)


def _own_config(input: "str | PlainDict | ToolCall", config: RunnableConfig | None) -> RunnableConfig:
    """Return the config of a call; one without an id, which no model has made, keeps the given config."""
    config = ensure_config(config)
    if isinstance(input, str) or input.get("type") != "tool_call" or not input.get("id"):
        return config
    return within_call(config, json.dumps([input["id"], input["name"], input["args"]], default=str, sort_keys=True))


def crew_tool(
    crew: CrewDefinition, name: str | None, description: str | None, kickoff: _Kickoff, akickoff: _Akickoff
) -> StructuredTool:
    """Return a crew as a tool that calls these functions; see `Crew.as_tool`."""
    last = crew.tasks[-1] if crew.tasks else None
    returns = "" if last is None else f"{last.description} Returns: {last.expected_output}"
    text = description or _one_line(f"Run the crew {crew.name}. {returns}")

    def run(**inputs: Any) -> tuple[str, Any]:
        return _answer_of(crew.name, kickoff(inputs))

    async def arun(**inputs: Any) -> tuple[str, Any]:
        return _answer_of(crew.name, await akickoff(inputs))

    schema = crew_input(bind_tasks(crew)).json_schema()
    if not schema["required"]:
        schema["properties"] = {}
    return _named_tool(name or model_name(crew.name or "crew"), text, schema, run, arun)


def flow_tool(
    flow: FlowDefinition, name: str | None, description: str | None, kickoff: _Kickoff, akickoff: _Akickoff
) -> StructuredTool:
    """Return a flow as a tool that calls these functions; see `Flow.as_tool`."""
    title = flow.flow_name
    text = description or f"Run the flow {title}."

    def run(**inputs: Any) -> tuple[str, Any]:
        return _result_of(title, kickoff(inputs))

    async def arun(**inputs: Any) -> tuple[str, Any]:
        return _result_of(title, await akickoff(inputs))

    return _named_tool(name or model_name(title), _one_line(text), _schema_of(flow), run, arun)


def _named_tool(
    name: str,
    description: str,
    schema: PlainDict,
    run: Callable[..., Any],
    arun: Callable[..., Coroutine[Any, Any, Any]],
) -> StructuredTool:
    required: list[str] = schema.get("required", [])

    def check(inputs: PlainDict) -> None:
        # LangChain does not validate by a JSON schema. Its agents tell a model of this error, as of any argument it left out.
        if missing := [
            InitErrorDetails(type="missing", loc=(key,), input=inputs) for key in required if key not in inputs
        ]:
            raise ValidationError.from_exception_data(name, missing)

    def checked_run(**inputs: Any) -> tuple[str, Any]:
        check(inputs)
        return run(**inputs)

    async def checked_arun(**inputs: Any) -> tuple[str, Any]:
        check(inputs)
        return await arun(**inputs)

    return _RunTool.from_function(
        checked_run,
        checked_arun,
        name,
        description,
        args_schema={**schema, "title": name, "description": description},
        infer_schema=False,
        response_format="content_and_artifact",
    )


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _MAX_DESCRIPTION)


def _answer_of(name: str | None, output: Any) -> tuple[str, Any]:
    _check_complete("crew", name, output)
    return output.raw, output


def _result_of(name: str, result: Any) -> tuple[str, Any]:
    _check_complete("flow", name, result)
    return answer_text(result), result


def _check_complete(kind: str, name: str | None, result: object) -> None:
    questions: tuple[Any, ...] = getattr(result, "questions", ())
    if questions:
        raise RunError(
            f"{kind} `{name}` waits for an answer, but the calling agent does not store its runs: compile its graph with a "
            f"checkpointer, so that it can be interrupted. The question: {_one_line(str(questions[0]))}"
        )


def _schema_of(flow: FlowDefinition) -> PlainDict:
    """Return the JSON schema of a flow's inputs: the fields of its state and the parameters of its start methods."""
    schema: PlainDict = {"type": "object", "properties": {}}
    if isinstance(flow.state, BaseModel):
        schema |= type(flow.state).model_json_schema()
    fields: PlainDict = {name: field for name, field in schema["properties"].items() if name != "id"}
    required = [name for name in schema.get("required", ()) if name != "id"]
    for method in flow.topology().methods.values():
        if not method.is_start:
            continue
        for parameter in _parameters_of(method.func):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in fields:
                continue
            fields[parameter.name] = {"title": parameter.name, **_type_of_argument(parameter.annotation)}
            if parameter.default is parameter.empty:
                required.append(parameter.name)
    return {**schema, "properties": fields, "required": required}


def _parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # annotated with names imported only for type checking
        signature = signature_of(function)
    return list(signature.parameters.values())[1:]


def _type_of_argument(annotation: Any) -> PlainDict:
    """Return the JSON schema of a parameter's type; empty if it has none."""
    if annotation is inspect.Parameter.empty or is_unresolved(annotation):
        return {}
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return {}
