"""Settings of conversational declared flows, and warnings about unknown keys."""

import warnings
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field, field_serializer, model_validator

from crewgraph.contrib.declared.crew import PythonReferenceDefinition
from crewgraph.definitions.base import UnknownKeyword
from crewgraph.deprecations import user_stacklevel
from crewgraph.schema import is_object

__all__ = [
    "DeclarationModel",
    "FlowConversationalDefinition",
    "FlowConversationalRouterDefinition",
    "plain_model",
    "warn_unknown_keys",
]


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


class FlowConversationalRouterDefinition(BaseModel):
    """How a model routes a turn; see `RouterConfig`."""

    prompt: str | None = None
    response_format: PythonReferenceDefinition | None = None
    llm: Any = None
    routes: list[str] | None = None
    route_descriptions: dict[str, str] | None = None
    default_intent: str | None = "converse"
    fallback_intent: str | None = "converse"
    intent_field: str = "intent"

    @field_serializer("llm")
    def _serialize_llm(self, llm: object) -> object:
        return plain_model(llm)


class FlowConversationalDefinition(BaseModel):
    """How a flow holds conversations; see `ConversationConfig`. Its presence makes the flow conversational."""

    enabled: bool = True
    system_prompt: str | None = None
    llm: Any = None
    router: FlowConversationalRouterDefinition | None = None
    answer_from_history_prompt: str | None = None
    default_intents: list[str] | None = None
    intent_llm: Any = None
    answer_from_history_llm: Any = None
    visible_agent_outputs: list[str] | Literal["all"] | None = None
    defer_trace_finalization: bool = True
    trace_scope: Literal["turn", "session"] | None = None
    builtin_routes: list[str] = Field(default_factory=lambda: ["converse", "end"])
    internal_routes: list[str] = Field(default_factory=lambda: ["answer_from_history"])

    @field_serializer("llm", "intent_llm", "answer_from_history_llm")
    def _serialize_llm(self, llm: object) -> object:
        return plain_model(llm)


def plain_model(llm: object) -> Any:
    """Return a language model as data: its name if it is an object."""
    if llm is None or isinstance(llm, str | dict):
        return llm  # pyright: ignore[reportUnknownVariableType]
    return str(getattr(llm, "model", None) or getattr(llm, "model_name", None) or type(llm).__name__)
