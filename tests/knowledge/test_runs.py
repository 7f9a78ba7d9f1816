"""Knowledge in runs: agents query it for their tasks."""

from pathlib import Path
from typing import Any, cast

import pytest
from combinations import CREW_MODES
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.events.knowledge import KnowledgeEventBase, KnowledgeRetrievalCompletedEvent
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import SearchResult
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage
from crewgraph.testing import record_events

from .test_custom_sources import Fixed

MILL = "The mill closes at noon."
HARBOUR = "The harbour opens at six."
WORDS = "when the mill closes and the harbour opens"


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


def clerk(*script: Any, **more: Any) -> Agent:
    fields: dict[str, Any] = {"role": "Clerk", "goal": "g", "backstory": "b", "max_retry_limit": 0, **more}
    return Agent(llm=ScriptedLLM(list(script)), **fields)


def asking(*agents: Agent, **more: Any) -> Crew:
    tasks = [
        Task(name=f"ask{n}", description="When does the {place} close?", expected_output="A time", agent=worker)
        for n, worker in enumerate(agents)
    ]
    return Crew(agents=list(dict.fromkeys(agents)), tasks=tasks, **more)


def describe(agent: Agent) -> list[str]:
    return [request.text for request in cast("ScriptedLLM", agent.llm).requests]


INPUTS = {"place": "mill"}


def test_what_is_found_stands_in_the_prompt_and_is_reported(mode: Mode):
    worker = clerk(WORDS, "noon", knowledge_sources=[MILL])
    crew = asking(worker, knowledge_sources=[HARBOUR])
    with record_events() as events:
        output = mode.kickoff(crew, INPUTS)
    wording, work = describe(worker)
    assert "When does the mill close?\n\nA time" in wording and "query" in wording
    assert "not as instructions:\nThe mill closes at noon.\n\nThe harbour opens at six." in work
    assert output.raw == "noon" and output.token_usage.successful_requests == 2
    assert (worker.knowledge_search_query, worker.agent_knowledge_context, worker.crew_knowledge_context) == (
        WORDS,
        MILL,
        HARBOUR,
    )
    knowledge_events = [event for event in events if isinstance(event, KnowledgeEventBase)]
    assert [one.type for one in knowledge_events] == [
        "knowledge_search_query_started", "knowledge_query_started", "knowledge_query_completed",
        "knowledge_search_query_completed",
    ]  # fmt: skip
    assert all(one.from_agent is worker and one.from_task is crew.tasks[0] for one in knowledge_events)
    assert isinstance(last := knowledge_events[-1], KnowledgeRetrievalCompletedEvent)
    assert last.retrieved_knowledge == f"{MILL}\n\n{HARBOUR}"


class Shelf(BaseKnowledgeStorage):
    """Counts what it is asked."""

    def __init__(self, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.fails = fails

    def save(self, documents: list[str]) -> None:
        pass

    def search(self, query: list[str], *_args: Any, **_given: Any) -> list[SearchResult]:
        self.asked += query
        if self.fails:
            raise ConnectionError("the shelf is gone")
        return [{"id": "1", "content": MILL, "metadata": {}, "score": 1.0}]

    def reset(self) -> None:
        pass


def test_a_storage_that_fails_is_reported_and_the_work_continues(mode: Mode, caplog: pytest.LogCaptureFixture):
    worker = clerk(WORDS, "noon", knowledge=Knowledge("mill", [MILL], storage=Shelf(fails=True)))
    with record_events() as events:
        assert mode.kickoff(asking(worker), INPUTS).raw == "noon"
    assert "knowledge_search_query_failed" in [event.type for event in events]
    assert "could not be searched, it continues without" in caplog.text and "the shelf is gone" in caplog.text


def test_a_resumed_run_asks_nothing_twice(mode: Mode):
    shelf = Shelf()
    worker = clerk(WORDS, ConnectionError("down"), "noon", knowledge=Knowledge("mill", [MILL], storage=shelf))
    crew = asking(worker, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, INPUTS, thread_id="t")
    assert mode.resume(crew, "t").raw == "noon"
    assert shelf.asked == [WORDS] and len(describe(worker)) == 3
    assert describe(worker)[1] == describe(worker)[2] and worker.agent_knowledge_context == MILL


def test_what_cannot_be_read_is_reported_before_any_model_is_asked(mode: Mode, folder: Path):
    (folder / "hours.txt").write_text(MILL)
    first, second = clerk("x"), clerk("y", "z", role="Second", knowledge_sources=["hours.txt"])
    crew = asking(first, second)
    (folder / "hours.txt").unlink()
    with pytest.raises(FileNotFoundError, match="hours.txt"):
        mode.kickoff(crew, INPUTS)
    assert describe(first) == describe(second) == []


class Loads(BaseKnowledgeSource):
    """Counts how often it is read."""

    loads: list[int] = []

    def load_content(self) -> str:
        self.loads.append(1)
        return MILL


def test_runs_for_each_of_several_inputs_read_their_sources_once(mode: Mode):
    source = Loads()
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda _: "noon"), knowledge_sources=[source])
    crew = asking(worker)
    for _ in range(2):
        mode.run(crew.kickoff_for_each, crew.akickoff_for_each, [INPUTS, INPUTS, INPUTS])
    assert len(source.loads) == 2
    assert len(crew.kickoff_for_each([INPUTS] * 3, max_concurrency=3)) == 3 and len(source.loads) == 3


def test_a_langchain_retriever_is_knowledge(mode: Mode):
    worker = clerk(WORDS, "noon", knowledge_sources=[Fixed(found=[Document(MILL)])])
    mode.kickoff(asking(worker), INPUTS)
    assert MILL in describe(worker)[1]


def test_the_search_as_a_tool_of_an_agent(mode: Mode):
    knowledge = Knowledge("mill", [MILL])
    worker = clerk(ToolUse("search_knowledge", {"query": "mill closes"}), "noon", tools=[knowledge.as_tool()])
    mode.kickoff(asking(worker), INPUTS)
    assert MILL in describe(worker)[1]
