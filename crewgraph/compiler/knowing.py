"""Whose knowledge an agent looks things up in, and the loading of it before a run."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from crewgraph.compiler.engagement import Engagement
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.coworkers import CoworkerTool
from crewgraph.definitions.crew import Crew
from crewgraph.knowledge.knowledge import Knowledge

__all__ = ["LoadKnowledge", "knowledge_of", "read_once"]


def knowledge_of(agent: BaseAgent, crew: Crew | None) -> tuple[Any, Any]:
    """What an agent knows, and what its crew knows; None for what there is none of."""
    agent.set_knowledge(None if crew is None else crew.embedder)
    return agent.knowledge, None if crew is None else crew.create_crew_knowledge().knowledge


class _Once:
    """What was read already, in runs that belong together."""

    def __init__(self) -> None:
        self.lock, self.done = Lock(), set[int]()


_once: ContextVar[_Once | None] = ContextVar("_once", default=None)


@contextmanager
def read_once() -> Generator[None]:
    """The runs in it read the sources of each knowledge once, all together."""
    token = _once.set(_Once())
    try:
        yield
    finally:
        _once.reset(token)


class LoadKnowledge(Operation):
    """Reads all sources of knowledge before anything is done: what is missing is told before a model is paid.

    Args:
        engagements: who works; those to whom they may hand work are looked at, too.

    Raises:
        SourceError: a source cannot be used.
    """

    def __init__(self, engagements: Iterable[Engagement]) -> None:
        known: dict[int, Any] = {}
        for one in engagements:
            sources = [tool.tool.source for tool in one.tools.values()]
            coworkers = [agent for source in sources if isinstance(source, CoworkerTool) for agent in source.agents]
            for agent in (one.agent, *coworkers):
                known |= {id(knows): knows for knows in knowledge_of(agent, one.crew) if isinstance(knows, Knowledge)}
        self.known = list(known.values())

    def run(self) -> None:
        once = _once.get()
        if once is None:
            for one in self.known:
                one.load()
            return
        with once.lock:
            for one in self.known:
                if id(one) not in once.done:
                    one.load()
                    once.done.add(id(one))

    async def arun(self) -> None:
        if self.known:
            await in_thread(self.run)
