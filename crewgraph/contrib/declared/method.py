"""The methods of declared flows."""

from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, Tag, field_serializer, model_validator

from crewgraph.contrib.declared.actions import (
    FlowAgentActionDefinition,
    FlowCodeActionDefinition,
    FlowCrewActionDefinition,
    FlowEachActionDefinition,
    FlowExpressionActionDefinition,
    FlowScriptActionDefinition,
    FlowToolActionDefinition,
)
from crewgraph.contrib.declared.config import KnowsItsKeys, plain_model
from crewgraph.contrib.declared.names import reference_of
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowCondition, OrCondition

__all__ = [
    "FlowDefinitionCondition",
    "FlowHumanFeedbackDefinition",
    "FlowMethodDefinition",
    "FlowPersistenceDefinition",
    "condition_of",
    "declared_condition",
]

FlowDefinitionCondition = str | dict[str, Any]
"""An event, or `{"or": [...]}` or `{"and": [...]}` of some, to any depth."""

_KINDS = {"and": AndCondition, "or": OrCondition}


class FlowHumanFeedbackDefinition(KnowsItsKeys):
    """Somebody looks at what a method returned; see `human_feedback`."""

    message: str
    emit: list[str] | None = None
    llm: Any = None
    default_outcome: str | None = None
    metadata: dict[str, Any] | None = None
    provider: Any = None
    """Who asks: a provider, or its class as "module:Class"."""

    learn: bool = False
    learn_source: str = "hitl"
    learn_strict: bool = False

    @field_serializer("llm")
    def _serialize_llm(self, llm: Any) -> Any:
        return plain_model(llm)

    @field_serializer("provider")
    def _serialize_provider(self, provider: Any) -> Any:
        return provider if provider is None or isinstance(provider, str) else reference_of(type(provider))


class FlowPersistenceDefinition(KnowsItsKeys):
    """Where states are saved; see `persist`."""

    enabled: bool = False
    verbose: bool = False
    persistence: Any = None
    """A backend; its class as {"ref": "module:Class"}, with its arguments beside; or {"persistence_type":
    "SQLiteFlowPersistence", "db_path": ...}."""

    @field_serializer("persistence")
    def _serialize_persistence(self, backend: Any) -> Any:
        if backend is None or isinstance(backend, str | dict):
            return backend  # pyright: ignore[reportUnknownVariableType]
        path = getattr(backend, "db_path", None)
        told = {"persistence_type": backend.persistence_type} if hasattr(backend, "persistence_type") else {}
        return {**told, **({"db_path": str(path)} if path is not None else {"ref": reference_of(type(backend))})}


def _call(action: Any) -> Any:
    """What an action says that it is."""
    return action.get("call", "code") if isinstance(action, dict) else getattr(action, "call", None)  # pyright: ignore[reportUnknownVariableType]


class FlowMethodDefinition(KnowsItsKeys):
    """A method: what it does, and when."""

    model_config = ConfigDict(serialize_by_alias=True)

    description: str | None = None
    do: Annotated[
        Annotated[FlowCodeActionDefinition, Tag("code")]
        | Annotated[FlowToolActionDefinition, Tag("tool")]
        | Annotated[FlowCrewActionDefinition, Tag("crew")]
        | Annotated[FlowAgentActionDefinition, Tag("agent")]
        | Annotated[FlowExpressionActionDefinition, Tag("expression")]
        | Annotated[FlowScriptActionDefinition, Tag("script")]
        | Annotated[FlowEachActionDefinition, Tag("each")],
        Discriminator(_call),
    ]
    start: bool | str | dict[str, Any] | None = None
    """Whether runs begin with it; or what starts it again."""

    listen: str | dict[str, Any] | None = None
    """What it waits for."""

    router: bool = False
    """Whether what it returns is what happens next."""

    emit: list[str] | None = None
    """The labels that it may return."""

    human_feedback: FlowHumanFeedbackDefinition | None = None
    persist: FlowPersistenceDefinition | None = None

    @model_validator(mode="after")
    def _canonicalize_human_feedback_routing(self) -> "FlowMethodDefinition":
        if self.human_feedback is not None and self.human_feedback.emit:
            object.__setattr__(self, "router", True)
            object.__setattr__(self, "emit", None)
        return self

    @property
    def is_start(self) -> bool:
        """Whether runs may begin with it."""
        return self.start is not None and self.start is not False


def condition_of(given: FlowDefinitionCondition, where: str) -> Condition:
    """What a method waits for.

    Args:
        given: as a declaration says it.
        where: where it stands, for messages.

    Raises:
        ValueError: it is neither an event nor `{"or": [...]}` or `{"and": [...]}`.
    """
    if isinstance(given, str) and given:
        return given
    if isinstance(given, dict) and given.keys() <= _KINDS.keys() and given:
        met = [_KINDS[kind](_parts(given[kind], f"{where}.{kind}")) for kind in given]
        return met[0] if len(met) == 1 else AndCondition(tuple(met))
    raise ValueError(f'{where} is {given!r:.80}; write an event, or {{"or": [...]}} or {{"and": [...]}} of some')


def _parts(given: Any, where: str) -> tuple[Condition, ...]:
    if not isinstance(given, list) or not given:
        raise ValueError(f"{where} is {given!r:.80}; write a list of events")
    return tuple(condition_of(one, f"{where}[{number}]") for number, one in enumerate(given))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def declared_condition(condition: Condition) -> FlowDefinitionCondition:
    """The same as declarations say it."""
    if not isinstance(condition, FlowCondition):
        return condition
    kind = "and" if isinstance(condition, AndCondition) else "or"
    return {kind: [declared_condition(one) for one in condition.conditions]}
