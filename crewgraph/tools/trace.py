"""A tool call as a run of its own in LangChain's callbacks: traces and streams see it as a tool."""

from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any

from crewgraph.core.messages import ToolSpec
from crewgraph.core.replay import is_traced
from crewgraph.extras import load

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["atraced", "traced"]

_Steps = Generator[Any, Any, Any]


def traced(spec: ToolSpec, args: dict[str, Any], config: "RunnableConfig", work: Callable[[Context], Any]) -> Any:
    """Do the work of a tool inside a run of its own.

    Args:
        spec: The tool.
        args: What it was asked.
        config: The caller's.
        work: Gets the context to work in: models and graphs called there are children of this run.
    """
    config_module = load("langchain_core.runnables.config")
    if not is_traced(config):
        with config_module.set_config_context(config) as context:
            return work(context)
    steps = _steps(config_module.get_callback_manager_for_config(config), spec, args, config, work)
    reply = None
    try:
        while True:
            reply = steps.send(reply)
    except StopIteration as stop:
        return stop.value


async def atraced(
    spec: ToolSpec, args: dict[str, Any], config: "RunnableConfig", work: Callable[[Context], Awaitable[Any]]
) -> Any:
    """The same for work that is awaited."""
    config_module = load("langchain_core.runnables.config")
    if not is_traced(config):
        with config_module.set_config_context(config) as context:
            return await work(context)
    steps = _steps(config_module.get_async_callback_manager_for_config(config), spec, args, config, work)
    send: Callable[[Any], Any] = steps.send
    reply: Any = None
    try:
        while True:
            step = send(reply)
            try:
                reply, send = await step, steps.send
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001  (thrown into the steps, which raise it again)
                reply, send = error, steps.throw
    except StopIteration as stop:
        return stop.value


def _steps(
    manager: Any,
    spec: ToolSpec,
    args: dict[str, Any],
    config: "RunnableConfig",
    work: Callable[[Context], Any],
) -> _Steps:
    config_module = load("langchain_core.runnables.config")
    told = {"name": spec["name"], "description": spec["description"]}
    run = yield manager.on_tool_start(told, str(args), inputs=args, name=spec["name"], run_id=config.get("run_id"))
    child = config_module.patch_config(config, callbacks=run.get_child())
    try:
        with config_module.set_config_context(child) as context:
            value = yield work(context)
    except GeneratorExit:  # nobody drives these steps any more
        raise
    except BaseException as error:
        yield run.on_tool_error(error)
        raise
    yield run.on_tool_end(value)
    return value
