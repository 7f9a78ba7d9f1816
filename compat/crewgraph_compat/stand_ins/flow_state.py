"""What CrewAI's programs know of the classes and states of flows."""

from typing import Any

from crewgraph.definitions.flow.flow import Flow

__all__ = ["DictStateType", "FlowMeta", "ensure_state_type"]

FlowMeta: Any = type(Flow)
"""The class of the classes of flows."""

DictStateType = dict[str, Any]
"""A state without a model."""


def ensure_state_type(state: Any, expected_type: type[Any]) -> Any:
    """The state.

    Raises:
        TypeError: it is not of the type.
    """
    if not isinstance(state, expected_type):
        raise TypeError(f"a {expected_type.__name__} is expected, not a {type(state).__name__}")
    return state
