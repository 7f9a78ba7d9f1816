"""Custom backends for the states of flows, and the decorator that enables saving."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.fields import ModelPrivateAttr
from pydantic_core import PydanticUndefined

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.flow.feedback import PendingFeedbackContext
from crewgraph.definitions.flow.method import ensure_metadata
from crewgraph.errors import DefinitionError
from crewgraph.redaction import RedactedModel

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _PlainValueType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return not isinstance(instance, ModelPrivateAttr)


class _PlainValue(metaclass=_PlainValueType):
    """The type of every value of a class attribute but pydantic's own private attributes."""


class FlowPersistence(RedactedModel, ABC):
    """The base of custom backends, in which states are saved in addition to checkpoints; its methods may be async.

    A subclass has pydantic fields, which its constructor takes, or an `__init__` of its own, which need not call ours and may
    set any attribute. Class attributes need no annotations.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(_PlainValue,))

    persistence_type: str = Field(default="", validate_default=True)
    """The kind of backend, as declared flows name it; by default the name of the class."""

    @field_validator("persistence_type")
    @classmethod
    def _named_after_class(cls, value: str) -> str:
        return value or cls.kind()

    @classmethod
    def kind(cls) -> str:
        """Return the `persistence_type` of instances that are given no other."""
        return cls.model_fields["persistence_type"].default or cls.__name__

    def __new__(cls, *_: object, **__: object) -> Self:
        """Create a backend that has the defaults of its fields, for subclasses whose `__init__` does not call ours."""
        backend = super().__new__(cls)
        fields = {name: field for name, field in cls.model_fields.items() if not field.is_required()}
        private = {name: _default_of(attribute) for name, attribute in cls.__private_attributes__.items()}
        object.__setattr__(backend, "__pydantic_fields_set__", set())
        object.__setattr__(backend, "__pydantic_extra__", None)
        known = {name: value for name, value in private.items() if value is not PydanticUndefined}
        object.__setattr__(backend, "__pydantic_private__", known or None)
        vars(backend).update({name: field.get_default(call_default_factory=True) for name, field in fields.items()})
        vars(backend)["persistence_type"] = cls.kind()
        return backend

    def __setattr__(self, name: str, value: object) -> None:
        if name in type(self).model_fields or name in self.__private_attributes__:
            super().__setattr__(name, value)
        else:
            object.__setattr__(self, name, value)

    @abstractmethod
    def init_db(self) -> None:
        """Create what the backend needs, such as tables."""

    @abstractmethod
    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        """Save a state.

        Args:
            flow_uuid: the `id` of the state.
            method_name: the method that has just completed.
            state_data: the state.
        """

    @abstractmethod
    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        """Return the last state saved under an id, or None."""

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, Any] | BaseModel
    ) -> None:
        """Save a state whose run waits for feedback; the base class saves only the state.

        Args:
            flow_uuid: the `id` of the state.
            context: the question.
            state_data: the state.
        """
        return self.save_state(flow_uuid, context.method_name, state_data)

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """Return the state and the question of a waiting run; None if it does not wait or that was not saved."""
        return None

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Delete the question of a run, which has been answered."""

    def take_pending_feedback(self, flow_uuid: str, taker: str) -> bool:
        """Delete the answered question of a run; return False if another taker had taken it before.

        The base class cannot know, and returns True. Backends that several processes share should decide in one transaction.

        Args:
            flow_uuid: the `id` of the state.
            taker: names the run that takes the answer; it may take it again, after a crash.
        """
        call(self.clear_pending_feedback, flow_uuid)
        return True


def _default_of(attribute: ModelPrivateAttr) -> object:
    factory: Any = attribute.default_factory
    return deepcopy(attribute.default) if factory is None else factory()


_factory: list[Callable[[], FlowPersistence]] = []


def set_flow_persistence_factory(factory: Callable[[], FlowPersistence] | None) -> None:
    """Set the factory of the backend that `@persist` uses by default; None for checkpoints only."""
    _factory[:] = [] if factory is None else [factory]


def persistence_from_factory() -> FlowPersistence | None:
    """Return a backend from the factory, or None."""
    return call(_factory[0]) if _factory else None


@overload
def persist(
    target: FlowPersistence | None = None, verbose: bool = False, *, persistence: FlowPersistence | None = None
) -> Callable[[Decorated], Decorated]: ...


@overload
def persist(target: Decorated, verbose: bool = False) -> Decorated: ...


def persist(target: object = None, verbose: bool = False, *, persistence: FlowPersistence | None = None) -> Any:
    """Save the state after every method of a class, or after a single method.

    Args:
        target: the class or method, if used without brackets; or a backend: a `FlowPersistence`, or any object
            with its `save_state` and `load_state`.
        verbose: whether to print each save.
        persistence: a custom backend that also receives each saved state.

    Raises:
        DefinitionError: it decorates neither a flow nor a method.
    """
    backend = validate_persistence(target if _is_backend(target) else persistence)

    def marked(decorated: object) -> Any:
        chosen: object = backend if backend is not None else validate_persistence(persistence_from_factory()) or True
        if isinstance(decorated, type):
            definition = getattr(decorated, "_definition", None)
            if definition is None:
                raise DefinitionError(f"`@persist` decorates `{decorated.__name__}`, which is not a flow")
            decorated._definition = definition.with_persistence(chosen, verbose)
            return decorated
        if not callable(decorated):
            raise DefinitionError(f"`@persist` decorates {decorated!r:.80}, which is neither a flow nor a method")
        notes = ensure_metadata(decorated)
        notes.persistence, notes.verbose = chosen, verbose
        return decorated

    return marked if target is None or backend is target else marked(target)


def validate_persistence(backend: Any) -> Any:
    """Return a backend unchanged if it can save states.

    Raises:
        DefinitionError: it has no `save_state`.
    """
    if backend is not None and not _is_backend(backend):
        raise DefinitionError(f"`persistence` is {backend!r:.80}; pass a `FlowPersistence`.")
    return backend


def _is_backend(target: object) -> bool:
    """Whether an object can save states: a `FlowPersistence`, or an object with its two methods."""
    return not isinstance(target, type) and hasattr(target, "save_state") and hasattr(target, "load_state")
