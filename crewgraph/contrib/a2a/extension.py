"""Extensions of conversations with remote agents."""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BeforeValidator

__all__ = ["A2AExtension", "ConversationState", "ExtensionRegistry", "ValidatedA2AExtension"]

_VERBS = (
    "inject_tools",
    "extract_state_from_history",
    "augment_prompt",
    "process_response",
    "prepare_message_metadata",
)


@runtime_checkable
class ConversationState(Protocol):
    """What an extension knows of a conversation."""

    def is_ready(self) -> bool:
        """Whether there is enough of it."""
        ...


@runtime_checkable
class A2AExtension(Protocol):
    """What has a say in conversations with a remote agent; messages are dicts, as the protocol writes them in JSON."""

    def inject_tools(self, agent: Any) -> None:
        """Add to an agent's tools."""
        ...

    def extract_state_from_history(self, conversation_history: Sequence[Any]) -> ConversationState | None:
        """What it knows of a conversation, from its messages."""
        ...

    def augment_prompt(self, base_prompt: str, conversation_state: ConversationState | None) -> str:
        """What the agent's model is told of the remote agent."""
        ...

    def process_response(self, agent_response: Any, conversation_state: ConversationState | None) -> Any:
        """What the remote agent has answered, as the agent's model is to see it."""
        ...

    def prepare_message_metadata(self, conversation_state: ConversationState | None) -> dict[str, Any]:
        """What a message carries along."""
        ...


def _validated(value: Any) -> Any:
    missing = [verb for verb in _VERBS if not callable(getattr(value, verb, None))]
    if missing:
        raise ValueError(f"an extension has methods {', '.join(f'`{one}`' for one in missing)}, unlike {value!r:.80}")
    return value


ValidatedA2AExtension = Annotated[Any, BeforeValidator(_validated)]
"""An object with the methods of `A2AExtension`."""


class ExtensionRegistry:
    """Several extensions, asked in the order they were registered in."""

    def __init__(self) -> None:
        self._extensions: list[A2AExtension] = []

    def register(self, extension: A2AExtension) -> None:
        """Add one."""
        self._extensions.append(extension)

    def inject_all_tools(self, agent: Any) -> None:
        """Let all add to an agent's tools."""
        for one in self._extensions:
            one.inject_tools(agent)

    def extract_all_states(self, conversation_history: Sequence[Any]) -> dict[type[Any], ConversationState]:
        """What each knows of a conversation, by its class; without those that know nothing."""
        found = {type(one): one.extract_state_from_history(conversation_history) for one in self._extensions}
        return {kind: state for kind, state in found.items() if state is not None}

    def augment_prompt_with_all(self, base_prompt: str, extension_states: dict[type[Any], ConversationState]) -> str:
        """What the model is told, after all had their say."""
        for one in self._extensions:
            base_prompt = one.augment_prompt(base_prompt, extension_states.get(type(one)))
        return base_prompt

    def process_response_with_all(
        self, agent_response: Any, extension_states: dict[type[Any], ConversationState]
    ) -> Any:
        """An answer, after all had their say."""
        for one in self._extensions:
            agent_response = one.process_response(agent_response, extension_states.get(type(one)))
        return agent_response

    def prepare_all_metadata(self, extension_states: dict[type[Any], ConversationState]) -> dict[str, Any]:
        """What a message carries along, of all of them."""
        metadata: dict[str, Any] = {}
        for one in self._extensions:
            metadata |= one.prepare_message_metadata(extension_states.get(type(one)))
        return metadata
