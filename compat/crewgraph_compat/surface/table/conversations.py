"""Flows that are conversations."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STATE = "crewgraph.contrib.conversations.state"
_CONFIG = "crewgraph.contrib.conversations.config"
_MESSAGES = "crewgraph.contrib.conversations.messages"
_MODELS = rows(_STATE, "AgentMessage", "ConversationEvent", "ConversationMessage", "ConversationState")
_CONFIGS = rows(_CONFIG, "ConversationConfig", "RouterConfig")
_CHAT = {
    **rows(_STATE, "ChatState"),
    **rows(_CONFIG, "ConversationalConfig"),
    **rows(_MESSAGES, "ConversationalInputs"),
}
_SURFACE = {
    **_MODELS,
    **_CONFIGS,
    **rows(_STATE, "ConversationEventVisibility", "ConversationMessageRole", "message_to_llm_dict"),
    **rows("crewgraph.definitions.flow.method", _conversational_only="conversational_only"),
    **rows("crewgraph_compat.stand_ins.flows.types", "ANSWER_FROM_HISTORY_DEPRECATION_MESSAGE"),
}
_MIXIN = {
    **_MODELS,
    **_CONFIGS,
    **rows("crewgraph.flow.conversation", _ConversationalMixin="FlowConversation"),
    **rows(_MESSAGES, "get_conversation_messages"),
    **rows(_STATE, "message_to_llm_dict"),
}

MODULES: dict[str, dict[str, str]] = {
    "crewai.experimental.conversational": _SURFACE,
    "crewai.experimental.conversational_mixin": _MIXIN,
    "crewai.flow.conversation": {
        **_CHAT,
        **rows(
            _MESSAGES,
            "append_message",
            "get_conversation_messages",
            "get_conversational_config",
            "input_history_to_messages",
            "normalize_kickoff_inputs",
            "prepare_conversational_turn",
            "receive_user_message",
            "set_state_field",
        ),
    },
    "crewai.flow.conversational": _SURFACE,
    "crewai.flow.conversational_mixin": _MIXIN,
}
"""A module of crewai to its names."""
