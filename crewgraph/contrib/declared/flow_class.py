"""Flows of declarations: classes like those that programs write, with methods that carry out actions."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, iscoroutinefunction
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.contrib.conversations.config import ConversationConfig, RouterConfig
from crewgraph.contrib.declared.actions import FlowCodeActionDefinition, FlowExpressionActionDefinition
from crewgraph.contrib.declared.cel import expression_labels, parsed
from crewgraph.contrib.declared.config import FlowConversationalDefinition, tell_unknown
from crewgraph.contrib.declared.flow import FlowDeclaration
from crewgraph.contrib.declared.method import (
    FlowHumanFeedbackDefinition,
    FlowMethodDefinition,
    FlowPersistenceDefinition,
    condition_of,
)
from crewgraph.contrib.declared.names import PythonNames, named_python
from crewgraph.contrib.declared.state import FlowDictStateDefinition, FlowUnknownStateDefinition, state_model
from crewgraph.contrib.declared.steps import bound, code_of, keywords_of, step_of
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.feedback import human_feedback
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.method import FlowMethod, MethodMetadata, build_method, ensure_metadata
from crewgraph.definitions.flow.persistence import persist
from crewgraph.errors import DefinitionError
from crewgraph.memory.memory import Memory
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence

__all__ = ["Backends", "class_of", "declared_topology", "flow_from_declaration", "settings_of"]

Backends = Mapping[str, Callable[..., Any]]
"""What makes the backends that a declaration may name, by that name."""

_BACKENDS: Backends = {"SQLiteFlowPersistence": SQLiteFlowPersistence}

_FIELDS = {
    "max_method_calls": "max_method_calls",
    "suppress_flow_events": "suppress_flow_events",
    "stream": "streaming",
}
"""The fields of a flow's class by what `config` calls them."""

_SELF = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)])


def flow_from_declaration(
    base: type[Flow[Any]],
    contents: FlowDeclaration | str | dict[str, Any] | None,
    path: Path | str | None,
    keywords: Mapping[str, Any],
) -> Flow[Any]:
    """A flow that a declaration describes; see `Flow.from_declaration`.

    Args:
        base: the class that the flow's class is made of.
        contents: the declaration, or a text or dict that holds it.
        path: the file that holds it, where `contents` is None.
        keywords: arguments of the class, over those of the declaration.
    """
    declared = FlowDeclaration.from_declaration(contents=contents, path=path)
    return class_of(declared, base, _BACKENDS)(**{**settings_of(declared), **keywords})


def class_of(declared: FlowDeclaration, base: type[Flow[Any]], backends: Backends) -> type[Flow[Any]]:
    """The class of a declared flow.

    Args:
        declared: the declaration.
        base: the class that it is made of.
        backends: see `Backends`.

    Raises:
        DefinitionError: a name in it leads nowhere, or several methods cannot be made: all that is wrong with them is told.
        FileNotFoundError: the file of a crew is missing, and nothing else is wrong with the methods.
        ValidationError: a value of a crew or an agent has a wrong type, and nothing else is wrong with the methods.
        ScriptRefused: it holds a script, and scripts are not allowed.
    """
    config, root = declared.config, declared.source_dir
    members: dict[str, Any] = {
        "__doc__": declared.description,
        "__module__": base.__module__,
        "name": declared.name,
        **{_FIELDS[key]: getattr(config, key) for key in _FIELDS if key in config.model_fields_set},
        "_declared": declared,
        "_declared_methods": _methods(declared, root, backends),
    }
    if declared.state is not None:
        members["initial_state"] = _state(declared, root)
    made = cast("type[Flow[Any]]", type(declared.name, (base,), members))
    if declared.conversational is not None and declared.conversational.enabled:
        made.become_conversational(_conversation(declared.conversational, root))
    if (kept := _backend(declared.persist, backends, "persist", root)) is not None:
        made = persist(None if kept is True else kept, bool(declared.persist and declared.persist.verbose))(made)
    return made


