"""Metaclasses and states of flows, and explicit saving of a state."""

from typing import Any, cast

from pydantic import BaseModel, Field, PrivateAttr

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.flow import persistence as backends
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.definitions.flow.state import current_flow, current_flow_id, current_flow_request_id, state_id
from crewgraph.flow.flow import Flow
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence

__all__ = [
    "LOG_MESSAGES",
    "DictStateType",
    "FlowMeta",
    "FlowTrackable",
    "PersistenceDecorator",
    "default_flow_persistence",
    "ensure_state_type",
]


FlowMeta: Any = type(Flow)
"""The metaclass of flows."""

DictStateType = dict[str, Any]
"""A state without a model."""


def ensure_state_type(state: Any, expected_type: type[Any]) -> Any:
    """Return the state if it has the expected type.

    Raises:
        TypeError: it is not of the type.
    """
    if not isinstance(state, expected_type):
        raise TypeError(f"a {expected_type.__name__} is expected, not a {type(state).__name__}")
    return state


class FlowTrackable(BaseModel):
    """Record the flow run in which an object was created."""

    parent_flow: Any = Field(default=None, exclude=True, repr=False)
    """The id of the flow run."""

    _flow_id: str | None = PrivateAttr(default=None)
    _request_id: str | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        """Record the current flow run."""
        super().model_post_init(context)
        if self.parent_flow is None:
            self.parent_flow = current_flow()
        self._flow_id, self._request_id = current_flow_id.get(), current_flow_request_id.get()


LOG_MESSAGES = {
    "save_state": "The state of flow {} is saved",
    "save_error": "The state after method {} could not be saved: {}",
    "state_missing": "The flow has no state",
    "id_missing": "The flow's state has no `id`",
}
"""The log messages of saving, by outcome."""


class PersistenceDecorator:
    """Save flow states; `@persist` does this automatically."""

    @classmethod
    def persist_state(
        cls, flow_instance: Any, method_name: str, persistence_instance: FlowPersistence, verbose: bool = False
    ) -> None:
        """Save a flow's state, as `@persist` does after a method.

        Raises:
            ValueError: the flow has no state, or that no `id`.
            RuntimeError: the backend fails.
        """
        state: Any = getattr(flow_instance, "state", None)
        if state is None:
            raise ValueError(LOG_MESSAGES["state_missing"])
        try:
            flow_id = state_id(state)
        except (KeyError, AttributeError) as error:
            raise ValueError(LOG_MESSAGES["id_missing"]) from error
        plain: Any = dict(cast("dict[str, Any]", state)) if isinstance(state, dict) else state
        try:
            call(persistence_instance.save_state, flow_uuid=flow_id, method_name=method_name, state_data=plain)
        except Exception as error:  # any error of the user's backend
            raise RuntimeError(LOG_MESSAGES["save_error"].format(method_name, error)) from error
        if verbose:
            print(LOG_MESSAGES["save_state"].format(flow_id))  # noqa: T201 - `verbose` asks for it


def default_flow_persistence() -> FlowPersistence:
    """Return the default backend: the result of the registered factory, or else the file in the storage folder."""
    backend = backends.persistence_from_factory()
    return SQLiteFlowPersistence() if backend is None else backend
