"""What the methods of a declared flow do: one action each."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from crewgraph.contrib.declared.crew import AgentDefinition, CrewDefinition
from crewgraph.contrib.declared.expression import Expression, ExpressionData
from crewgraph.contrib.declared.names import checked_name

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
    """Its keywords, with `${...}` in texts; without any it is called like a method of a class."""


class FlowToolActionDefinition(BaseModel):
    """A tool is run."""

    model_config = _STRICT

    call: Literal["tool"]
    ref: str
    """The tool's class, as "module:Class"."""

    with_: dict[str, ExpressionData] | None = Field(default=None, alias="with")
    """Its arguments, with `${...}` in texts."""


class FlowCrewActionDefinition(BaseModel):
    """A crew is kicked off."""

    model_config = _STRICT

    call: Literal["crew"]
    from_declaration: str | None = None
    """A file of a crew in JSON, or its folder; from the folder of the flow's own file on."""

    with_: CrewDefinition | None = Field(default=None, alias="with")
    """The crew itself, where it has no file."""

    inputs: dict[str, ExpressionData] | None = None
    """Inputs over those that the crew has by itself, with `${...}` in texts."""

    @model_validator(mode="after")
    def _validate_crew_source(self) -> "FlowCrewActionDefinition":
        if (self.from_declaration is None) == (self.with_ is None):
            raise ValueError("a crew has either `with`, which is the crew itself, or `from_declaration`, its file")
        return self


class FlowAgentActionDefinition(BaseModel):
    """An agent is asked, without a crew."""

    model_config = _STRICT

    call: Literal["agent"]
    with_: AgentDefinition = Field(alias="with")
    """The agent, and its `input`, with `${...}` in it."""


class FlowExpressionActionDefinition(BaseModel):
    """An expression is evaluated."""

    model_config = ConfigDict(extra="forbid")

    call: Literal["expression"]
    expr: str
    """CEL, without `${...}` around it."""


class FlowScriptActionDefinition(BaseModel):
    """A piece of Python is run, where scripts are allowed."""

    model_config = ConfigDict(extra="forbid")

    call: Literal["script"]
    code: str
    """The body of a function of `state`, `outputs`, `input` and `item`."""

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
"""An action that is no `each`."""


class FlowEachStepDefinition(BaseModel):
    """A step of an `each`."""

    model_config = _STRICT

    name: str
    """What later steps know its output by."""

    if_: str | None = Field(default=None, alias="if")
    """CEL; the step is left out where it is false."""

    action: FlowAtomicActionDefinition

    @model_validator(mode="after")
    def _validate_step_name(self) -> "FlowEachStepDefinition":
        checked_name(self.name, "the name of a step")
        return self


class FlowEachActionDefinition(BaseModel):
    """Some steps for each item of a list, one item after the other."""

    model_config = _STRICT

    call: Literal["each"]
    in_: str = Field(alias="in")
    """CEL; the list."""

    do: list[FlowEachStepDefinition]
    """The steps; what the last of them gave is what came of the item."""

    @model_validator(mode="after")
    def _validate_step_list(self) -> "FlowEachActionDefinition":
        names = [step.name for step in self.do]
        twice = sorted({name for name in names if names.count(name) > 1})
        if not names or twice:
            told = f"`{twice[0]}` is there twice" if twice else "there is none"
            raise ValueError(f"`do` of an `each` is a list of steps, each with a name of its own; {told}")
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
"""What a method does."""

_ROOTS = ("state", "outputs")


def check_expressions(action: FlowActionDefinition, place: str, roots: tuple[str, ...] = _ROOTS) -> None:
    """See whether an action's expressions can be read, and name only what there is.

    Args:
        action: the action.
        place: where it stands, for messages.
        roots: what may be named.

    Raises:
        ExpressionError: one cannot be read, or names something else.
    """
    if isinstance(action, FlowEachActionDefinition):
        Expression(action.in_).validate_expression(allowed_roots=roots, source=f"{place}.in")
        for number, step in enumerate(action.do):
            inner, where = (*roots, "item"), f"{place}.do[{number}]"
            if step.if_ is not None:
                Expression(step.if_).validate_expression(allowed_roots=inner, source=f"{where}.if")
            check_expressions(step.action, f"{where}.action", inner)
    elif isinstance(action, FlowExpressionActionDefinition):
        Expression(action.expr).validate_expression(allowed_roots=roots, source=f"{place}.expr")
    for name, value in _templates(action):
        Expression(value).validate_template(allowed_roots=roots, source=f"{place}.{name}")


def _templates(action: FlowActionDefinition) -> Iterator[tuple[str, Any]]:
    """The texts of an action that hold `${...}`."""
    if isinstance(action, FlowCodeActionDefinition | FlowToolActionDefinition):
        yield "with", action.with_
    elif isinstance(action, FlowCrewActionDefinition):
        yield "inputs", action.inputs
    elif isinstance(action, FlowAgentActionDefinition):
        yield "with.input", action.with_.input
