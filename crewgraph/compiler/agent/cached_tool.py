"""A tool whose results are kept: a call that was made before is answered with what it gave then."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.agent.models import configured_cache_handler, own_handler
from crewgraph.core.digests import encoded
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import ToolSpec
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.tools.adapt import AdaptedTool
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.use import GuardedTool, Outcome

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["CachedTool", "with_cache"]


_log = logging.getLogger("crewgraph.tools")


def with_cache(tool: GuardedTool, agent: BaseAgent, crew: Crew | None) -> "GuardedTool | CachedTool":
    """A tool as an agent uses it: with its results kept, unless agent, crew or tool say otherwise."""
    if tool.once or not agent.cache or (crew is not None and not crew.cache):
        return tool
    handler = configured_cache_handler(agent, crew)
    if handler is not None:
        return CachedTool(tool, handler)
    return tool if crew is None else CachedTool(tool, _Own(crew, tool.tool.origin))


class CachedTool:
    """A tool like `GuardedTool`, with something that keeps its results.

    Args:
        tool: what is used where nothing is kept.
        handler: reads and adds results, like `CacheHandler`.
    """

    def __init__(self, tool: GuardedTool, handler: Any) -> None:
        self._used, self._handler = tool, handler
        self._in_memory = isinstance(handler, _Own) or type(handler) is CacheHandler

    @property
    def tool(self) -> AdaptedTool:
        """What is used."""
        return self._used.tool

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self._used.name

    @property
    def spec(self) -> ToolSpec:
        """How a model sees it."""
        return self._used.spec

    @property
    def once(self) -> bool:
        """Whether a call whose outcome is unknown after a crash must not be repeated."""
        return self._used.once

    def prepare(self, written: Any) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them."""
        return self._used.prepare(written)

    def run(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        """Do it, or answer with what it gave before."""
        return drive(self._answered(args, config))

    async def arun(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        """Do it, or answer with what it gave before."""
        return await adrive(self._answered(args, config))

    def known(self, args: dict[str, Any]) -> Outcome | None:
        """What it gave before; None where that is not known."""
        return drive(self._known(_written(args)))

    async def aknown(self, args: dict[str, Any]) -> Outcome | None:
        """What it gave before; None where that is not known."""
        return await adrive(self._known(_written(args)))

    def _known(self, written: str) -> Program[Outcome | None]:
        known = yield from self._asked("read", self._handler.read, self.name, written)
        return None if known is None else Outcome(ok=True, result=known, from_cache=True)

    def _answered(self, args: dict[str, Any], config: "RunnableConfig") -> Program[Outcome]:
        written = _written(args)
        known = yield from self._known(written)
        if known is not None:
            return known
        done: Outcome = yield _Use(self._used, args, config)
        if done["ok"] and (yield from self._may_be_kept(args, done["result"])):
            yield from self._asked("add", self._handler.add, self.name, written, done["result"])
        return done

    def _may_be_kept(self, args: dict[str, Any], result: Any) -> Program[bool]:
        judge = self.tool.cache_function
        if result is None:  # `read` could not tell it from nothing
            return False
        return judge is None or bool((yield from self._asked("cache_function", judge, args, result)))

    def _asked(self, what: str, function: Callable[..., Any], *given: Any) -> Program[Any]:
        """What a function says about results; None where it fails, for a result is worth more than keeping it."""
        try:
            return plain((yield _Ask(function, given, quick=self._in_memory and what != "cache_function")))
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - told, and the tool is used as if nothing were kept
            _log.warning("the tool `%s` is used without a cache: `%s` failed", self.tool.title, what, exc_info=error)
            return None


def _written(args: dict[str, Any]) -> str:
    return encoded(args).decode("utf-8", "surrogatepass")


class _Own:
    """A crew's own results, those of one tool: another one may have the same name."""

    def __init__(self, crew: Crew, origin: Any) -> None:
        self._crew, self._origin = crew, origin

    def read(self, tool: str, input: str) -> Any:
        kept = own_handler(self._crew).read(tool, input)
        return kept[1] if kept is not None and kept[0]() is self._origin else None

    def add(self, tool: str, input: str, output: Any) -> None:
        own_handler(self._crew).add(tool, input, (ref(self._origin), output))


class _Use(Operation):
    """A tool does its work."""

    def __init__(self, tool: GuardedTool, args: dict[str, Any], config: "RunnableConfig") -> None:
        self.tool, self.args, self.config = tool, args, config

    def run(self) -> Outcome:
        return self.tool.run(self.args, self.config)

    async def arun(self) -> Outcome:
        return await self.tool.arun(self.args, self.config)


class _Ask(Operation):
    """A function of either kind; one that is quick needs no thread beside the event loop."""

    def __init__(self, function: Callable[..., Any], given: tuple[Any, ...], *, quick: bool) -> None:
        self.function, self.given, self.quick = function, given, quick

    def run(self) -> Any:
        return call(self.function, *self.given)

    async def arun(self) -> Any:
        return self.function(*self.given) if self.quick else await acall(self.function, *self.given)
