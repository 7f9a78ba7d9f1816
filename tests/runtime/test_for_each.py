"""`kickoff_for_each`: a separate run for each input; a failed run does not lose the others."""

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from waiting import LONG

from crewgraph import Crew, CrewOutput, ScriptedLLM
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import agent, by_prompt, crew, task


def for_each(mode: Mode, made: Crew, inputs: Any, **options: Any) -> list[CrewOutput]:
    options["granularity"] = mode.granularity
    if mode.asynchronous:
        return asyncio.run(made.kickoff_for_each_async(inputs, **options))
    return made.kickoff_for_each(inputs, **options)


def echo(**more: Any) -> Crew:
    """Its first task says `x`, its second one "done"."""
    worker = agent(ScriptedLLM(by_prompt, usage={"prompt_tokens": 3, "completion_tokens": 1}))
    first = task("first", worker, description="say {x}")
    return crew(first, task("second", worker, description="say done"), **more)


def failing(messages: Sequence[dict[str, Any]]) -> str:
    said = by_prompt(messages)
    if said.startswith("boom"):
        raise ConnectionError(said)
    return said


def fails(**more: Any) -> Crew:
    return crew(task("only", agent(ScriptedLLM(failing)), description="say {x}"), **more)


def test_outputs_come_in_the_order_of_the_inputs_and_definitions_stay(mode: Mode):
    made = echo()
    outputs = for_each(mode, made, [{"x": "one"}, {"x": "two"}, {"x": "three"}])
    assert [output.tasks_output[0].raw for output in outputs] == ["one", "two", "three"]
    assert made.tasks[0].template("description") == "say {x}"
    assert made.kickoff({"x": "four"}).tasks_output[0].raw == "four"


def test_a_crew_that_streams_gives_a_stream_for_each():
    streams: Any = echo(stream=True).kickoff_for_each([{"x": "one"}, {"x": "two"}])
    assert ["".join(chunk.content for chunk in stream) for stream in streams] == ["", ""]
    assert [stream.result.tasks_output[0].raw for stream in streams] == ["one", "two"]


def test_a_crew_that_streams_gives_one_stream_on_an_event_loop():
    async def streamed() -> Any:
        stream: Any = await echo(stream=True).kickoff_for_each_async([{"x": "one"}, {"x": "two"}])
        assert [chunk async for chunk in stream] == []
        return stream.results

    assert [output.tasks_output[0].raw for output in asyncio.run(streamed())] == ["one", "two"]


def test_each_is_a_run_of_its_own_thread_that_can_be_resumed(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = echo(checkpointer=saver)
        outputs = for_each(mode, made, [{"x": "one"}, {"x": "two"}])
        threads = [str(output.thread_id) for output in outputs]
        assert len(set(threads)) == 2
        assert mode.resume(made, threads[0]).tasks_output[0].raw == "one"
    kept_nowhere = for_each(mode, echo(), [{"x": "one"}], checkpointer=False)
    assert kept_nowhere[0].thread_id is None


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, r"`inputs` is None; pass a list of dicts"),
        ({"x": "one"}, r"`inputs` is \{'x': 'one'\}; pass a list of dicts"),
        ("ab", r"`inputs` is 'ab'; pass a list of dicts"),
        (5, r"`inputs` is 5; pass a list"),
        ([{"x": "one"}, "two"], r"`inputs\[1\]` is 'two'; pass a dict"),
        ([None], r"`inputs\[0\]` is None; pass a dict"),
        ([{1: "one"}], "`inputs` has the key 1; names of inputs are texts"),
    ],
)
def test_what_is_no_list_of_dicts_is_refused(mode: Mode, inputs: Any, message: str):
    with pytest.raises(TypeError, match=message):
        for_each(mode, echo(), inputs)


@pytest.mark.parametrize("together", [None, 2])
def test_one_that_fails_costs_no_other_and_the_error_carries_what_is_finished(
    mode: Mode, tmp_path: Path, together: int | None
):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = fails(checkpointer=saver)
        inputs = [{"x": "one"}, {"x": "boom a"}, {"x": "three"}, {"x": "boom b"}]
        with pytest.raises(ConnectionError, match="boom a") as raised:
            for_each(mode, made, inputs, max_concurrency=together)
        error: Any = raised.value
        outputs: list[CrewOutput | None] = error.outputs
        failures: dict[int, Exception] = error.failures
        assert [output and output.raw for output in outputs] == ["one", None, "three", None]
        assert {n: str(failure) for n, failure in failures.items()} == {1: "boom a", 3: "boom b"}
        assert made.usage_metrics is not None and made.usage_metrics.successful_requests == 2
        notes = " ".join(raised.value.__notes__)
        assert "`inputs[1]` failed, thread `" in notes and "2 of 4 runs are finished" in notes
        assert "`inputs[3]` failed, too, thread `" in notes
        thread = notes.partition("`inputs[1]` failed, thread `")[2].partition("`")[0]
        made.tasks[0].agent = agent(ScriptedLLM(["mended"]))
        assert mode.resume(made, thread).raw == "mended"


class Crowd:
    """A model that answers once so many ask it at the same time, and knows how many did at the most."""

    def __init__(self, required: int) -> None:
        self.required, self.now, self.most = required, 0, 0
        self._changed = threading.Condition()

    def __call__(self, messages: Any) -> str:
        with self._changed:
            self.now += 1
            self.most = max(self.most, self.now)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self.required, timeout=LONG)
        time.sleep(0.02)  # one too many would come now
        with self._changed:
            self.now -= 1
        return "done"


@pytest.mark.parametrize(("together", "sync", "beside"), [(None, 1, 9), (1, 1, 1), (3, 3, 3), (50, 9, 9)])
def test_so_many_runs_are_under_way_at_a_time(mode: Mode, together: int | None, sync: int, beside: int):
    crowd = Crowd(beside if mode.asynchronous else sync)
    made = crew(task("only", agent(ScriptedLLM(crowd)), description="say {x}"), checkpointer=False)
    for_each(mode, made, [{"x": n} for n in range(9)], max_concurrency=together)
    assert crowd.most == crowd.required


def test_a_cancelled_batch_ends_at_once():
    crowd = Crowd(1)
    made = crew(task("only", agent(ScriptedLLM(crowd)), description="say {x}"), checkpointer=False)

    async def given_up() -> None:
        batch = asyncio.ensure_future(made.akickoff_for_each([{"x": n} for n in range(100)], max_concurrency=1))
        await asyncio.sleep(0.05)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch

    asyncio.run(given_up())
