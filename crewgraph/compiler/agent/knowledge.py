"""Knowledge of agents and crews: its sources are loaded before a run, and queried for each task.

The agent's model writes the query; the results go into the prompt.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

from crewgraph.compiler.agent.binding import AgentBinding, has_knowledge
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.runner import AgentRunner
from crewgraph.compiler.surroundings import AROUND, LoadedOnce
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply
from crewgraph.core.operations import Program, blocking
from crewgraph.core.outages import may_carry_on
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.events import late
from crewgraph.events.base import BaseEvent
from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult, extract_knowledge_context
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.scoped import scoped

_log = redacted_logger("crewgraph")


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
            if isinstance(source := tool.source, CoworkerTool):
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


def query_knowledge(runner: AgentRunner, text: str, expected: str, context: str) -> Body[str]:
    """Query the knowledge for a task; return a note for its prompt, empty if nothing was found.

    Failures are reported and the work continues without knowledge; only a source that cannot be used ends it.

    Args:
        runner: the agent.
        text: the task or question.
        expected: the expected output.
        context: the outputs of other tasks.

    Raises:
        SourceError: a source cannot be used.
    """
    agent = runner.agent
    agent_knowledge, crew_knowledge = knowledge_of(agent, runner.crew)
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
    yield _told(runner, late.KnowledgeRetrievalStartedEvent)
    query = yield from _write_query(runner, text, "\n\n".join(filter(None, (text, expected, context))))
    agent_text = yield from _search_knowledge(runner, agent_knowledge, "agent", query)
    crew_text = (
        ""
        if crew_knowledge is agent_knowledge
        else (yield from _search_knowledge(runner, crew_knowledge, "crew", query))
    )
    found = "\n\n".join(filter(None, (agent_text, crew_text)))
    yield Notify(partial(_show_found, agent, query, agent_text, crew_text))
    yield _told(runner, late.KnowledgeRetrievalCompletedEvent, query=query, retrieved_knowledge=found)
    return runner.book.slice("knowledge", knowledge=found) if found else ""


def _told(runner: AgentRunner, event: type[BaseEvent], **fields: object) -> Notify:
    return Notify(partial(runner.report.of_agent, event, fields))


def _show_found(agent: BaseAgentDefinition, query: str, agent_text: str, crew_text: str) -> None:
    if isinstance(agent, AgentDefinition):
        agent.knowledge_search_query = query
        agent.agent_knowledge_context, agent.crew_knowledge_context = agent_text or None, crew_text or None


def _write_query(runner: AgentRunner, text: str, task_prompt: str) -> Body[str]:
    """Let the model write the query; fall back to the task's own text."""
    yield _told(runner, late.KnowledgeQueryStartedEvent, task_prompt=task_prompt)
    if runner.executor is not None:  # the agent may have no model
        return text
    book, model = runner.book, runner.model
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("knowledge_search_query_system_prompt")},
            {"role": "user", "content": book.slice("knowledge_search_query", task_prompt=task_prompt)},
        ]
    )
    try:
        reply: Reply = yield ModelCall(model=model, transcript=transcript)
    except EffectFailed as failure:
        if not may_carry_on(failure):
            raise
        runner.usage.failed(failure.spent)
        query, problem = "", str(failure)
    else:
        runner.usage.answered(model, reply)
        query, problem = reply_text(reply["content"]).strip(), "the model's answer was empty"
    if query:
        yield _told(runner, late.KnowledgeQueryCompletedEvent, query=query)
        return query
    yield _warned(runner, "no query could be written, its knowledge is searched for the text of the task", problem)
    yield _told(runner, late.KnowledgeQueryFailedEvent, error=problem)
    return text


def _warned(runner: AgentRunner, what: str, error: str) -> Notify:
    return Notify(partial(_log.warning, "%s: %s: %s", runner.binding.where, what, error))


def _search_knowledge(runner: AgentRunner, knowledge: Any, owner: str, query: str) -> Body[str]:
    """Search one knowledge object."""
    if knowledge is None:
        return ""
    config = runner.agent.knowledge_config or KnowledgeConfig()
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
        yield _warned(runner, "its knowledge could not be searched, it continues without", str(failure))
        yield _told(runner, late.KnowledgeSearchQueryFailedEvent, query=query, error=str(failure))
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
