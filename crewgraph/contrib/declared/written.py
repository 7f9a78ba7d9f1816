"""Describes flow classes as declarations."""

import inspect
from typing import Any

from pydantic import BaseModel

from crewgraph.contrib.declared.actions import (
    FlowCodeActionDefinition,
    FlowConversationalDefinition,
    FlowConversationalRouterDefinition,
    PythonReferenceDefinition,
)
from crewgraph.contrib.declared.flow import FlowConfigDefinition, FlowDeclaration
from crewgraph.contrib.declared.method import (
    FlowHumanFeedbackDefinition,
    FlowMethodDefinition,
    FlowPersistenceDefinition,
    declared_condition,
)
from crewgraph.contrib.declared.names import reference_of
from crewgraph.contrib.declared.state import (
    FlowDictStateDefinition,
    FlowPydanticStateDefinition,
    FlowUnknownStateDefinition,
)
from crewgraph.definitions.flow.method import FlowMethod, is_conversational_only
from crewgraph.definitions.flow.state import state_source
from crewgraph.schema import is_object


def declaration_of(flow: type[Any]) -> FlowDeclaration:
    """Return the declaration of a flow class; its methods become references to functions of its module."""
    defined = getattr(flow, "_definition", None)
    methods: dict[str, FlowMethod] = dict(defined.methods) if defined is not None else {}
    doc = vars(flow).get("__doc__")
    return FlowDeclaration(
        name=flow.__name__,
        description=inspect.cleandoc(doc) if doc else None,
        state=_state(flow) if defined is not None else None,
        config=FlowConfigDefinition(
            stream=bool(getattr(flow, "streaming", False)),
            suppress_flow_events=bool(getattr(flow, "suppress_flow_events", False)),
            max_method_calls=getattr(flow, "max_method_calls", 100),
        ),
        persist=_persistence(getattr(defined, "persistence", None), getattr(defined, "verbose", False)),
        conversational=_conversation(flow),
        methods={name: _written_method(flow, method) for name, method in methods.items() if not _is_builtin(method)},
    )


def _is_builtin(method: FlowMethod) -> bool:
    """Return whether crewgraph provides the method for every conversation."""
    return is_conversational_only(method.func) and method.func.__module__.startswith("crewgraph.")


def _written_method(flow: type[object], method: FlowMethod) -> FlowMethodDefinition:
    again, doc = method.condition, method.func.__doc__
    feedback = method.feedback
    return FlowMethodDefinition(
        description=inspect.cleandoc(doc) if doc else None,
        do=FlowCodeActionDefinition(
            ref=reference_of(method.func) or f"{flow.__module__}:{flow.__qualname__}.{method.name}"
        ),
        start=(declared_condition(again) if again is not None else True) if method.is_start else None,
        listen=declared_condition(method.trigger) if method.trigger is not None else None,
        router=method.is_router,
        emit=list(method.labels) or None if method.is_router and feedback is None else None,
        human_feedback=None
        if feedback is None
        else FlowHumanFeedbackDefinition(
            message=feedback.message,
            emit=list(feedback.emit) or None,
            llm=feedback.llm,
            default_outcome=feedback.default_outcome,
            metadata=dict(feedback.metadata) or None,
            provider=feedback.provider,
        ),
        persist=_persistence(method.persistence, method.verbose),
    )


def _persistence(backend: object, verbose: bool) -> FlowPersistenceDefinition | None:
    if backend is None:
        return None
    return FlowPersistenceDefinition(enabled=True, verbose=verbose, persistence=None if backend is True else backend)


def _state(flow: type[object]) -> Any:
    initial: object = getattr(flow, "initial_state", None)
    source: object = initial if initial is not None else state_source(flow)
    if is_object(source):
        return FlowDictStateDefinition(default=source or None)
    if isinstance(source, BaseModel):
        values = source.model_dump(mode="json", exclude_unset=True)
        return FlowPydanticStateDefinition(ref=reference_of(type(source)), default=values or None)
    if isinstance(source, type) and issubclass(source, BaseModel):
        return FlowPydanticStateDefinition(ref=reference_of(source))
    if source is dict:
        return FlowDictStateDefinition()
    return None if source is None else FlowUnknownStateDefinition(ref=reference_of(source))


def _conversation(flow: type[object]) -> FlowConversationalDefinition | None:
    config: object = getattr(flow, "conversational_config", None)
    if not getattr(flow, "conversational", False):
        return None
    if config is None:
        return FlowConversationalDefinition()
    values = {
        name: getattr(config, name)
        for name in FlowConversationalDefinition.model_fields
        if name != "router" and hasattr(config, name)
    }
    router: object = getattr(config, "router", None)
    if router is not None:
        settings = {name: getattr(router, name) for name in FlowConversationalRouterDefinition.model_fields}
        model = reference_of(settings["response_format"]) if settings["response_format"] is not None else None
        settings["response_format"] = PythonReferenceDefinition(python=model.replace(":", ".")) if model else None
        values["router"] = FlowConversationalRouterDefinition(**settings)
    if (intents := values.get("default_intents")) is not None:
        values["default_intents"] = list(intents)
    return FlowConversationalDefinition(**values)
