"""What a flow's class says, as a declaration."""

import inspect
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.contrib.declared.actions import FlowCodeActionDefinition
from crewgraph.contrib.declared.config import (
    FlowConversationalDefinition,
    FlowConversationalRouterDefinition,
)
from crewgraph.contrib.declared.crew import PythonReferenceDefinition
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

__all__ = ["declaration_of"]


def declaration_of(flow: type[Any]) -> FlowDeclaration:
    """The declaration of a flow's class; its methods are functions of its module there."""
    defined: Any = getattr(flow, "_definition", None)
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
        persist=_kept(getattr(defined, "persistence", None), getattr(defined, "verbose", False)),
        conversational=_conversation(flow),
        methods={name: _method(flow, method) for name, method in methods.items() if not _is_ours(method)},
    )


def _is_ours(method: FlowMethod) -> bool:
    """Whether each conversation has the method by itself."""
    return is_conversational_only(method.func) and method.func.__module__.startswith("crewgraph.")


def _method(flow: type[Any], method: FlowMethod) -> FlowMethodDefinition:
    again, doc = method.condition, method.func.__doc__
    looked = method.feedback
    return FlowMethodDefinition(
        description=inspect.cleandoc(doc) if doc else None,
        do=FlowCodeActionDefinition(
            ref=reference_of(method.func) or f"{flow.__module__}:{flow.__qualname__}.{method.name}"
        ),
        start=(declared_condition(again) if again is not None else True) if method.is_start else None,
        listen=declared_condition(method.trigger) if method.trigger is not None else None,
        router=method.is_router,
        emit=list(method.labels) or None if method.is_router and looked is None else None,
        human_feedback=None
        if looked is None
        else FlowHumanFeedbackDefinition(
            message=looked.message,
            emit=list(looked.emit) or None,
            llm=looked.llm,
            default_outcome=looked.default_outcome,
            metadata=dict(looked.metadata) or None,
            provider=looked.provider,
        ),
        persist=_kept(method.persistence, method.verbose),
    )


def _kept(backend: Any, verbose: bool) -> FlowPersistenceDefinition | None:
    if backend is None:
        return None
    return FlowPersistenceDefinition(enabled=True, verbose=verbose, persistence=None if backend is True else backend)


def _state(flow: type[Any]) -> Any:
    initial: Any = getattr(flow, "initial_state", None)
    source: Any = initial if initial is not None else state_source(flow)
    if isinstance(source, dict):
        return FlowDictStateDefinition(default=cast("dict[str, Any]", source) or None)
    if isinstance(source, BaseModel):
        values = source.model_dump(mode="json", exclude_unset=True)
        return FlowPydanticStateDefinition(ref=reference_of(type(source)), default=values or None)
    if isinstance(source, type) and issubclass(source, BaseModel):
        return FlowPydanticStateDefinition(ref=reference_of(source))
    if source is dict:
        return FlowDictStateDefinition()
    return None if source is None else FlowUnknownStateDefinition(ref=reference_of(source))


def _conversation(flow: type[Any]) -> FlowConversationalDefinition | None:
    given: Any = getattr(flow, "conversational_config", None)
    if not getattr(flow, "conversational", False):
        return None
    if given is None:
        return FlowConversationalDefinition()
    values = {
        name: getattr(given, name)
        for name in FlowConversationalDefinition.model_fields
        if name != "router" and hasattr(given, name)
    }
    router: Any = getattr(given, "router", None)
    if router is not None:
        words = {name: getattr(router, name) for name in FlowConversationalRouterDefinition.model_fields}
        form = reference_of(words["response_format"]) if words["response_format"] is not None else None
        words["response_format"] = PythonReferenceDefinition(python=form.replace(":", ".")) if form else None
        values["router"] = FlowConversationalRouterDefinition(**words)
    if (intents := values.get("default_intents")) is not None:
        values["default_intents"] = list(intents)
    return FlowConversationalDefinition(**values)
