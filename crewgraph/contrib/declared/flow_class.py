"""Builds flow classes from declarations, like the classes that programs write by hand."""

from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature, iscoroutinefunction
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.contrib.conversations.state import ConversationConfig, RouterConfig
from crewgraph.contrib.declared.actions import (
    FlowCodeActionDefinition,
    FlowConversationalDefinition,
    FlowExpressionActionDefinition,
    warn_unknown_keys,
)
from crewgraph.contrib.declared.expression import expression_labels, parse_expression
from crewgraph.contrib.declared.flow import FlowDeclaration
from crewgraph.contrib.declared.method import (
    FlowHumanFeedbackDefinition,
    FlowMethodDefinition,
    FlowPersistenceDefinition,
    read_condition,
)
from crewgraph.contrib.declared.names import PythonNames, import_reference
from crewgraph.contrib.declared.state import FlowDictStateDefinition, FlowUnknownStateDefinition, state_model
from crewgraph.contrib.declared.steps import bind_to_flow, build_step, import_function, render_keywords
from crewgraph.definitions.flow.feedback import human_feedback
from crewgraph.definitions.flow.method import FlowMethod, MethodMetadata, build_method, ensure_metadata
from crewgraph.definitions.flow.persistence import FlowPersistence, persist
from crewgraph.errors import DefinitionError
from crewgraph.flow.flow import Flow
from crewgraph.memory.memory import Memory
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence
from crewgraph.schema import PlainDict

_FIELDS = {
    "max_method_calls": "max_method_calls",
    "suppress_flow_events": "suppress_flow_events",
    "stream": "streaming",
}
"""Class attributes of a flow by their key in `config`."""

_SELF = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)])


def flow_from_declaration(
    base: type[Flow],
    contents: FlowDeclaration | str | PlainDict | None,
    path: Path | str | None,
    keywords: Mapping[str, Any],
) -> Flow:
    """Build the flow that a declaration describes; see `Flow.from_declaration`.

    Args:
        base: The base class of the flow's class.
        contents: The declaration, as a model, text or dict.
        path: Its file, used if `contents` is None.
        keywords: Constructor arguments, which override those of the declaration.

    Raises:
        DefinitionError: If a reference cannot be resolved, or several methods are faulty; the message lists all faults.
        FileNotFoundError: If the only fault is a missing crew file.
        ValidationError: If the only fault is a crew or agent value of the wrong type.
        ScriptRefused: If it contains a script and scripts are not allowed.
    """
    declared = FlowDeclaration.from_declaration(contents=contents, path=path)
    config, root = declared.config, declared.source_dir
    members: PlainDict = {
        "__doc__": declared.description,
        "__module__": base.__module__,
        "name": declared.name,
        **{_FIELDS[key]: getattr(config, key) for key in _FIELDS if key in config.model_fields_set},
        "_declared": declared,
        "_declared_methods": _methods(declared, root),
    }
    if declared.state is not None:
        members["initial_state"] = _state(declared, root)
    flow_class = cast("type[Flow]", type(declared.name, (base,), members))
    if declared.conversational is not None and declared.conversational.enabled:
        flow_class.become_conversational(_conversation(declared.conversational, root))
    if (backend := _declared_backend(declared.persist, "persist", root)) is not None:
        is_verbose = bool(declared.persist and declared.persist.verbose)
        flow_class = persist(None if backend is True else backend, is_verbose)(flow_class)
    return flow_class(**{**_declared_arguments(declared), **keywords})


def _declared_arguments(declared: FlowDeclaration) -> PlainDict:
    """Return the constructor arguments that a declaration sets."""
    config = declared.config
    arguments: PlainDict = {"checkpoint": config.checkpoint, "tracing": config.tracing}
    if config.memory is not None:
        warn_unknown_keys(config.memory, Memory.model_fields, "config.memory")
        known = {key: value for key, value in config.memory.items() if key in Memory.model_fields}
        arguments["memory"] = Memory(**known)
    if config.input_provider is not None:
        arguments["input_provider"] = _instance_at(config.input_provider, "config.input_provider", declared.source_dir)
    return {name: value for name, value in arguments.items() if value is not None}


def _instance_at(ref: str, where: str, root: Path | None, settings: Mapping[str, Any] | None = None) -> Any:
    """Return the object that a reference names, or one of the class that it names."""
    found = import_reference(ref, where, root)
    return found(**(settings or {})) if isinstance(found, type) else found


def _methods(declared: FlowDeclaration, root: Path | None) -> dict[str, FlowMethod]:
    methods: dict[str, FlowMethod] = {}
    errors: list[tuple[str, DefinitionError | FileNotFoundError | ValidationError]] = []
    for name, method in declared.methods.items():
        try:
            methods[name] = _declared_method(name, method, f"methods.{name}", root)
        except (DefinitionError, FileNotFoundError, ValidationError) as error:
            errors.append((name, error))
    if len(errors) == 1:
        raise errors[0][1]
    if errors:
        raise DefinitionError(
            [str(error) if isinstance(error, DefinitionError) else f"methods.{name}: {error}" for name, error in errors]
        )
    return methods


def _declared_method(name: str, method: FlowMethodDefinition, place: str, root: Path | None) -> FlowMethod:
    function = _function(method, f"{place}.do", root)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.description or function.__doc__
    metadata = _metadata(method, place)
    if (backend := _declared_backend(method.persist, f"{place}.persist", root)) is not None:
        metadata.persistence, metadata.verbose = backend, bool(method.persist and method.persist.verbose)
    elif method.persist is not None and "enabled" in method.persist.model_fields_set:
        metadata.persistence = False
    if method.human_feedback is not None:
        _feedback_decorator(method.human_feedback, place, root)(function)
        metadata.feedback = ensure_metadata(function).feedback
    return build_method(name, function, metadata)


