"""Before an agent begins, it looks up what is known: its model words the query, what is found goes into the prompt.

Whose knowledge an agent looks things up in, and the loading of it before a run.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.events import KnowledgeReport
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall, Notify
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Reply
from crewgraph.core.operations import Operation
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.crew.crew import Crew
from crewgraph.errors import SourceError
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult, extract_knowledge_context
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["LoadKnowledge", "Lookup", "knowledge_of", "query_knowledge", "read_once"]


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

    def __init__(self, engagements: Iterable[AgentBinding]) -> None:
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


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """What looking something up needs to know."""

    agent: BaseAgent
    crew: Crew | None
    text: str
    """What the agent is asked."""

    expected: str
    """What is to come of it."""

    context: str
    """What others have found out."""

    model: Callable[[], Model] | None
    """Who words the query; None where the agent has no model to be asked."""

    book: Book
    usage: UsageLedger
    report: KnowledgeReport

    @property
    def asked(self) -> str:
        """What a query is worded for."""
        return "\n\n".join(filter(None, (self.text, self.expected, self.context)))


def query_knowledge(lookup: Lookup) -> Body[str]:
    """What is known of a task, for its prompt; empty where there is no knowledge, or nothing fits.

    What fails is told, and the work goes on without; but a source that cannot be used ends it.

    Raises:
        SourceError: a source cannot be used.
    """
    own, crews = knowledge_of(lookup.agent, lookup.crew)
    if own is None and crews is None:
        return ""
    for name, knowledge in (("agent", own), ("crew", crews)):
        if isinstance(knowledge, Knowledge):
            yield Call(
                function=knowledge.ensure_loaded,
                afunction=knowledge.aensure_loaded,
                name=name,
                kind="the knowledge of",
                about=name,
            )
    yield Notify(partial(lookup.report.begin, lookup.asked))
    query = yield from _worded(lookup)
    found = yield from _found(lookup, own, "agent", query)
    of_crew = "" if crews is own else (yield from _found(lookup, crews, "crew", query))
    yield Notify(partial(lookup.report.found, query, found, of_crew))
    known = "\n\n".join(filter(None, (found, of_crew)))
    return lookup.book.slice("knowledge", knowledge=known) if known else ""


def _worded(lookup: Lookup) -> Body[str]:
    """The query, as the model words it; the task's own words where it cannot."""
    if lookup.model is None:
        return lookup.text
    book = lookup.book
    asked = book.slice("knowledge_search_query", task_prompt=lookup.asked)
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("knowledge_search_query_system_prompt")},
            {"role": "user", "content": asked},
        ]
    )
    model = lookup.model()
    try:
        reply: Reply = yield ModelCall(model=model, transcript=transcript)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        yield Notify(partial(lookup.report.unworded, str(failure)))
        return lookup.text
    lookup.usage.answered(model, reply)
    query = reply_text(reply["content"]).strip()
    if not query:
        yield Notify(partial(lookup.report.unworded, "the model's answer was empty"))
        return lookup.text
    yield Notify(partial(lookup.report.rendered_texts, query))
    return query


def _found(lookup: Lookup, knowledge: Any, whose: str, query: str) -> Body[str]:
    """What some knowledge says."""
    if knowledge is None:
        return ""
    config = lookup.agent.knowledge_config or KnowledgeConfig()
    try:
        results: Sequence[SearchResult] = yield Call(
            function=knowledge.query,
            afunction=getattr(knowledge, "aquery", None),
            args=([query], config.results_limit, config.score_threshold),
            name=whose,
            kind="a search in the knowledge of",
            about=[whose, query, config.results_limit, config.score_threshold],
            encode=_plain,
            span="Knowledge: search",
            given=query,
        )
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached" or isinstance(failure.__cause__, SourceError):
            raise
        yield Notify(partial(lookup.report.unsearched, query, str(failure)))
        return ""
    return extract_knowledge_context(results)


def _plain(results: Any) -> list[Any]:
    return list(results or ())
