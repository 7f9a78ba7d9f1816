"""No async entry blocks its event loop: each runs where LangGraph's server makes blocking calls errors."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from blocking import no_blocking_calls
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from crewgraph import Agent, Crew, Flow, Knowledge, Memory, ScriptedLLM, start
from crewgraph.compiler.agent.memory import MemoryFailed
from crewgraph.flow.persistence import SQLiteFlowPersistence, persist
from crewgraph.knowledge import StringKnowledgeSource

from .parts import agent, crew, task

Entry = Callable[[], Coroutine[Any, Any, object]]


def answers(**more: Any) -> Crew:
    return crew(task("one", agent(ScriptedLLM(lambda _: "Final Answer: done"))), **more)


def rain() -> StringKnowledgeSource:
    return StringKnowledgeSource(content="Rain falls on the plain.")


@persist
class Persisted(Flow):
    @start()
    def first(self) -> str:
        self.state["seen"] = True
        return "done"


class OfCrews(Flow):
    @start()
    async def first(self) -> str:
        return (await answers().akickoff()).raw


async def kickoff() -> object:
    return (await answers().akickoff()).raw


async def kickoff_async() -> object:
    return (await answers().kickoff_async()).raw


async def kickoff_in_steps() -> object:
    return (await answers().akickoff(granularity="step")).raw


async def kickoff_for_each() -> object:
    return [output.raw for output in await answers().akickoff_for_each([{}, {}])][1]


async def stream() -> object:
    items: list[Any] = [item async for item in answers().astream()]
    return items[-1].output.raw


async def resume() -> object:
    made = answers()
    output = await made.akickoff()
    return (await made.aresume(str(output.thread_id))).raw


async def replay() -> object:
    made = answers()
    await made.akickoff()
    return (await made.areplay(str(made.tasks[0].id))).raw


async def test_round() -> object:
    await answers().atest(1, eval_llm=ScriptedLLM(lambda _: '{"score": 8}'))
    return "done"


async def list_of_runs() -> object:
    made = answers()
    await made.akickoff()
    return "done" if await made.aruns() else "none"


async def memory_and_knowledge() -> object:
    return (await answers(memory=True, knowledge_sources=[rain()]).akickoff()).raw


async def knowledge_of_an_agent() -> object:
    made = answers()
    made.agents[0].knowledge_sources = [rain()]
    return (await made.akickoff()).raw


async def log_file() -> object:
    await answers(output_log_file="log.txt").akickoff()
    return "done" if "completed" in Path("log.txt").read_text() else "empty"


async def output_file() -> object:
    made = answers()
    made.tasks[0].output_file = "out/one.txt"
    await made.akickoff()
    return Path("out/one.txt").read_text()


async def console() -> object:
    return (await answers(verbose=True).akickoff()).raw


async def lone_agent() -> object:
    alone = answers().agents[0]
    assert isinstance(alone, Agent)
    return (await alone.akickoff("What?")).raw


async def flow() -> object:
    return await Persisted().akickoff()


async def flow_that_continues() -> object:
    before = Persisted()
    await before.akickoff()
    return await Persisted().akickoff(inputs={"id": before.state["id"]})


async def flow_with_a_crew() -> object:
    return await OfCrews().kickoff_async()


async def crew_with_checkpoints() -> object:
    return (await answers(checkpoint=True).akickoff()).raw


async def flow_with_checkpoints() -> object:
    return await Persisted(checkpoint=True).akickoff()


async def flow_with_a_file_of_states() -> object:
    states = await asyncio.to_thread(SQLiteFlowPersistence, "states.db")
    before = Persisted(persistence=states)
    await before.akickoff()
    again = Persisted(persistence=states)
    return await again.akickoff(inputs={"id": before.state["id"]})


async def stream_of_a_flow() -> object:
    items: list[Any] = [item async for item in OfCrews().astream()]
    return items[-1].result


async def memory() -> object:
    one = Memory(llm=ScriptedLLM(lambda _: "{}"))
    await one.aremember("Rain falls on the plain.", scope="/weather", categories=["rain"], importance=0.5)
    found = await one.arecall("rain")
    await one.aforget()
    return "done" if found else "nothing"


async def knowledge() -> object:
    one = Knowledge(collection_name="weather", sources=[rain()])
    await one.aadd_sources()
    return "done" if await one.aquery(["rain"]) else "nothing"


async def compiled() -> object:
    graph, config = answers().compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "one"}}
    await graph.ainvoke({}, config)  # pyright: ignore[reportArgumentType]
    parts = [part async for part in graph.astream({}, {"configurable": {"thread_id": "two"}})]
    state = await graph.aget_state(config)  # pyright: ignore[reportArgumentType]
    return state.values["one"]["raw"] if parts else "nothing"


async def compiled_with_everything() -> object:
    graph = answers(memory=True, knowledge_sources=[rain()], output_log_file="log.json").compile()
    return (await graph.ainvoke({}))["one"]["raw"]


async def compiled_flow() -> object:
    graph = Persisted().compile()
    await graph.ainvoke({}, {"configurable": {"thread_id": "one"}})
    return "done"


ENTRIES: list[Entry] = [
    kickoff, kickoff_async, kickoff_in_steps, kickoff_for_each, stream, resume, replay, test_round, list_of_runs,
    memory_and_knowledge, knowledge_of_an_agent, log_file, output_file, console, lone_agent, flow,
    flow_that_continues, flow_with_a_crew, crew_with_checkpoints, flow_with_checkpoints,
    flow_with_a_file_of_states, stream_of_a_flow, memory, knowledge, compiled, compiled_with_everything,
    compiled_flow,
]  # fmt: skip
test_round.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
def test_an_async_entry_does_not_block_its_loop(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    answers().kickoff(checkpointer=False)  # imports what runs need, as a server does when it loads a graph

    async def guarded() -> object:
        with no_blocking_calls():
            return await entry()

    assert asyncio.run(guarded()) == "done"


class Unreachable(InMemoryStore):
    """A store whose every request fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__(index={"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]})
        self.error = error

    def batch(self, ops: Any) -> Any:
        if any(not isinstance(op, PutOp) for op in ops):
            raise self.error
        return super().batch(ops)

    async def abatch(self, ops: Any) -> Any:
        return self.batch(ops)


def _kickoff(made: Crew, asynchronous: bool) -> Any:
    return asyncio.run(made.akickoff()) if asynchronous else made.kickoff()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_memory_that_is_down_is_done_without_and_a_faulty_one_ends_the_run(asynchronous: bool):
    down = answers(memory=Memory(llm=ScriptedLLM(lambda _: "{}"), storage=Unreachable(ConnectionError("no route"))))
    with pytest.warns(MemoryFailed, match="no route"):
        assert _kickoff(down, asynchronous).raw == "done"
    faulty = answers(memory=Memory(llm=ScriptedLLM(lambda _: "{}"), storage=Unreachable(TypeError("a bug"))))
    with pytest.raises(RuntimeError, match="a bug"):
        _kickoff(faulty, asynchronous)
