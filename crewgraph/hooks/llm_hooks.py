"""Hooks before and after a request to a model."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from crewgraph.hooks.points import Asking, InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import clear, get_hooks, register_hook, unregister
from crewgraph.schema import PlainDict

__all__ = [
    "LLMCallHookContext",
    "after_llm_call_reducer",
    "before_llm_call_reducer",
    "clear_after_llm_call_hooks",
    "clear_all_llm_call_hooks",
    "clear_before_llm_call_hooks",
    "get_after_llm_call_hooks",
    "get_before_llm_call_hooks",
    "model_call_hooks_already_dispatched",
    "model_call_hooks_dispatched",
    "register_after_llm_call_hook",
    "register_before_llm_call_hook",
    "unregister_after_llm_call_hook",
    "unregister_before_llm_call_hook",
]


_PRE, _POST = InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.POST_MODEL_CALL


class LLMCallHookContext(Asking):
    """A request to a model.

    Args:
        executor: the executor of the agent that asks; its `messages`, `llm`, `iterations`, `agent`, `task` and `crew` take
            precedence. None if a model is called directly.
        response: the text of the answer.
        messages: the conversation, entries with `role` and `content`.
        llm: the model.
        agent: the agent that asks.
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
    """The number of earlier rounds of thought and action."""

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
    """False stops the request.

    Raises:
        LegacyHookBlocked: it is False.
    """
    if result is False:
        raise LegacyHookBlocked("a `before_llm_call` hook returned False")
    return False


def after_llm_call_reducer(context: LLMCallHookContext, result: object) -> bool:
    """A text is the response from now on."""
    if not isinstance(result, str):
        return False
    context.response = result
    return True


def register_before_llm_call_hook(hook: _BeforeHook) -> None:
    """Call a hook before each request to a model; one that returns False blocks it."""
    register_hook(_PRE, hook)


def register_after_llm_call_hook(hook: _AfterHook) -> None:
    """Call a hook after each answer of a model; a text that it returns replaces the answer."""
    register_hook(_POST, hook)


def get_before_llm_call_hooks() -> list[_BeforeHook]:
    """The hooks before requests."""
    return get_hooks(_PRE)


def get_after_llm_call_hooks() -> list[_AfterHook]:
    """The hooks after answers."""
    return get_hooks(_POST)


def unregister_before_llm_call_hook(hook: _BeforeHook) -> bool:
    """Take a hook away; whether it was there."""
    return unregister(_PRE, hook)


def unregister_after_llm_call_hook(hook: _AfterHook) -> bool:
    """Take a hook away; whether it was there."""
    return unregister(_POST, hook)


def clear_before_llm_call_hooks() -> int:
    """Take all hooks before requests away; how many there were."""
    return clear(_PRE)


def clear_after_llm_call_hooks() -> int:
    """Take all hooks after answers away; how many there were."""
    return clear(_POST)


def clear_all_llm_call_hooks() -> tuple[int, int]:
    """Unregister the hooks of both kinds and return their numbers."""
    return clear_before_llm_call_hooks(), clear_after_llm_call_hooks()


_dispatched: ContextVar[bool] = ContextVar("crewgraph_model_hooks", default=False)


def model_call_hooks_already_dispatched() -> bool:
    """Whether the caller has already called the hooks of the current request."""
    return _dispatched.get()


@contextmanager
def model_call_hooks_dispatched() -> Generator[None]:
    """Mark the hooks of the requests of a block as already called."""
    token = _dispatched.set(True)
    try:
        yield
    finally:
        _dispatched.reset(token)
