"""The methods of declared flows: their actions, triggers, feedback and persistence."""

from typing import Any

from pydantic import ConfigDict, field_serializer, model_validator

from crewgraph.contrib.declared.actions import (
    DeclarationModel,
    FlowActionDefinition,
    LLMField,
)
from crewgraph.contrib.declared.names import reference_of
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowCondition, OrCondition
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence
from crewgraph.schema import Metadata, PlainDict

FlowDefinitionCondition = str | dict[str, Any]
"""An event, or `{"or": [...]}` or `{"and": [...]}` of conditions, nested to any depth."""

_KINDS = {"and": AndCondition, "or": OrCondition}


class FlowHumanFeedbackDefinition(DeclarationModel):
    """A person reviews the result of a method; see `human_feedback`."""

    message: str
    emit: list[str] | None = None
    llm: LLMField = None
    default_outcome: str | None = None
    metadata: Metadata | None = None
    provider: Any = None
    """A feedback provider, or its class as "module:Class"."""

    learn: bool = False
    learn_source: str = "hitl"
    learn_strict: bool = False

    @field_serializer("provider")
    def _serialize_provider(self, provider: Any) -> object:
        return provider if provider is None or isinstance(provider, str) else reference_of(type(provider))


class FlowPersistenceDefinition(DeclarationModel):
    """Where states are saved; see `persist`."""

    enabled: bool = False
    verbose: bool = False
    persistence: Any = None
    """A backend; its class and arguments as {"ref": "module:Class", ...}; or {"persistence_type":
    "SQLiteFlowPersistence", "db_path": ...}."""

    @field_serializer("persistence")
    def _serialize_persistence(self, backend: Any) -> object:
        if backend is None or isinstance(backend, str | dict):
            return backend  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(backend, FlowPersistence):
            return {"ref": reference_of(type(backend))}
        arguments = backend.model_dump(mode="json", exclude_unset=True)
        is_ours = isinstance(backend, SQLiteFlowPersistence)
        reference = {} if is_ours else {"ref": reference_of(type(backend))}
        return {"persistence_type": backend.persistence_type, **reference, **arguments}


class FlowMethodDefinition(DeclarationModel):
    """A method: its action and its triggers."""

    model_config = ConfigDict(serialize_by_alias=True)

    description: str | None = None
    do: FlowActionDefinition
    start: bool | str | PlainDict | None = None
    """Whether runs start with the method, or the condition that starts it again."""

    listen: str | PlainDict | None = None
    """The condition that triggers the method."""

    router: bool = False
    """Whether the method's result is the next event."""

    emit: list[str] | None = None
    """The labels that the method may return."""

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
        """Whether runs may start with the method."""
        return self.start is not None and self.start is not False


def read_condition(value: FlowDefinitionCondition, where: str) -> Condition:
    """Convert a declared condition.

    Args:
        value: The declared condition.
        where: Its place in the declaration, for error messages.

    Raises:
        ValueError: If it is neither an event nor `{"or": [...]}` nor `{"and": [...]}`.
    """
    if isinstance(value, str) and value:
        return value
    if isinstance(value, dict) and value.keys() <= _KINDS.keys() and value:
        conditions = [_KINDS[kind](_parts(value[kind], f"{where}.{kind}")) for kind in value]
        return conditions[0] if len(conditions) == 1 else AndCondition(tuple(conditions))
    raise ValueError(f'{where} is {value!r:.80}; write an event, or {{"or": [...]}} or {{"and": [...]}} with a list')


def _parts(items: object, where: str) -> tuple[Condition, ...]:
    if not isinstance(items, list) or not items:
        raise ValueError(f"{where} is {items!r:.80}; write a list of events")
    return tuple(read_condition(item, f"{where}[{number}]") for number, item in enumerate(items))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def declared_condition(condition: Condition) -> FlowDefinitionCondition:
    """Convert a condition to its declared form."""
    if not isinstance(condition, FlowCondition):
        return condition
    kind = "and" if isinstance(condition, AndCondition) else "or"
    return {kind: [declared_condition(part) for part in condition.conditions]}
