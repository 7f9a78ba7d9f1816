"""The border where tools meet models: whatever a tool does wrong becomes a text that the model can act on."""

import logging
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from crewgraph.core.messages import ToolSpec
from crewgraph.errors import ToolFailed
from crewgraph.text import shorten
from crewgraph.tools.adapt import AdaptedTool
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.limit import UsageLimitReached

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["GuardedTool", "Outcome", "no_such_tool"]

_log = logging.getLogger("crewgraph.tools")
_MESSAGE_LIMIT = 2000
"""How many characters of an exception's message a model is shown."""


class Outcome(TypedDict):
    """What came of a tool call, as plain data."""

    ok: bool
    """Whether the tool did it."""

    result: Any
    """What it returned, as plain data; where it failed, the text for the model."""

    from_cache: NotRequired[bool]
    """Whether that is what an equal call returned before."""


class GuardedTool:
    """A `crewgraph.core.ports.Tool` that never fails: its results are `Outcome`s.

    Interrupts of LangGraph, cancellation, KeyboardInterrupt and SystemExit pass through.

    Args:
        tool: The tool.
        passing: Further exceptions that pass through, such as those of the run's own machinery.
    """

    def __init__(self, tool: AdaptedTool, *, passing: Iterable[type[BaseException]] = ()) -> None:
        self.tool = tool
        """What is used."""
        self._passing = tuple(passing)

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.tool.name

    @property
    def spec(self) -> ToolSpec:
        """How a model sees it."""
        return self.tool.spec

    @property
    def once(self) -> bool:
        """Whether a call whose outcome is unknown after a crash must not be repeated."""
        return self.tool.once

    def prepare(self, written: Any) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them."""
        with self._watch() as outcome:
            return self.tool.prepare(written)
        return Refusal(outcome["result"])  # a validator of the user's failed otherwise than pydantic asks for

    def run(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        """Do it."""
        with self._watch() as outcome:
            outcome["result"] = self.tool.run(args, config)
        return outcome

    async def arun(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        """Do it."""
        with self._watch() as outcome:
            outcome["result"] = await self.tool.arun(args, config)
        return outcome

    @contextmanager
    def _watch(self) -> Generator[Outcome]:
        outcome: Outcome = {"ok": True, "result": None}
        try:
            yield outcome
        except UsageLimitReached as error:
            outcome.update(ok=False, result=str(error))
        except ToolFailed as error:  # says all by itself
            _log.warning("%s", error)
            outcome.update(ok=False, result=str(error))
        except Exception as error:
            if isinstance(error, self._passing) or _is_bubble(error):
                raise
            _log.warning("the tool `%s` failed", self.tool.title, exc_info=error)
            outcome.update(ok=False, result=_failure(self.name, error))


def _is_bubble(error: Exception) -> bool:
    """Whether it is one of LangGraph's, which steer the graph (that package is not imported here)."""
    return any(c.__name__ == "GraphBubbleUp" and c.__module__ == "langgraph.errors" for c in type(error).__mro__)


def _failure(name: str, error: Exception) -> str:
    try:
        message = str(error).strip()
    except Exception as own:  # noqa: BLE001  (an exception whose own text fails)
        message = f"(its text cannot be had: {type(own).__name__})"
    kind = type(error).__name__
    return f"`{name}` failed: {kind}: {shorten(message, _MESSAGE_LIMIT)}" if message else f"`{name}` failed: {kind}"


def no_such_tool(written: str, tools: Mapping[str, Any]) -> str:
    """What a model is told that asked for a tool nobody gave it."""
    asked = shorten(written.strip(), 100)
    if not tools:
        return f"There is no tool `{asked}`, and there are no others. Answer without one."
    return f"There is no tool `{asked}`. Use one of: {', '.join(f'`{name}`' for name in tools)}."
