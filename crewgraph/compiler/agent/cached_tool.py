"""Tools with cached results."""

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
from crewgraph.core.operations import Do, Program, adrive, drive, user_call
from crewgraph.core.outages import is_outage
from crewgraph.core.plain import plain
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.tools.adapt import AdaptedTool, atraced, is_command, traced
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.use import GuardedTool, Outcome
from crewgraph.tracebacks import raised_by_signal

_log = redacted_logger("crewgraph.tools")


def with_cache(tool: GuardedTool, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> GuardedTool:
    """Add a cache to a tool that asks for one, or to any where the program asks: by `cache=True` or a `cache_handler`.

    There is none for tools whose calls people approve or that must not be repeated, nor with `cache=False`.
    """
    adapted = tool.tool
    if adapted.once or adapted.reads_state or adapted.require_approval:
        return tool
    if not agent.cache or (crew is not None and not crew.cache):
        return tool
    handler = configured_cache_handler(agent, crew)
    if handler is not None:
        return CachedTool(tool, handler)
    is_asked_for = (
        adapted.asks_for_cache or agent.is_written("cache") or (crew is not None and crew.is_written("cache"))
    )
    return CachedTool(tool, _BuiltinCache(crew or agent, adapted)) if is_asked_for else tool


class CachedTool(GuardedTool):
    """A tool whose results are cached.

    Args:
        tool: the tool to call on a cache miss.
        handler: reads and adds results, like `CacheHandler`.
    """

    def __init__(self, tool: GuardedTool, handler: Any) -> None:
        super().__init__(tool.tool, passing=tool.passing)
        self._handler = handler
        self._in_memory = isinstance(handler, _BuiltinCache) or type(handler) is CacheHandler

    def run(self, args: PlainDict, config: RunnableConfig) -> Outcome:
        """Return the cached result, or call the tool."""
        return drive(self._run_cached(args, config))

    async def arun(self, args: PlainDict, config: RunnableConfig) -> Outcome:
        """Async version of `run`."""
        return await adrive(self._run_cached(args, config))

    def _lookup(self, key: str) -> Program[Outcome | None]:
        result = yield from self._call_handler("read", self._handler.read, self.name, key)
        return None if result is None else Outcome(ok=True, result=result, from_cache=True)

    def _run_cached(self, args: PlainDict, config: RunnableConfig) -> Program[Outcome]:
        key = encoded(args).decode("utf-8", "surrogatepass")
        cached = yield from self._lookup(key)
        if cached is not None:
            if is_traced(config):
                yield _cached_use(self.spec, args, config, cached["result"])
            return cached
        outcome: Outcome = yield Do(super().run, super().arun, args, config)
        if outcome["ok"] and (yield from self._is_cacheable(args, outcome["result"])):
            yield from self._call_handler("add", self._handler.add, self.name, key, outcome["result"])
        return outcome

    def _is_cacheable(self, args: PlainDict, result: Any) -> Program[bool]:
        predicate = self.tool.cache_function
        if result is None or is_command(result):  # `read` returns None for a miss
            return False
        return predicate is None or bool((yield from self._call_handler("cache_function", predicate, args, result)))

    def _call_handler(self, operation: str, function: Callable[..., Any], *args: Any) -> Program[object]:
        """Call a function of the cache; None if it is down, or if the tool has run: its result must not be lost."""
        try:
            if self._in_memory and operation != "cache_function":
                return plain(function(*args))
            return plain((yield user_call(function, *args)))
        except Exception as error:  # logged, and the tool is called without a cache
            if is_control_flow(error) or raised_by_signal(error) or (operation == "read" and not is_outage(error)):
                raise
            _log.warning(
                "the tool `%s` is called without a cache: `%s` failed", self.tool.title, operation, exc_info=error
            )
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


def _cached_use(spec: ToolSpec, args: PlainDict, config: RunnableConfig, result: object) -> Do:
    """A run in the trace for a call that the cache answers, like that of the tool, with `cached` in tags and metadata."""
    cached: RunnableConfig = {
        **config,
        "tags": [*(config.get("tags") or ()), "cached"],
        "metadata": {**(config.get("metadata") or {}), "cached": True},
    }

    async def answered(_: Context) -> object:
        return result

    return Do(lambda: traced(spec, args, cached, lambda _: result), lambda: atraced(spec, args, cached, answered))
