"""Cached results of tools."""

from collections.abc import Callable
from contextvars import Context
from typing import Any
from weakref import ref

from langchain_core.runnables import RunnableConfig

from crewgraph.compiler.agent.models import builtin_cache_handler, configured_cache_handler
from crewgraph.core.cancellation import is_control_flow
from crewgraph.core.current import is_traced
from crewgraph.core.digests import encoded
from crewgraph.core.messages import ToolSpec
from crewgraph.core.operations import Program, user_call
from crewgraph.core.outages import is_outage
from crewgraph.core.plain import plain
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.tools.adapt import AdaptedTool, is_command, traced
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.use import Outcome, use
from crewgraph.tracebacks import raised_by_signal

_log = redacted_logger("crewgraph.tools")


def cache_of(tool: AdaptedTool, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> Any:
    """Return the cache of a tool that asks for one, or of any where the program asks: by `cache=True` or a `cache_handler`.

    It reads and adds results, like `CacheHandler`. There is none for tools whose calls people approve or that must not be
    repeated, nor with `cache=False`.
    """
    if tool.once or tool.reads_state or tool.require_approval:
        return None
    if not agent.cache or (crew is not None and not crew.cache):
        return None
    handler = configured_cache_handler(agent, crew)
    if handler is not None:
        return handler
    is_asked_for = tool.asks_for_cache or agent.is_written("cache") or (crew is not None and crew.is_written("cache"))
    return _BuiltinCache(crew or agent, tool) if is_asked_for else None


def use_cached(tool: AdaptedTool, cache: Any, args: PlainDict, config: RunnableConfig) -> Program[Outcome]:
    """Return the cached result of a call, or call the tool."""
    key = encoded(args).decode("utf-8", "surrogatepass")
    found = yield from _of_cache(tool, cache, "read", cache.read, tool.name, key)
    if found is not None:
        if is_traced(config):
            yield from _cached_use(tool.spec, args, config, found)
        return Outcome(ok=True, result=found, from_cache=True)
    outcome = yield from use(tool, args, config)
    if outcome["ok"] and (yield from _is_cacheable(tool, cache, args, outcome["result"])):
        yield from _of_cache(tool, cache, "add", cache.add, tool.name, key, outcome["result"])
    return outcome


def _is_cacheable(tool: AdaptedTool, cache: Any, args: PlainDict, result: Any) -> Program[bool]:
    predicate = tool.cache_function
    if result is None or is_command(result):  # `read` returns None for a miss
        return False
    return predicate is None or bool((yield from _of_cache(tool, cache, "cache_function", predicate, args, result)))


def _of_cache(
    tool: AdaptedTool, cache: Any, operation: str, function: Callable[..., Any], *args: Any
) -> Program[object]:
    """Call a function of the cache; None if it is down, or if the tool has run: its result must not be lost."""
    try:
        if operation != "cache_function" and (isinstance(cache, _BuiltinCache) or type(cache) is CacheHandler):
            return plain(function(*args))  # in memory
        return plain((yield user_call(function, *args)))
    except Exception as error:  # logged, and the tool is called without a cache
        if is_control_flow(error) or raised_by_signal(error) or (operation == "read" and not is_outage(error)):
            raise
        _log.warning("the tool `%s` is called without a cache: `%s` failed", tool.title, operation, exc_info=error)
        return None


class _BuiltinCache:
    """The built-in cache, restricted to one tool: another tool may have the same name.

    Runs share nothing, since they may be of different users, unless the tool has a `cache_function` that decides what is kept.
    """

    def __init__(self, owner: BaseAgentDefinition | CrewDefinition, tool: AdaptedTool) -> None:
        self._owner, self._tool = owner, tool
        self._of_this_run = CacheHandler()
        """For an agent outside of a crew, whose tools are made for each run."""

    def read(self, tool: str, input: str) -> object:
        entry = self._handler.read(tool, input)
        return entry[1] if entry is not None and entry[0]() is self._tool.origin else None

    def add(self, tool: str, input: str, output: object) -> None:
        self._handler.add(tool, input, (ref(self._tool.origin), output))

    @property
    def _handler(self) -> CacheHandler:
        across_runs = self._tool.cache_function is not None
        return builtin_cache_handler(self._owner, across_runs=across_runs) or self._of_this_run


def _cached_use(spec: ToolSpec, args: PlainDict, config: RunnableConfig, result: object) -> Program[object]:
    """Show a run in the trace for a call that the cache answers, like that of the tool, with `cached` in tags and metadata."""
    cached: RunnableConfig = {
        **config,
        "tags": [*(config.get("tags") or ()), "cached"],
        "metadata": {**(config.get("metadata") or {}), "cached": True},
    }

    async def answered(_: Context) -> object:
        return result

    return traced(spec, args, cached, lambda _: result, answered)