def settings_of(declared: FlowDeclaration) -> dict[str, Any]:
    """What a declared flow is given when it is made."""
    config = declared.config
    given: dict[str, Any] = {"checkpoint": config.checkpoint, "tracing": config.tracing}
    if config.memory is not None:
        tell_unknown(config.memory, Memory.model_fields, "config.memory")
        given["memory"] = Memory(**{key: one for key, one in config.memory.items() if key in Memory.model_fields})
    if config.input_provider is not None:
        found = named_python(config.input_provider, "config.input_provider", declared.source_dir)
        given["input_provider"] = found() if isinstance(found, type) else found
    return {name: value for name, value in given.items() if value is not None}


def declared_topology(declared: FlowDeclaration) -> FlowDefinition:
    """The methods of a declaration and what triggers them, without what they do: nothing is imported."""

    def nothing(self: Any) -> None: ...

    methods = {
        name: build_method(name, nothing, _notes(one, f"methods.{name}")) for name, one in declared.methods.items()
    }
    return FlowDefinition(name=declared.name, methods=methods, is_declared=True)


def _methods(declared: FlowDeclaration, root: Path | None, backends: Backends) -> dict[str, FlowMethod]:
    made: dict[str, FlowMethod] = {}
    wrong: list[tuple[str, DefinitionError | FileNotFoundError | ValidationError]] = []
    for name, one in declared.methods.items():
        try:
            made[name] = _method(name, one, f"methods.{name}", root, backends)
        except (DefinitionError, FileNotFoundError, ValidationError) as error:
            wrong.append((name, error))
    if len(wrong) == 1:
        raise wrong[0][1]
    if wrong:
        raise DefinitionError(
            [str(error) if isinstance(error, DefinitionError) else f"methods.{name}: {error}" for name, error in wrong]
        )
    return made


def _method(name: str, given: FlowMethodDefinition, place: str, root: Path | None, backends: Backends) -> FlowMethod:
    function = _function(given, f"{place}.do", root)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = given.description or function.__doc__
    notes = _notes(given, place)
    if (kept := _backend(given.persist, backends, f"{place}.persist", root)) is not None:
        notes.persistence, notes.verbose = kept, bool(given.persist and given.persist.verbose)
    if given.human_feedback is not None:
        _asked(given.human_feedback, place, root)(function)
        notes.feedback = ensure_metadata(function).feedback
    return build_method(name, function, notes)


def _notes(given: FlowMethodDefinition, place: str) -> MethodMetadata:
    """What decorators would say of a method."""
    notes = MethodMetadata()
    notes.start, notes.router = given.is_start, given.router
    if isinstance(given.start, str | dict):
        notes.again = condition_of(given.start, f"{place}.start")
    if given.listen is not None:
        notes.trigger = condition_of(given.listen, f"{place}.listen")
    asked = given.human_feedback.emit if given.human_feedback is not None else None
    notes.labels = tuple(asked or given.emit or (_labels(given) if given.router else ()))
    return notes


def _function(given: FlowMethodDefinition, place: str, root: Path | None) -> Any:
    """A function of the flow, as methods of classes are."""
    if not isinstance(given.do, FlowCodeActionDefinition):
        step = step_of(given.do, place, root)

        def act(self: Any, *came: Any) -> Any:
            return step(self, {}, *came)

        return act
    function, named = code_of(given.do, place, root), given.do.with_

    def work(self: Any, *came: Any, **inputs: Any) -> Any:
        if named is None:
            return bound(function, self)(*came, **inputs)
        return bound(function, self)(**keywords_of(named, self, {}))

    async def awork(self: Any, *came: Any, **inputs: Any) -> Any:
        return await work(self, *came, **inputs)

    made: Any = awork if iscoroutinefunction(function) else work
    made.__wrapped__, made.__doc__ = function, function.__doc__
    if named is not None:
        made.__signature__ = _SELF
    return made


