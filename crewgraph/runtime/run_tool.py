"""Crews and flows as tools of LangChain agents."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError

from crewgraph.compiler.crew.inputs import crew_input
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import RunError
from crewgraph.schema import PlainDict
from crewgraph.text import model_name, shorten
from crewgraph.tools.results import observation

__all__ = ["crew_tool", "flow_tool"]

_MAX_DESCRIPTION = 800  # characters


def crew_tool(crew: Crew, name: str | None, description: str | None) -> StructuredTool:
    """Return a crew as a tool; see `Crew.as_tool`."""
    last = crew.tasks[-1] if crew.tasks else None
    returns = "" if last is None else f"{last.description} Returns: {last.expected_output}"
    text = description or _one_line(f"Run the crew {crew.name}. {returns}")

    def run(**inputs: Any) -> tuple[str, Any]:
        return _answer_of(crew.name, crew.kickoff(inputs))

    async def arun(**inputs: Any) -> tuple[str, Any]:
        return _answer_of(crew.name, await crew.akickoff(inputs))

    schema = crew_input(bind_tasks(crew)).json_schema()
    if not schema["required"]:
        schema["properties"] = {}
    return _tool(name or model_name(crew.name or "crew"), text, schema, run, arun)


def flow_tool(flow: Flow, name: str | None, description: str | None) -> StructuredTool:
    """Return a flow as a tool; see `Flow.as_tool`."""
    title = flow.flow_name
    text = description or inspect.getdoc(type(flow)) or f"Run the flow {title}."

    def run(**inputs: Any) -> tuple[str, Any]:
        return _result_of(title, flow.detached().kickoff(inputs))

    async def arun(**inputs: Any) -> tuple[str, Any]:
        return _result_of(title, await flow.detached().akickoff(inputs))

    return _tool(name or model_name(title), _one_line(text), _schema_of(flow), run, arun)


def _tool(
    name: str,
    description: str,
    schema: PlainDict,
    run: Callable[..., Any],
    arun: Callable[..., Coroutine[Any, Any, Any]],
) -> StructuredTool:
    return StructuredTool.from_function(
        run,
        arun,
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
    return observation(result), result


def _check_complete(kind: str, name: str | None, result: object) -> None:
    questions: tuple[Any, ...] = getattr(result, "questions", ())
    if questions:
        raise RunError(
            f"{kind} `{name}` waits for an answer, but the calling agent does not store its runs: compile its graph with a "
            f"checkpointer, so that it can be interrupted. The question: {_one_line(str(questions[0]))}"
        )


def _schema_of(flow: Flow) -> PlainDict:
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
            fields[parameter.name] = {"title": parameter.name, **_type_of(parameter.annotation)}
            if parameter.default is parameter.empty:
                required.append(parameter.name)
    return {**schema, "properties": fields, "required": required}


def _parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # annotated with names imported only for type checking
        signature = inspect.signature(function)
    return list(signature.parameters.values())[1:]


def _type_of(annotation: Any) -> PlainDict:
    """Return the JSON schema of a parameter's type; empty if it has none."""
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return {}
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return {}
