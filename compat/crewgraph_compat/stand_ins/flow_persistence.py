"""Saving a flow's state by hand, and where states go by default."""

from typing import Any, cast

from crewgraph.definitions.flow import persistence as backends
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.definitions.flow.state import state_id
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence

__all__ = ["LOG_MESSAGES", "PersistenceDecorator", "default_flow_persistence"]

LOG_MESSAGES = {
    "save_state": "The state of flow {} is saved",
    "save_error": "The state after method {} could not be saved: {}",
    "state_missing": "The flow has no state",
    "id_missing": "The flow's state has no `id`",
}
"""What is told of saving, by what happens."""


class PersistenceDecorator:
    """Saves states; `@persist` does so by itself."""

    @classmethod
    def persist_state(
        cls, flow_instance: Any, method_name: str, persistence_instance: FlowPersistence, verbose: bool = False
    ) -> None:
        """Save a flow's state, as after a method.

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
            persistence_instance.save_state(flow_uuid=flow_id, method_name=method_name, state_data=plain)
        except Exception as error:
            raise RuntimeError(LOG_MESSAGES["save_error"].format(method_name, error)) from error
        if verbose:
            print(LOG_MESSAGES["save_state"].format(flow_id))  # noqa: T201 - `verbose` asks for it


def default_flow_persistence() -> FlowPersistence:
    """Where states go without a backend: what the factory makes, if there is one; else the file in the storage folder."""
    made = backends.persistence_from_factory()
    return SQLiteFlowPersistence() if made is None else made
