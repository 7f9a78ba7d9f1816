"""What a program runs under, as CrewAI's listeners know it; nothing here emits it."""

from typing import Annotated, Literal

from pydantic import Field

from crewgraph.events.base import BaseEvent

__all__ = [
    "ENV_CONTEXT_EVENT_TYPES",
    "CCEnvEvent",
    "CodexEnvEvent",
    "CursorEnvEvent",
    "DefaultEnvEvent",
    "EnvContextEvent",
]


class CCEnvEvent(BaseEvent):
    """A program runs under Claude Code."""

    type: Literal["cc_env"] = "cc_env"  # pyright: ignore[reportIncompatibleVariableOverride]


class CodexEnvEvent(BaseEvent):
    """A program runs under Codex."""

    type: Literal["codex_env"] = "codex_env"  # pyright: ignore[reportIncompatibleVariableOverride]


class CursorEnvEvent(BaseEvent):
    """A program runs under Cursor."""

    type: Literal["cursor_env"] = "cursor_env"  # pyright: ignore[reportIncompatibleVariableOverride]


class DefaultEnvEvent(BaseEvent):
    """A program runs under none of these."""

    type: Literal["default_env"] = "default_env"  # pyright: ignore[reportIncompatibleVariableOverride]


EnvContextEvent = Annotated[CCEnvEvent | CodexEnvEvent | CursorEnvEvent | DefaultEnvEvent, Field(discriminator="type")]
"""One of these."""

ENV_CONTEXT_EVENT_TYPES = (CCEnvEvent, CodexEnvEvent, CursorEnvEvent, DefaultEnvEvent)
"""Their classes."""
