"""Backends of users' own for the states of flows, and the decorator that asks for saving."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, TypeVar, overload

from pydantic import BaseModel

from crewgraph.definitions.flow.feedback import PendingFeedbackContext
from crewgraph.definitions.flow.method import ensure_metadata
from crewgraph.errors import DefinitionError

__all__ = [
    "FlowPersistence",
    "persist",
    "persistence_from_factory",
    "set_flow_persistence_factory",
    "validate_persistence",
]


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class FlowPersistence(ABC):
    """Where states are saved beside the checkpoints: the base of backends of one's own."""

    persistence_type: str = "base"
    """What tells kinds of backends apart: the name of the class, where that does not say otherwise."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "persistence_type" not in vars(cls):
            cls.persistence_type = cls.__name__

    @abstractmethod
    def init_db(self) -> None:
        """Make whatever has to be there."""

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
        """The state that was saved last under an id; None where there is none."""

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, Any] | BaseModel
    ) -> None:
        """Note that somebody is to look at an output; the base saves the state alone.

        Args:
            flow_uuid: the `id` of the state.
            context: what is asked.
            state_data: the state.
        """
        self.save_state(flow_uuid, context.method_name, state_data)

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """The state and the question of a run that waits; None where it does not, or that was not noted."""
        return None

    def clear_pending_feedback(self, flow_uuid: str) -> None:  # noqa: B027 - there is nothing to forget in the base
        """Forget the question: it has been answered."""


_factory: list[Callable[[], FlowPersistence]] = []


def set_flow_persistence_factory(factory: Callable[[], FlowPersistence] | None) -> None:
    """Say what `@persist` without a backend saves states to, besides the checkpoints, from now on; None: nothing."""
    _factory[:] = [] if factory is None else [factory]


def persistence_from_factory() -> FlowPersistence | None:
    """A backend of the factory; None where there is none."""
    return _factory[0]() if _factory else None


@overload
def persist(
    target: FlowPersistence | None = None, verbose: bool = False, *, persistence: FlowPersistence | None = None
) -> Callable[[Decorated], Decorated]: ...


@overload
def persist(target: Decorated, verbose: bool = False) -> Decorated: ...


def persist(target: object = None, verbose: bool = False, *, persistence: FlowPersistence | None = None) -> Any:
    """Save the state: of a class after every method, of a method after that method.

    Args:
        target: the class or the method, where it stands without brackets; or a backend: a `FlowPersistence`, or any object
            with its `save_state` and `load_state`.
        verbose: whether each save is told on the standard output.
        persistence: a backend of one's own that is given each saved state, too.

    Raises:
        DefinitionError: it decorates neither a flow nor a method, or the backend's `save_state` is a coroutine function.
    """
    backend = validate_persistence(target if _is_backend(target) else persistence)

    def marked(decorated: object) -> Any:
        wanted: object = backend if backend is not None else validate_persistence(persistence_from_factory()) or True
        if isinstance(decorated, type):
            definition = getattr(decorated, "_definition", None)
            if definition is None:
                raise DefinitionError(f"`@persist` stands on `{decorated.__name__}`, which is no flow")
            decorated._definition = definition.with_persistence(wanted, verbose)
            return decorated
        if not callable(decorated):
            raise DefinitionError(f"`@persist` stands on {decorated!r:.80}, which is neither a flow nor a method")
        notes = ensure_metadata(decorated)
        notes.persistence, notes.verbose = wanted, verbose
        return decorated

    return marked if target is None or backend is target else marked(target)


def validate_persistence(backend: Any) -> Any:
    """The backend.

    Raises:
        DefinitionError: its `save_state` is a coroutine function, or it has none.
    """
    if backend is not None and not _is_backend(backend):
        raise DefinitionError(f"`persistence` is {backend!r:.80}; give a `FlowPersistence`.")
    if backend is not None and iscoroutinefunction(backend.save_state):
        raise DefinitionError(
            f"`save_state` of backend `{type(backend).__name__}` is a coroutine function; give a plain one."
        )
    return backend


def _is_backend(target: object) -> bool:
    """Whether something saves states: a `FlowPersistence`, or whatever has its two methods."""
    return not isinstance(target, type) and hasattr(target, "save_state") and hasattr(target, "load_state")
