"""Knowledge of agents and crews: its sources are loaded before a run, and queried for each task.

The agent's model writes the query; the results go into the prompt.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from crewgraph.compiler.agent.binding import AgentBinding, has_knowledge
from crewgraph.compiler.agent.events import KnowledgeReport
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.surroundings import AROUND, LoadedOnce
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply
from crewgraph.core.operations import Program, blocking
from crewgraph.core.outages import may_carry_on
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult, extract_knowledge_context
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict
from crewgraph.scoped import scoped


def knowledge_of(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> tuple[object, object]:
    """Return the knowledge of an agent, and that of its crew; None where there is none."""
    agent.set_knowledge(None if crew is None else crew.embedder)
    return agent.knowledge, None if crew is None else crew.create_crew_knowledge().knowledge


def load_knowledge_once() -> AbstractContextManager[None]:
    """Load the sources of each knowledge once for all runs in this context."""
    return scoped(AROUND, AROUND.get()._replace(loaded=LoadedOnce()))


def _working_agents(bindings: Iterable[AgentBinding]) -> list[tuple[BaseAgentDefinition, CrewDefinition | None]]:
    """Return the agents of bindings, and the coworkers they may delegate to, each once with its crew."""
    working: dict[tuple[int, int], tuple[BaseAgentDefinition, CrewDefinition | None]] = {}
    from crewgraph.definitions.agent.delegation_tools import CoworkerTool

    for binding in bindings:
        working[id(binding.agent), id(binding.crew)] = binding.agent, binding.crew
        for tool in binding.tools.values():
            if isinstance(source := tool.tool.source, CoworkerTool):
                working |= {(id(agent), id(binding.crew)): (agent, binding.crew) for agent in source.agents}
    return list(working.values())


def load_knowledge(bindings: Iterable[AgentBinding]) -> Program[None]:
    """Load all knowledge sources before a run, so that a missing one is reported before a model is paid.

    Args:
        bindings: the agents; the coworkers they may delegate to are included.

    Raises:
        SourceError: a source cannot be used.
    """
    from crewgraph.knowledge.knowledge import Knowledge

    found: dict[int, Knowledge] = {}
    for agent, crew in _working_agents(bindings):
        if has_knowledge(agent, crew):
            found |= {id(item): item for item in knowledge_of(agent, crew) if isinstance(item, Knowledge)}

    def load() -> None:
        loaded = AROUND.get().loaded or LoadedOnce()
        with loaded.lock:
            for key, knowledge in found.items():
                if key not in loaded.done:
                    knowledge.load()
                    loaded.done.add(key)

    if found:
        yield blocking(load)


@dataclass(frozen=True, kw_only=True)
class KnowledgeQuery:
    """The parameters of a knowledge query."""

    agent: BaseAgentDefinition
    crew: CrewDefinition | None
    text: str
    """The task or question."""

    expected: str
    """The expected output."""

    context: str
    """The outputs of other tasks."""

    model: Callable[[], Model] | None
    """Returns the model that writes the query; None where the agent has no model."""

    book: Book
    usage: UsageLedger
    report: KnowledgeReport

    @property
    def task_prompt(self) -> str:
        """The text that a query is written for."""
        return "\n\n".join(filter(None, (self.text, self.expected, self.context)))


def query_knowledge(lookup: KnowledgeQuery) -> Body[str]:
    """Query the knowledge for a task; return a note for its prompt, empty if nothing was found.

    Failures are reported and the work continues without knowledge; only a source that cannot be used ends it.

    Raises:
        SourceError: a source cannot be used.
    """
    agent_knowledge, crew_knowledge = knowledge_of(lookup.agent, lookup.crew)
    if agent_knowledge is None and crew_knowledge is None:
        return ""
    from crewgraph.knowledge.knowledge import Knowledge

    for name, knowledge in (("agent", agent_knowledge), ("crew", crew_knowledge)):
        if isinstance(knowledge, Knowledge):
            yield Call(
                function=knowledge.ensure_loaded,
                afunction=knowledge.aensure_loaded,
                name=name,
                kind="the knowledge of",
                about=name,
            )
    yield Notify(partial(lookup.report.begin, lookup.task_prompt))
    query = yield from _write_query(lookup)
    agent_text = yield from _search_knowledge(lookup, agent_knowledge, "agent", query)
    crew_text = (
        ""
        if crew_knowledge is agent_knowledge
        else (yield from _search_knowledge(lookup, crew_knowledge, "crew", query))
    )
    yield Notify(partial(lookup.report.retrieved, query, agent_text, crew_text))
    text = "\n\n".join(filter(None, (agent_text, crew_text)))
    return lookup.book.slice("knowledge", knowledge=text) if text else ""


def _write_query(lookup: KnowledgeQuery) -> Body[str]:
    """Let the model write the query; fall back to the task's own text."""
    if lookup.model is None:
        return lookup.text
    book = lookup.book
    prompt = book.slice("knowledge_search_query", task_prompt=lookup.task_prompt)
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("knowledge_search_query_system_prompt")},
            {"role": "user", "content": prompt},
        ]
    )
    model = lookup.model()
    try:
        reply: Reply = yield ModelCall(model=model, transcript=transcript)
    except EffectFailed as failure:
        if not may_carry_on(failure):
            raise
        lookup.usage.failed(failure.spent)
        yield Notify(partial(lookup.report.query_failed, str(failure)))
        return lookup.text
    lookup.usage.answered(model, reply)
    query = reply_text(reply["content"]).strip()
    if not query:
        yield Notify(partial(lookup.report.query_failed, "the model's answer was empty"))
        return lookup.text
    yield Notify(partial(lookup.report.query_written, query))
    return query


def _search_knowledge(lookup: KnowledgeQuery, knowledge: Any, owner: str, query: str) -> Body[str]:
    """Search one knowledge object."""
    if knowledge is None:
        return ""
    config = lookup.agent.knowledge_config or KnowledgeConfig()
    try:
        results: Sequence[SearchResult] = yield Call(
            function=knowledge.query,
            afunction=getattr(knowledge, "aquery", None),
            args=([query], config.results_limit, config.score_threshold),
            name=owner,
            kind="a search in the knowledge of",
            about=[owner, query, config.results_limit, config.score_threshold],
            encode=_encode_results,
            span="Knowledge: search",
            trace_input=query,
            documents=_passages_as_documents,
        )
    except EffectFailed as failure:
        if not may_carry_on(failure):
            raise
        yield Notify(partial(lookup.report.search_failed, query, str(failure)))
        return ""
    return extract_knowledge_context(results)


def _encode_results(results: Any) -> list[object]:
    return list(results or ())


def _passages_as_documents(results: Any) -> list[tuple[str, PlainDict]]:
    return [_as_document(result) for result in cast("Sequence[object]", results or ())]


def _as_document(result: object) -> tuple[str, PlainDict]:
    """Return a search result's text and metadata; that of a user's own knowledge may have any form."""
    if not isinstance(result, dict):
        return str(result), {}
    found = cast("PlainDict", result)
    return str(found.get("content", "")), {**(found.get("metadata") or {}), "score": found.get("score")}
