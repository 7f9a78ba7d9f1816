"""Before an agent begins, it looks up what is known: its model words the query, what is found goes into the prompt."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from crewgraph.compiler.bodies.protocol import text_of
from crewgraph.compiler.knowing import knowledge_of
from crewgraph.compiler.knowledge_report import KnowledgeReport
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.errors import SourceError
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult, extract_knowledge_context
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["Lookup", "looked_up"]


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


def looked_up(lookup: Lookup) -> Body[str]:
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
                function=knowledge.ready, afunction=knowledge.aready, name=name, kind="the knowledge of", about=name
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
    query = text_of(reply["content"]).strip()
    if not query:
        yield Notify(partial(lookup.report.unworded, "the model's answer was empty"))
        return lookup.text
    yield Notify(partial(lookup.report.worded, query))
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
