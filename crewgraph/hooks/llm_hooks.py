"""Hooks before and after a request to a model."""

from collections.abc import Callable
from typing import Any

from crewgraph.hooks.points import Asking, InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import clear, get_hooks, register_hook, unregister
from crewgraph.schema import PlainDict

_PRE, _POST = InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.POST_MODEL_CALL


class LLMCallHookContext(Asking):
    """A request to a model.

    Args:
        executor: the executor of the calling agent; its `messages`, `llm`, `iterations`, `agent`, `task` and `crew` take
            precedence. None if a model is called directly.
        response: the text of the answer.
        messages: the conversation, entries with `role` and `content`.
        llm: the model.
        agent: the calling agent.
        task: its task.
        crew: its crew.
    """

    executor: Any
    messages: list[PlainDict]
    """The conversation; changes in place apply to this request and the rest of the conversation."""

    llm: Any
    agent: Any
    task: Any
    crew: Any
    iterations: int
    """The number of completed iterations of the agent's loop."""

    response: str | None
    """The text of the answer; None before the request."""

    def __init__(
        self,
        executor: Any = None,
        response: str | None = None,
        messages: list[PlainDict] | None = None,
        llm: Any = None,
        agent: Any = None,
        task: Any = None,
        crew: Any = None,
    ) -> None:
        self.executor = executor
        if executor is not None:
            self.messages, self.llm, self.iterations = executor.messages, executor.llm, executor.iterations
            self.agent, self.task, self.crew = executor.agent, executor.task, getattr(executor, "crew", None)
        else:
            self.messages = [] if messages is None else messages
            self.llm, self.iterations = llm, 0
            self.agent, self.task, self.crew = agent, task, crew
        self.response = response


_BeforeHook = Callable[[LLMCallHookContext], bool | None]
_AfterHook = Callable[[LLMCallHookContext], str | None]


def before_llm_call_reducer(context: LLMCallHookContext, result: object) -> bool:
    """Apply the result of a hook before the request: False blocks the request.

    Raises:
        LegacyHookBlocked: it is False.
    """
    if result is False:
        raise LegacyHookBlocked("a `before_llm_call` hook returned False")
    return False


def after_llm_call_reducer(context: LLMCallHookContext, result: object) -> bool:
    """Apply the result of a hook after the request: a text replaces the response."""
    if not isinstance(result, str):
        return False
    context.response = result
    return True


def register_before_llm_call_hook(hook: _BeforeHook) -> None:
    """Register a hook that is called before each model request; returning False blocks the request."""
    register_hook(_PRE, hook)


def register_after_llm_call_hook(hook: _AfterHook) -> None:
    """Register a hook that is called after each model answer; a returned text replaces the answer."""
    register_hook(_POST, hook)


def get_before_llm_call_hooks() -> list[_BeforeHook]:
    """Return the hooks before model requests."""
    return get_hooks(_PRE)


def get_after_llm_call_hooks() -> list[_AfterHook]:
    """Return the hooks after model answers."""
    return get_hooks(_POST)


def unregister_before_llm_call_hook(hook: _BeforeHook) -> bool:
    """Unregister a hook; return False if it was not registered."""
    return unregister(_PRE, hook)


def unregister_after_llm_call_hook(hook: _AfterHook) -> bool:
    """Unregister a hook; return False if it was not registered."""
    return unregister(_POST, hook)


def clear_before_llm_call_hooks() -> int:
    """Unregister all hooks before model requests; return their number."""
    return clear(_PRE)


def clear_after_llm_call_hooks() -> int:
    """Unregister all hooks after model answers; return their number."""
    return clear(_POST)


def clear_all_llm_call_hooks() -> tuple[int, int]:
    """Unregister the hooks of both kinds and return their numbers."""
    return clear_before_llm_call_hooks(), clear_after_llm_call_hooks()
