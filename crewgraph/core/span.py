"""A piece of work as a run of its own in the trace: traces, streams and handlers see what it was given and what it gave."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig, RunnableLambda

__all__ = ["aspanned", "spanned"]


def spanned(name: str, given: Any, config: RunnableConfig, work: Callable[[RunnableConfig], Any]) -> Any:
    """What `work` gives for the config of a run called `name`, whose input is shown as `given`."""

    def inner(_: Any, config: RunnableConfig) -> Any:
        return work(config)

    return RunnableLambda(inner, name=name).invoke(given, _named(name, config))


async def aspanned(
    name: str, given: Any, config: RunnableConfig, work: Callable[[RunnableConfig], Awaitable[Any]]
) -> Any:
    """The same for work that is awaited."""

    async def inner(_: Any, config: RunnableConfig) -> Any:
        return await work(config)

    return await RunnableLambda(inner, name=name).ainvoke(given, _named(name, config))


def _named(name: str, config: RunnableConfig) -> RunnableConfig:
    callbacks: Any = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        # LangGraph marks the runs below a node as the first of a sequence, which says nothing here.
        callbacks = callbacks.copy()
        callbacks.tags = list(callbacks.inheritable_tags)
    named: RunnableConfig = {**config, "run_name": name, "callbacks": callbacks}
    return named
