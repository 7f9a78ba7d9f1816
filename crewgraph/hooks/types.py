"""The shapes of hooks, for type checkers."""

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from crewgraph.hooks.llm_hooks import LLMCallHookContext
    from crewgraph.hooks.tool_hooks import ToolCallHookContext

__all__ = [
    "AfterLLMCallHook",
    "AfterLLMCallHookType",
    "AfterToolCallHook",
    "AfterToolCallHookType",
    "BeforeLLMCallHook",
    "BeforeLLMCallHookType",
    "BeforeToolCallHook",
    "BeforeToolCallHookType",
    "Hook",
]

ContextT = TypeVar("ContextT", contravariant=True)
ReturnT = TypeVar("ReturnT", covariant=True)


@runtime_checkable
class Hook(Protocol[ContextT, ReturnT]):
    """Anything that is called with a context."""

    def __call__(self, context: ContextT) -> ReturnT:
        """Look at the context, change it, or say what becomes of it."""
        ...


class BeforeLLMCallHook(Hook["LLMCallHookContext", bool | None], Protocol):
    """Called before a request to a model; False blocks it."""

    def __call__(self, context: "LLMCallHookContext") -> bool | None:
        """Look at a request."""
        ...


class AfterLLMCallHook(Hook["LLMCallHookContext", str | None], Protocol):
    """Called after a model's answer; a text replaces it."""

    def __call__(self, context: "LLMCallHookContext") -> str | None:
        """Look at an answer."""
        ...


class BeforeToolCallHook(Hook["ToolCallHookContext", bool | None], Protocol):
    """Called before a tool; False blocks it."""

    def __call__(self, context: "ToolCallHookContext") -> bool | None:
        """Look at a call."""
        ...


class AfterToolCallHook(Hook["ToolCallHookContext", str | None], Protocol):
    """Called after a tool; a text replaces its result."""

    def __call__(self, context: "ToolCallHookContext") -> str | None:
        """Look at a result."""
        ...


BeforeLLMCallHookType = Hook["LLMCallHookContext", bool | None]
AfterLLMCallHookType = Hook["LLMCallHookContext", str | None]
BeforeToolCallHookType = Hook["ToolCallHookContext", bool | None]
AfterToolCallHookType = Hook["ToolCallHookContext", str | None]
