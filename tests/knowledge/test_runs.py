"""Knowledge in runs: agents query it for their tasks."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from combinations import CREW_MODES
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.definitions.agent.delegation_tools import AgentTools
from crewgraph.errors import SourceError
from crewgraph.events.knowledge import KnowledgeEventBase, KnowledgeRetrievalCompletedEvent
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult
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
        "knowledge_search_query_started",
        "knowledge_query_started",
        "knowledge_query_completed",
        "knowledge_search_query_completed",
    ]
    assert all(one.from_agent is worker and one.from_task is crew.tasks[0] for one in knowledge_events)
    assert isinstance(last := knowledge_events[-1], KnowledgeRetrievalCompletedEvent)
    assert last.retrieved_knowledge == f"{MILL}\n\n{HARBOUR}"


def test_the_config_says_how_much_is_reported(mode: Mode):
    config = KnowledgeConfig(results_limit=1, score_threshold=0)
    worker = clerk("mill", "x", knowledge_sources=[MILL, HARBOUR], knowledge_config=config)
    mode.kickoff(asking(worker), INPUTS)
    assert MILL in describe(worker)[1] and HARBOUR not in describe(worker)[1]
    strict = clerk("wind", "x", knowledge_sources=[MILL], knowledge_config={"score_threshold": 0.99})
    mode.kickoff(asking(strict), INPUTS)
    assert "material" not in describe(strict)[1] and strict.agent_knowledge_context is None


@pytest.mark.parametrize("answer", [ConnectionError("down"), " "])
def test_a_query_that_cannot_be_worded_is_the_task_itself(mode: Mode, answer: Any):
    worker = clerk(answer, "noon", knowledge_sources=[MILL])
    with record_events() as events:
        mode.kickoff(asking(worker), INPUTS)
    assert "knowledge_query_failed" in [event.type for event in events]
    assert worker.knowledge_search_query == "When does the mill close?" and MILL in describe(worker)[1]


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


def test_a_replayed_task_looks_it_up_anew_and_those_before_do_not(mode: Mode):
    shelf = Shelf()
    worker = clerk("a", "b", "c", "d", "e", "f", knowledge=Knowledge("mill", [MILL], storage=shelf))
    crew = asking(worker, worker, checkpointer=InMemorySaver())
    mode.kickoff(crew, INPUTS)
    mode.run(crew.replay, crew.areplay, str(crew.tasks[1].id))
    assert shelf.asked == ["a", "c", "e"]


def _noon(output: TaskOutput) -> tuple[bool, Any]:
    return (True, output) if output.raw == "noon" else (False, "that is wrong")


def test_a_refused_attempt_looks_nothing_up_again(mode: Mode):
    shelf = Shelf()
    worker = clerk(WORDS, "late", "noon", knowledge=Knowledge("mill", [MILL], storage=shelf))
    crew = asking(worker)
    crew.tasks[0].guardrail = _noon
    assert mode.kickoff(crew, INPUTS).raw == "noon"
    assert shelf.asked == [WORDS] and MILL in describe(worker)[2]


def test_what_cannot_be_read_is_reported_before_any_model_is_asked(mode: Mode, folder: Path):
    (folder / "hours.txt").write_text(MILL)
    first, second = clerk("x"), clerk("y", "z", role="Second", knowledge_sources=["hours.txt"])
    crew = asking(first, second)
    (folder / "hours.txt").unlink()
    with pytest.raises(FileNotFoundError, match="hours.txt"):
        mode.kickoff(crew, INPUTS)
    assert describe(first) == describe(second) == []


def test_a_compiled_graph_reads_its_sources_before_it_asks(mode: Mode):
    class Down(BaseKnowledgeSource):
        def load_content(self) -> str:
            raise SourceError("the service is down")

    worker = clerk(WORDS, "noon", knowledge_sources=[Down()])
    graph = mode.compile(asking(worker), checkpointer=False)
    with pytest.raises(SourceError, match="the service is down"):
        mode.invoke(graph, {"inputs": INPUTS})
    assert describe(worker) == []
    knows = clerk(WORDS, "noon", knowledge_sources=[MILL])
    assert mode.invoke(mode.compile(asking(knows), checkpointer=False), {"inputs": INPUTS})["ask0"]["raw"] == "noon"
    assert MILL in describe(knows)[1]


def test_an_agent_on_its_own_knows_too(mode: Mode):
    worker = clerk(WORDS, "noon", knowledge_sources=[MILL])
    assert mode.run(worker.kickoff, worker.akickoff, "When does the mill close?").raw == "noon"
    assert MILL in describe(worker)[1] and worker.agent_knowledge_context == MILL
    alone = clerk(WORDS, "noon", knowledge_sources=[MILL])
    task = Task(description="When?", expected_output="A time", agent=alone)
    assert mode.run(task.execute_sync, task.aexecute_sync).raw == "noon" and MILL in describe(alone)[1]


def test_a_coworker_knows_what_it_knows(mode: Mode):
    expert = clerk(WORDS, "noon", role="Miller", knowledge_sources=[MILL])
    args = {"task": "Say when the mill closes", "context": "none", "coworker": "Miller"}
    lead = clerk(ToolUse(AgentTools([expert]).tools()[0].name, args), "noon", role="Lead", allow_delegation=True)
    crew = asking(lead)
    crew.agents.append(expert)
    output = mode.kickoff(crew, INPUTS)
    assert output.raw == "noon" and MILL in describe(expert)[1]
    assert output.token_usage.successful_requests == 4


def test_asynchronous_tasks_know_too(mode: Mode):
    first, second = (clerk(WORDS, "noon", role=f"Clerk {n}", knowledge_sources=[MILL]) for n in range(2))
    crew = asking(first, second, clerk("done", role="Last"))
    for task in crew.tasks[:2]:
        task.async_execution = True
    mode.kickoff(crew, INPUTS)
    assert MILL in describe(first)[1] and MILL in describe(second)[1]


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


def test_texts_of_the_query_can_be_replaced(mode: Mode, tmp_path: Path):
    texts = {"slices": {"knowledge_search_query": "ASK {task_prompt}", "knowledge": "KNOWN {knowledge}"}}
    (tmp_path / "p.json").write_text(json.dumps(texts))
    worker = clerk(WORDS, "noon", knowledge_sources=[MILL])
    mode.kickoff(asking(worker, prompt_file=str(tmp_path / "p.json")), INPUTS)
    assert "ASK When does the mill" in describe(worker)[0] and f"KNOWN {MILL}" in describe(worker)[1]


def test_an_agent_whose_work_a_function_does_is_searched_for_in_the_tasks_own_words(mode: Mode):
    seen: list[Any] = []

    def work(given: Any) -> str:
        seen.append(given)
        return "noon"

    worker = Agent(role="Clerk", goal="g", backstory="b", agent_executor=work, knowledge_sources=[MILL])
    mode.kickoff(asking(worker), INPUTS)
    assert MILL in str(seen[0]) and worker.knowledge_search_query == "When does the mill close?"


def test_copies_of_crews_know_the_same(mode: Mode):
    worker = clerk(WORDS, "noon", knowledge_sources=[MILL])
    crew = asking(worker, knowledge_sources=[HARBOUR]).copy()
    mode.kickoff(crew, INPUTS)
    assert MILL in describe(worker)[1] and HARBOUR in describe(worker)[1]


def test_knowledge_is_reset_by_its_names(mode: Mode):
    worker = clerk(WORDS, "noon", knowledge_sources=[MILL])
    crew = asking(worker, knowledge_sources=[HARBOUR])
    mode.kickoff(crew, INPUTS)
    for kind, left in (("agent_knowledge", 1), ("knowledge", 0)):
        crew.reset_memories(kind)
        matches = [Knowledge(name).query("mill harbour", 5, 0.0) for name in ("Clerk", "crew")]
        assert sum(map(len, matches)) == left
