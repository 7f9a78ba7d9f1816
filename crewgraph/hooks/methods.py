"""Methods of a project's class as hooks, where they are wrapped by hand and not by a decorator."""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from crewgraph.hooks.llm_hooks import LLMCallHookContext
from crewgraph.hooks.tool_hooks import ToolCallHookContext

__all__ = [
    "AfterLLMCallHookMethod",
    "AfterToolCallHookMethod",
    "BeforeLLMCallHookMethod",
    "BeforeToolCallHookMethod",
]


class _HookMethod:
    """A method that is called like the one it was made of."""

    def __init__(
        self, meth: Callable[..., Any], tools: list[str] | None = None, agents: list[str] | None = None
    ) -> None:
        self._meth = meth
        update_wrapper(self, meth)
        if tools:
            self._filter_tools = tools
        if agents:
            self._filter_agents = agents

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._meth(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The method, bound."""
        return self if instance is None else partial(self._meth, instance)


class BeforeLLMCallHookMethod(_HookMethod):
    """A method that is called before requests to models."""

    is_before_llm_call_hook = True

    def __init__(self, meth: Callable[[Any, LLMCallHookContext], None], agents: list[str] | None = None) -> None:
        super().__init__(meth, None, agents)


class AfterLLMCallHookMethod(_HookMethod):
    """A method that is called after answers of models."""

    is_after_llm_call_hook = True

    def __init__(self, meth: Callable[[Any, LLMCallHookContext], str | None], agents: list[str] | None = None) -> None:
        super().__init__(meth, None, agents)


class BeforeToolCallHookMethod(_HookMethod):
    """A method that is called before tools."""

    is_before_tool_call_hook = True

    def __init__(
        self,
        meth: Callable[[Any, ToolCallHookContext], bool | None],
        tools: list[str] | None = None,
        agents: list[str] | None = None,
    ) -> None:
        super().__init__(meth, tools, agents)


class AfterToolCallHookMethod(_HookMethod):
    """A method that is called after tools."""

    is_after_tool_call_hook = True

    def __init__(
        self,
        meth: Callable[[Any, ToolCallHookContext], str | None],
        tools: list[str] | None = None,
        agents: list[str] | None = None,
    ) -> None:
        super().__init__(meth, tools, agents)
