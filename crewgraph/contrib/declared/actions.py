"""The actions of declared flows; each method has one."""

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, field_validator, model_validator

from crewgraph.contrib.declared.expression import Expression, ExpressionData
from crewgraph.contrib.declared.names import validate_name
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.deprecations import UnknownKeyword, user_stacklevel
from crewgraph.schema import PlainDict, is_list, is_object

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class PythonReferenceDefinition(BaseModel):
    """A reference to a Python object."""

    python: str

    @field_validator("python")
    @classmethod
    def _validate_python_ref(cls, python: str) -> str:
        if not _DOTTED.fullmatch(python):
            raise ValueError(f"{python!r} is not of the form `module.attribute`")
        return python


_OptionalObject = Annotated[PlainDict, BeforeValidator(lambda value: {} if value is None else value)]


class LLMDefinition(BaseModel):
    """A language model; further arguments of `LLM` are allowed."""

    model_config = ConfigDict(extra="allow")

    model: str
    max_tokens: int | None = None


class CrewAgentDefinition(BaseModel):
    """An agent of a crew; any field of `Agent` is allowed."""

    model_config = ConfigDict(extra="allow")

    role: str | None = None
    goal: str | None = None
    backstory: str | None = None
    type: str | PythonReferenceDefinition | None = None
    from_repository: str | None = None
    settings: _OptionalObject = Field(default_factory=dict)
    llm: str | LLMDefinition | None = None
    planning_config: PlanningConfig | None = None
    allow_delegation: bool | None = None
    max_iter: int | None = None
    max_rpm: int | None = None
    max_execution_time: int | None = None
    tools: list[str | PlainDict] | None = None
    apps: list[str] | None = None
    mcps: list[str | PlainDict] | None = None


class AgentDefinition(CrewAgentDefinition):
    """A standalone agent with its prompt."""

    input: str | list[PlainDict]
    response_format: PythonReferenceDefinition | None = None

    @model_validator(mode="after")
    def _validate_texts(self) -> "AgentDefinition":
        for name in ("role", "goal", "backstory"):
            if "${" in str(getattr(self, name) or ""):
                raise ValueError(
                    f"`{name}` contains `${{`, but only `input` of an agent may hold expressions; move it there"
                )
        return self


class CrewTaskDefinition(BaseModel):
    """A task of a crew; any field of `Task` is allowed."""

    model_config = ConfigDict(extra="allow")

    description: str
    expected_output: str
    name: str | None = None
    agent: str | None = None
    context: list[str] | None = None
    type: str | PythonReferenceDefinition | None = None


def _agents_by_name(agents: object) -> object:
    """Return a list of agents as an object of agents by `name`, else by `role`."""
    if not is_list(agents):
        return agents
    named: PlainDict = {}
    for agent in agents:
        fields = agent if is_object(agent) else {}
        name = fields.get("name") or fields.get("role")
        if not isinstance(name, str):
            raise ValueError(
                "`agents` must be an object of agents by name, or a list of objects with a `name`; lists of names work in files "
                "only"
            )
        if name in named:
            raise ValueError(f"`agents` has two agents named {name!r}")
        named[name] = {key: value for key, value in fields.items() if key != "name"}
    return named


class CrewDefinition(BaseModel):
    """A crew with its agents by name; any field of `Crew` is allowed."""

    model_config = ConfigDict(extra="allow")

    agents: Annotated[dict[str, CrewAgentDefinition], BeforeValidator(_agents_by_name)]
    tasks: list[CrewTaskDefinition]
    inputs: _OptionalObject = Field(default_factory=dict)
    manager_agent: str | PythonReferenceDefinition | None = None

    @model_validator(mode="after")
    def _validate_inline_shape(self) -> "CrewDefinition":
        if not self.agents or not self.tasks:
            raise ValueError(f"a crew needs at least one entry in `{'tasks' if self.agents else 'agents'}`")
        return self


class DeclarationModel(BaseModel):
    """Base class of the parts of a declaration that warn about unknown keys."""

    @model_validator(mode="before")
    @classmethod
    def _warn_unknown_keys(cls, values: object) -> object:
        if is_object(values):
            aliases = (field.alias for field in cls.model_fields.values() if field.alias is not None)
            title = str(cls.model_config.get("title") or cls.__name__).removesuffix("Definition")
            warn_unknown_keys(values, (*cls.model_fields, *aliases), title)
        return values


def warn_unknown_keys(values: Iterable[str], known: Iterable[str], where: str) -> None:
    """Warn about keys that are not known."""
    names = sorted(known)
    if unknown := [key for key in values if key not in names]:
        keys = ", ".join(f"`{key}`" for key in unknown)
        warnings.warn(
            f"`{where}` of a declaration has no {keys}, which is ignored. Known keys: {', '.join(names)}.",
            UnknownKeyword,
            stacklevel=user_stacklevel(),
        )


def _plain_model(llm: object) -> Any:
    """Return a language model as data: its name if it is an object."""
    if llm is None or isinstance(llm, str | dict):
        return llm  # pyright: ignore[reportUnknownVariableType]
    return str(getattr(llm, "model", None) or getattr(llm, "model_name", None) or type(llm).__name__)


LLMField = Annotated[Any, PlainSerializer(_plain_model)]
"""A language model, or its name."""


class FlowConversationalRouterDefinition(BaseModel):
    """How a model routes a turn; see `RouterConfig`."""

    prompt: str | None = None
    response_format: PythonReferenceDefinition | None = None
    llm: LLMField = None
    routes: list[str] | None = None
    route_descriptions: dict[str, str] | None = None
    default_intent: str | None = "converse"
    fallback_intent: str | None = "converse"
    intent_field: str = "intent"


class FlowConversationalDefinition(BaseModel):
    """How a flow holds conversations; see `ConversationConfig`. Its presence makes the flow conversational."""

    enabled: bool = True
    system_prompt: str | None = None
    llm: LLMField = None
    router: FlowConversationalRouterDefinition | None = None
    answer_from_history_prompt: str | None = None
    default_intents: list[str] | None = None
    intent_llm: LLMField = None
    answer_from_history_llm: LLMField = None
    visible_agent_outputs: list[str] | Literal["all"] | None = None
    defer_trace_finalization: bool = True
    trace_scope: Literal["turn", "session"] | None = None
    builtin_routes: list[str] = Field(default_factory=lambda: ["converse", "end"])
    internal_routes: list[str] = Field(default_factory=lambda: ["answer_from_history"])


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

    model_config = _STRICT

    call: Literal["expression"]
    expr: str
    """The CEL expression, without `${...}` around it."""


class FlowScriptActionDefinition(BaseModel):
    """A piece of Python is run, where scripts are allowed."""

    model_config = _STRICT

    call: Literal["script"]
    code: str
    """Body of a function of `state`, `outputs`, `input` and `item`."""

    language: Literal["python"] = "python"


def _with_call(action: object) -> object:
    """Return an action with the `call` that selects its model."""
    return {"call": "code", **action} if is_object(action) else action


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

    action: Annotated[FlowAtomicActionDefinition, BeforeValidator(_with_call)]

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


FlowActionDefinition = Annotated[
    FlowAtomicActionDefinition | FlowEachActionDefinition, Field(discriminator="call"), BeforeValidator(_with_call)
]
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
