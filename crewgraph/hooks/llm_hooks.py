"""Hooks before and after a request to a model."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from crewgraph.hooks.points import Asking, InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import clear, get_hooks, register, unregister

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
        executor: who asks in an agent's work; has `messages`, `llm`, `iterations`, `agent`, `task` and `crew`, which count
            then. None where a model is asked directly.
        response: the text of the answer.
        messages: the conversation, entries with `role` and `content`.
        llm: the model.
        agent: the agent that asks.
        task: what it works on.
        crew: for whom.
    """

    executor: Any
    messages: list[dict[str, Any]]
    """The conversation; changed in place, it is what the model is asked and how the conversation goes on."""

    llm: Any
    agent: Any
    task: Any
    crew: Any
    iterations: int
    """How many rounds of thought and action came before."""

    response: str | None
    """The text of the answer; None before it is there."""

    def __init__(
        self,
        executor: Any = None,
        response: str | None = None,
        messages: list[dict[str, Any]] | None = None,
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
    register(_PRE, hook)


def register_after_llm_call_hook(hook: _AfterHook) -> None:
    """Call a hook after each answer of a model; a text that it returns replaces the answer."""
    register(_POST, hook)


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
    """Take both kinds away; how many there were of each."""
    return clear_before_llm_call_hooks(), clear_after_llm_call_hooks()


_dispatched: ContextVar[bool] = ContextVar("crewgraph_model_hooks", default=False)


def model_call_hooks_already_dispatched() -> bool:
    """Whether the hooks of the request that is being made were called by whoever asks."""
    return _dispatched.get()


@contextmanager
def model_call_hooks_dispatched() -> Generator[None]:
    """What asks a model in this block has called the hooks itself."""
    token = _dispatched.set(True)
    try:
        yield
    finally:
        _dispatched.reset(token)