def _metadata(method: FlowMethodDefinition, place: str) -> MethodMetadata:
    """Return the metadata that decorators would attach to the method."""
    metadata = MethodMetadata()
    metadata.is_start, metadata.is_router = method.is_start, method.router
    if isinstance(method.start, str | dict):
        metadata.condition = read_condition(method.start, f"{place}.start")
    if method.listen is not None:
        metadata.trigger = read_condition(method.listen, f"{place}.listen")
    outcomes = method.human_feedback.emit if method.human_feedback is not None else None
    metadata.labels = tuple(outcomes or method.emit or (_labels(method) if method.router else ()))
    return metadata


def _function(method: FlowMethodDefinition, place: str, root: Path | None) -> Any:
    """Return the function that executes a method's action."""
    if not isinstance(method.do, FlowCodeActionDefinition):
        step = build_step(method.do, place, root)

        def act(self: Any, *args: Any) -> Any:
            return step(self, {}, *args)

        return act
    function, keywords = import_function(method.do, place, root), method.do.with_

    def work(self: Any, *args: Any, **inputs: Any) -> Any:
        if keywords is None:
            return bind_to_flow(function, self)(*args, **inputs)
        return bind_to_flow(function, self)(**render_keywords(keywords, self, {}))

    async def awork(self: Any, *args: Any, **inputs: Any) -> Any:
        return await work(self, *args, **inputs)

    wrapper: Any = awork if iscoroutinefunction(function) else work
    wrapper.__wrapped__, wrapper.__doc__ = function, function.__doc__
    if keywords is not None:
        wrapper.__signature__ = _SELF
    return wrapper


def _labels(method: FlowMethodDefinition) -> tuple[str, ...]:
    """Return the labels that a router's expression may return, as far as they are literals."""
    if not isinstance(method.do, FlowExpressionActionDefinition):
        return ()
    return tuple(dict.fromkeys(expression_labels(parse_expression(method.do.expr))))


def _feedback_decorator(feedback: FlowHumanFeedbackDefinition, place: str, root: Path | None) -> Any:
    settings = {name: getattr(feedback, name) for name in FlowHumanFeedbackDefinition.model_fields}
    if isinstance(feedback.provider, str):
        settings["provider"] = _instance_at(feedback.provider, f"{place}.human_feedback.provider", root)
    return human_feedback(**settings)


def _declared_backend(definition: FlowPersistenceDefinition | None, place: str, root: Path | None) -> Any:
    """Return the persistence backend; True for the default, None if persistence is off."""
    if definition is None or not definition.enabled:
        return None
    value: Any = definition.persistence
    if value is None or not isinstance(value, str | dict):
        return True if value is None else value
    settings: dict[str, Any] = {"ref": value} if isinstance(value, str) else {**value}
    ref, kind = settings.pop("ref", None), settings.pop("persistence_type", None)
    if ref is not None:
        return _instance_at(str(ref), f"{place}.persistence", root, settings)
    kinds = list(_subclasses(FlowPersistence))
    backends = {one.__name__: one for one in kinds} | {one.kind(): one for one in kinds}
    backends["SQLiteFlowPersistence"] = SQLiteFlowPersistence
    if kind not in backends:
        known = ", ".join(f"`{name}`" for name in sorted(backends))
        raise DefinitionError(
            f'{place}.persistence: {value!r:.80} names no backend; write {{"ref": "module:Class"}} or a `persistence_type`: '
            f"{known}"
        )
    return backends[kind](**settings)


def _subclasses(kind: type[FlowPersistence]) -> Iterator[type[FlowPersistence]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _state(declared: FlowDeclaration, root: Path | None) -> Any:
    """Return the initial state of runs, or its model."""
    definition = declared.state
    if definition is None or isinstance(definition, FlowDictStateDefinition | FlowUnknownStateDefinition):
        return {**(definition.default or {})} if definition is not None else None
    ref, schema = getattr(definition, "ref", None), definition.json_schema
    try:
        model = state_model(schema or {}, declared.name) if ref is None else _referenced_model(ref, root)
    except DefinitionError:
        if ref is None or schema is None:
            raise
        model = state_model(schema, declared.name)
    return _initial_state(model, definition.default or {}, declared.name)


def _referenced_model(ref: str, root: Path | None) -> type[BaseModel]:
    model = import_reference(ref, "state.ref", root)
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise DefinitionError(f"state.ref: {ref!r} is {model!r:.60}, not a pydantic model")
    return model


def _initial_state(model: type[BaseModel], values: PlainDict, flow: str) -> BaseModel:
    """Return a state with these values; required fields may be missing, since they are inputs."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        if any(item["type"] != "missing" for item in error.errors()):
            raise DefinitionError(
                f"`state.default` of flow `{flow}` does not fit `{model.__name__}`: {error}"
            ) from error
    return model.model_construct(None, **values)


def _conversation(definition: FlowConversationalDefinition, root: Path | None) -> ConversationConfig:
    values = {name: getattr(definition, name) for name in ConversationConfig.__dataclass_fields__ if name != "router"}
    router = definition.router
    if router is None:
        return ConversationConfig(**values)
    settings = {name: getattr(router, name) for name in RouterConfig.__dataclass_fields__}
    if router.response_format is not None:
        python = PythonNames(root or Path.cwd())
        settings["response_format"] = python.attribute(
            router.response_format.python, "conversational.router.response_format"
        )
    return ConversationConfig(**values, router=RouterConfig(**settings))
