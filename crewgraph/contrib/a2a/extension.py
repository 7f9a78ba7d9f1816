"""Client extensions: hooks into conversations with remote agents."""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BeforeValidator

from crewgraph.schema import Metadata

_METHODS = (
    "inject_tools",
    "extract_state_from_history",
    "augment_prompt",
    "process_response",
    "prepare_message_metadata",
)


@runtime_checkable
class ExtensionState(Protocol):
    """What an extension derives from a conversation's messages."""

    def is_ready(self) -> bool:
        """Return whether the state is complete."""
        ...


@runtime_checkable
class A2AExtension(Protocol):
    """Hooks into conversations with a remote agent; messages are dicts in the protocol's JSON form."""

    def inject_tools(self, agent: object) -> None:
        """Add tools to an agent."""
        ...

    def extract_state_from_history(self, conversation_history: Sequence[object]) -> ExtensionState | None:
        """Derive the extension's state from the messages of a conversation."""
        ...

    def augment_prompt(self, base_prompt: str, conversation_state: ExtensionState | None) -> str:
        """Return the description of the remote agent that the agent's model reads."""
        ...

    def process_response(self, agent_response: object, conversation_state: ExtensionState | None) -> Any:
        """Return the remote agent's answer as the agent's model should see it."""
        ...

    def prepare_message_metadata(self, conversation_state: ExtensionState | None) -> Metadata:
        """Return metadata to send with a message."""
        ...


def _validated(value: Any) -> object:
    missing = [name for name in _METHODS if not callable(getattr(value, name, None))]
    if missing:
        raise ValueError(f"{value!r:.80} is no A2A extension: it lacks {', '.join(f'`{name}`' for name in missing)}")
    return value


ValidatedA2AExtension = Annotated[Any, BeforeValidator(_validated)]
"""An object that has every method of `A2AExtension`."""
