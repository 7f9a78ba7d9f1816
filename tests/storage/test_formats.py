"""Data of another format is refused, with what has it and what to do, and left as it is."""

import asyncio
from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.queue.work import Work, would_fail_again
from crewgraph.contrib.serve.records import Records, ThreadRecord
from crewgraph.errors import OtherFormat
from crewgraph.formats import FORMAT, FORMAT_KEY, check_format


def pass_for_older(saver: InMemorySaver) -> None:
    for namespaces in saver.storage.values():
        for checkpoints in namespaces.values():
            for name, (checkpoint, metadata, parent) in checkpoints.items():
                old = {**saver.serde.loads_typed(metadata), FORMAT_KEY: 5}
                checkpoints[name] = (checkpoint, saver.serde.dumps_typed(old), parent)


def test_a_run_in_a_saver_of_langgraph_is_resumed_in_its_format_alone(mode: Mode):
    def fail(output: object) -> None:
        raise ZeroDivisionError

    model = ScriptedLLM(["one"])
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=model)
    task = Task(name="first", description="d", expected_output="e", agent=agent, callback=fail)
    crew, saver = Crew(name="desk", agents=[agent], tasks=[task]), InMemorySaver()
    with pytest.raises(ZeroDivisionError):
        mode.kickoff(crew, thread_id="t", checkpointer=saver)
    assert {saved.metadata.get(FORMAT_KEY) for saved in saver.list(None)} == {FORMAT}
    pass_for_older(saver)
    graph: Any = crew.compile(checkpointer=saver)
    for use in (
        lambda: mode.resume(crew, "t", checkpointer=saver),
        lambda: crew.run_or_resume("t", checkpointer=saver),
        lambda: mode.run(graph.invoke, graph.ainvoke, None, {"configurable": {"thread_id": "t"}}),
    ):
        with pytest.raises(
            OtherFormat, match=rf"The run of thread `t` has format 5, and .* reads format {FORMAT} alone"
        ):
            use()
    assert len(model.requests) == 1


def test_records_of_a_server_in_another_format_are_not_read():
    store = InMemoryStore()
    threads = Records(store).threads
    asyncio.run(threads.put(ThreadRecord(thread_id="t")))
    assert asyncio.run(threads.get("t")) is not None
    (item,) = store.search(("crewgraph",))
    store.put(item.namespace, item.key, {**item.value, FORMAT_KEY: 5})
    for read in (partial(threads.get, "t"), threads.find):
        with pytest.raises(OtherFormat, match="The record t of `threads` has format 5"):
            asyncio.run(read())


def test_a_job_of_another_format_is_a_dead_letter():
    work = Work.read({**Work(thread_id="t").arguments(), "format": 5})
    with pytest.raises(OtherFormat, match="The job has format 5") as caught:
        check_format(work.format, "The job", "")
    assert would_fail_again(caught.value)
