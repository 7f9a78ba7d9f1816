"""The actions of declared flows; each method has one."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from crewgraph.contrib.declared.crew import AgentDefinition, CrewDefinition
from crewgraph.contrib.declared.expression import Expression, ExpressionData
from crewgraph.contrib.declared.names import validate_name

__all__ = [
    "FlowActionDefinition",
    "FlowAgentActionDefinition",
    "FlowAtomicActionDefinition",
    "FlowCodeActionDefinition",
    "FlowCrewActionDefinition",
    "FlowEachActionDefinition",
    "FlowEachStepDefinition",
    "FlowExpressionActionDefinition",
    "FlowScriptActionDefinition",
    "FlowToolActionDefinition",
    "check_expressions",
]

_STRICT = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


class FlowCodeActionDefinition(BaseModel):
    """A function of a Python module is called with the flow."""

    model_config = _STRICT

    call: Literal["code"] = "code"
    ref: str
    """The function, as "module:name"."""

    with_: dict[str, ExpressionData] | None = Field(default=None, alias="with")
    """Keyword arguments, with `${...}` in texts; if absent, the function is called like a method."""


class FlowToolActionDefinition(BaseModel):
    """A tool is run."""

    model_config = _STRICT

    call: Literal["tool"]
    ref: str
    """The tool's class, as "module:Class"."""

    with_: dict[str, ExpressionData] | None = Field(default=None, alias="with")
    """Arguments, with `${...}` in texts."""


class FlowCrewActionDefinition(BaseModel):
    """A crew is kicked off."""

    model_config = _STRICT

    call: Literal["crew"]
    from_declaration: str | None = None
    """A crew's JSON file or its folder, relative to the folder of the flow's file."""

    with_: CrewDefinition | None = Field(default=None, alias="with")
    """The crew, if it is defined inline."""

    inputs: dict[str, ExpressionData] | None = None
    """Inputs that override the crew's own, with `${...}` in texts."""

    @model_validator(mode="after")
    def _validate_crew_source(self) -> "FlowCrewActionDefinition":
        if (self.from_declaration is None) == (self.with_ is None):
            raise ValueError("a crew needs either `with`, the crew inline, or `from_declaration`, its file")
        return self


class FlowAgentActionDefinition(BaseModel):
    """An agent runs without a crew."""

    model_config = _STRICT

    call: Literal["agent"]
    with_: AgentDefinition = Field(alias="with")
    """The agent and its `input`, which may contain `${...}`."""


class FlowExpressionActionDefinition(BaseModel):
    """An expression is evaluated."""

    model_config = ConfigDict(extra="forbid")

    call: Literal["expression"]
    expr: str
    """The CEL expression, without `${...}` around it."""


class FlowScriptActionDefinition(BaseModel):
    """A piece of Python is run, where scripts are allowed."""

    model_config = ConfigDict(extra="forbid")

    call: Literal["script"]
    code: str
    """Body of a function of `state`, `outputs`, `input` and `item`."""

    language: Literal["python"] = "python"


FlowAtomicActionDefinition = Annotated[
    FlowCodeActionDefinition
    | FlowToolActionDefinition
    | FlowCrewActionDefinition
    | FlowAgentActionDefinition
    | FlowExpressionActionDefinition
    | FlowScriptActionDefinition,
    Field(discriminator="call"),
]
"""Any action but `each`."""


class FlowEachStepDefinition(BaseModel):
    """A step of an `each`."""

    model_config = _STRICT

    name: str
    """Name under which later steps read its output."""

    if_: str | None = Field(default=None, alias="if")
    """CEL condition; the step is skipped if it is false."""

    action: FlowAtomicActionDefinition

    @model_validator(mode="after")
    def _validate_step_name(self) -> "FlowEachStepDefinition":
        validate_name(self.name, "the name of a step")
        return self


class FlowEachActionDefinition(BaseModel):
    """Some steps for each item of a list, one item after the other."""

    model_config = _STRICT

    call: Literal["each"]
    in_: str = Field(alias="in")
    """CEL expression of the list."""

    do: list[FlowEachStepDefinition]
    """The steps; the output of the last one is the result for the item."""

    @model_validator(mode="after")
    def _validate_step_list(self) -> "FlowEachActionDefinition":
        names = [step.name for step in self.do]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if not names or duplicates:
            problem = f"`{duplicates[0]}` occurs twice" if duplicates else "the list is empty"
            raise ValueError(f"`do` of an `each` needs steps with unique names; {problem}")
        return self


FlowActionDefinition = (
    FlowCodeActionDefinition
    | FlowToolActionDefinition
    | FlowCrewActionDefinition
    | FlowAgentActionDefinition
    | FlowExpressionActionDefinition
    | FlowScriptActionDefinition
    | FlowEachActionDefinition
)
"""Any action of a method."""

_ROOTS = ("state", "outputs")


def check_expressions(action: FlowActionDefinition, place: str, roots: tuple[str, ...] = _ROOTS) -> None:
    """Check that an action's expressions are valid and read only names in scope.

    Args:
        action: The action.
        place: Its place in the declaration, for error messages.
        roots: The names in scope.

    Raises:
        ExpressionError: If one is not valid CEL, or reads another name.
    """
    if isinstance(action, FlowEachActionDefinition):
        Expression(action.in_).validate_expression(allowed_roots=roots, source=f"{place}.in")
        for number, step in enumerate(action.do):
            step_roots, where = (*roots, "item"), f"{place}.do[{number}]"
            if step.if_ is not None:
                Expression(step.if_).validate_expression(allowed_roots=step_roots, source=f"{where}.if")
            check_expressions(step.action, f"{where}.action", step_roots)
    elif isinstance(action, FlowExpressionActionDefinition):
        Expression(action.expr).validate_expression(allowed_roots=roots, source=f"{place}.expr")
    for name, value in _templates(action):
        Expression(value).validate_template(allowed_roots=roots, source=f"{place}.{name}")


def _templates(action: FlowActionDefinition) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an action that may contain `${...}`, with their names."""
    if isinstance(action, FlowCodeActionDefinition | FlowToolActionDefinition):
        yield "with", action.with_
    elif isinstance(action, FlowCrewActionDefinition):
        yield "inputs", action.inputs
    elif isinstance(action, FlowAgentActionDefinition):
        yield "with.input", action.with_.input
