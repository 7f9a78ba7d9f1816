"""An execution of a method as a run in the trace: what it was given and what it gave, from its beginning to its end."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from crewgraph.compiler.flow.run import Parked, Running
from crewgraph.core.tracing import aspanned, spanned

__all__ = ["atraced", "traced"]


def traced(running: Running, args: Sequence[Any], keywords: Mapping[str, Any], work: Callable[[], Any]) -> Any:
    """What a method gives that is called, inside a run of its own."""
    config = _config(running)
    if config is None:
        return work()
    outcome = _Outcome()

    def inside(_: RunnableConfig) -> Any:
        try:
            return outcome.shown(work())
        except Parked as parked:
            return outcome.waits(parked)

    spanned(running.method, _given(args, keywords), config, inside)
    return outcome.taken()


async def atraced(
    running: Running, args: Sequence[Any], keywords: Mapping[str, Any], work: Callable[[], Awaitable[Any]]
) -> Any:
    """What a method gives that is awaited, inside a run of its own."""
    config = _config(running)
    if config is None:
        return await work()
    outcome = _Outcome()

    async def inside(_: RunnableConfig) -> Any:
        try:
            return outcome.shown(await work())
        except Parked as parked:
            return outcome.waits(parked)

    await aspanned(running.method, _given(args, keywords), config, inside)
    return outcome.taken()


class _Outcome:
    """What came of a method, beside what the trace shows of it."""

    value: Any
    parked: Parked | None = None

    def shown(self, value: Any) -> Any:
        self.value = value
        if isinstance(value, Runnable):  # which LangChain would invoke
            return repr(cast("Any", value))
        return value

    def waits(self, parked: Parked) -> Any:
        self.parked = parked
        return {"waits_for": parked.question["message"]}

    def taken(self) -> Any:
        if self.parked is not None:
            raise self.parked
        return self.value


def _given(args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {**({"given": args[0]} if args else {}), **keywords}


def _config(running: Running) -> RunnableConfig | None:
    """The config of the run; None where nobody looks, for a run in the trace costs more than a step of the graph."""
    config: RunnableConfig = var_child_runnable_config.get() or {}
    callbacks = config.get("callbacks")  # LangGraph's, which know of tracers that variables have switched on
    if not getattr(callbacks, "handlers", callbacks):
        return None
    about = {"flow_name": running.run.name, "method": running.method}
    named: RunnableConfig = {**config, "metadata": {**(config.get("metadata") or {}), **about}}
    return named