def _labels(given: FlowMethodDefinition) -> tuple[str, ...]:
    """The labels that a router's expression may come to, where it tells them."""
    if not isinstance(given.do, FlowExpressionActionDefinition):
        return ()
    return tuple(dict.fromkeys(expression_labels(parsed(given.do.expr))))


def _asked(given: FlowHumanFeedbackDefinition, place: str, root: Path | None) -> Any:
    provider = given.provider
    if isinstance(provider, str):
        found = named_python(provider, f"{place}.human_feedback.provider", root)
        provider = found() if isinstance(found, type) else found
    return human_feedback(
        given.message,
        emit=given.emit,
        llm=given.llm,
        default_outcome=given.default_outcome,
        metadata=given.metadata,
        provider=provider,
        learn=given.learn,
        learn_source=given.learn_source,
        learn_strict=given.learn_strict,
    )


def _backend(given: FlowPersistenceDefinition | None, backends: Backends, place: str, root: Path | None) -> Any:
    """Where states are saved; True for the default, None for nowhere."""
    if given is None or not given.enabled:
        return None
    told: Any = given.persistence
    if told is None or not isinstance(told, str | dict):
        return True if told is None else told
    words: dict[str, Any] = {"ref": told} if isinstance(told, str) else {**told}
    ref, kind = words.pop("ref", None), words.pop("persistence_type", None)
    if ref is not None:
        found = named_python(str(ref), f"{place}.persistence", root)
        return found(**words) if isinstance(found, type) else found
    if kind not in backends:
        known = ", ".join(f"`{name}`" for name in backends)
        raise DefinitionError(
            f'{place}.persistence: {told!r:.80} names no backend; write {{"ref": "module:Class"}}, or a `persistence_type` of '
            f"{known}"
        )
    return backends[kind](**words)


def _state(declared: FlowDeclaration, root: Path | None) -> Any:
    """The state that runs begin with, or its model."""
    given = declared.state
    if given is None or isinstance(given, FlowDictStateDefinition | FlowUnknownStateDefinition):
        return {**(given.default or {})} if given is not None else None
    ref = getattr(given, "ref", None)
    if ref is not None and given.json_schema is None:
        model = _model(ref, root)
    elif ref is None:
        model = state_model(given.json_schema or {}, declared.name)
    else:
        try:
            model = _model(ref, root)
        except DefinitionError:  # the schema is there for this
            model = state_model(given.json_schema or {}, declared.name)
    return _begun(model, given.default or {}, declared.name)


def _model(ref: str, root: Path | None) -> type[BaseModel]:
    found = named_python(ref, "state.ref", root)
    if not isinstance(found, type) or not issubclass(found, BaseModel):
        raise DefinitionError(f"state.ref: {ref!r} is {found!r:.60}, no pydantic model")
    return found


def _begun(model: type[BaseModel], values: dict[str, Any], flow: str) -> BaseModel:
    """A state with these values; what it must have besides is an input."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        if any(one["type"] != "missing" for one in error.errors()):
            raise DefinitionError(
                f"`state.default` of flow `{flow}` does not fit `{model.__name__}`: {error}"
            ) from error
    return model.model_construct(None, **values)


def _conversation(given: FlowConversationalDefinition, root: Path | None) -> ConversationConfig:
    values = {name: getattr(given, name) for name in ConversationConfig.__dataclass_fields__ if name != "router"}
    router = given.router
    if router is None:
        return ConversationConfig(**values)
    words = {name: getattr(router, name) for name in RouterConfig.__dataclass_fields__}
    if router.response_format is not None:
        python = PythonNames(root or Path.cwd())
        words["response_format"] = python.attribute(
            router.response_format.python, "conversational.router.response_format"
        )
    return ConversationConfig(**values, router=RouterConfig(**words))
