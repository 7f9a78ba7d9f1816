"""Runs one crew for many inputs, each in its own run; a failed run does not lose the others."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from crewgraph.compiler.agent.knowledge import load_knowledge_once
from crewgraph.compiler.agent.models import isolated_tool_cache
from crewgraph.core.cancellation import giving_up
from crewgraph.core.loops.bridge import acall
from crewgraph.core.loops.threads import ThreadPool, interrupt_in
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.run_options import DEFAULT_OPTIONS, Inputs, RunOptions
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.llm.usage import total
from crewgraph.observe.progress import ProgressLine, progress
from crewgraph.overrides import override_of
from crewgraph.runtime.crew.kickoff import kickoff_program
from crewgraph.runtime.execution import arun_interruptibly, run_interruptibly
from crewgraph.runtime.runs.storage import thread_in_flow

_Outcome = CrewOutput | BaseException


def kickoff_for_each(
    crew: CrewDefinition,
    inputs: Sequence[Inputs],
    options: RunOptions = DEFAULT_OPTIONS,
    *,
    max_concurrency: int | None = None,
) -> list[CrewOutput]:
    """Run a crew for each of several inputs; see `Crew.kickoff_for_each`."""
    items = _items(inputs, max_concurrency)
    shown = _progress(crew, items)

    def run_item(item: "_Item") -> _Outcome:
        try:
            with isolated_tool_cache(crew):
                own = override_of(crew, "kickoff")
                if own is not None:
                    return own(inputs=item.inputs)
                return run_interruptibly(kickoff_program(crew, item.inputs, replace(options, thread_id=item.thread_id)))
        except Exception as error:  # an outcome like any other, until all have ended
            if interrupt_in(error):
                raise
            return error
        finally:
            shown.advance()

    if max_concurrency is None or len(items) < 2:
        with shown, load_knowledge_once():
            return _collect(crew, items, [run_item(item) for item in items])
    pool = ThreadPool(min(max_concurrency, len(items)), "crewgraph-each")
    try:
        with shown, giving_up(), load_knowledge_once():
            started = [pool.submit(run_item, item) for item in items]
            outcomes = [future.result() for future in started]
        return _collect(crew, items, outcomes)
    finally:  # after an interruption, start no further run
        pool.shutdown(cancel_futures=True)


async def akickoff_for_each(
    crew: CrewDefinition,
    inputs: Sequence[Inputs],
    options: RunOptions = DEFAULT_OPTIONS,
    *,
    max_concurrency: int | None = None,
) -> list[CrewOutput]:
    """Run a crew for each of several inputs at once; see `Crew.akickoff_for_each`."""
    items = _items(inputs, max_concurrency)
    gate, shown = asyncio.Semaphore(max_concurrency or len(items) or 1), _progress(crew, items)

    async def run_item(item: "_Item") -> CrewOutput:
        try:
            return await run_in_turn(item)
        finally:
            shown.advance()

    async def run_in_turn(item: "_Item") -> CrewOutput:
        async with gate:
            with isolated_tool_cache(crew):  # for this item alone: `gather` gives each its own context
                own = override_of(crew, "kickoff_async") or override_of(crew, "akickoff")
                if own is not None:
                    return await own(inputs=item.inputs)
                if (own := override_of(crew, "kickoff")) is not None:
                    return await acall(own, item.inputs)
                program = kickoff_program(crew, item.inputs, replace(options, thread_id=item.thread_id))
                return await arun_interruptibly(program)

    with shown, load_knowledge_once():
        outcomes = await asyncio.gather(*(run_item(item) for item in items), return_exceptions=True)
    return _collect(crew, items, outcomes)


class _Item:
    """One of the inputs, and the thread of its run."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.thread_id = inputs, thread_in_flow() or str(uuid4())


def _items(inputs: object, max_concurrency: int | None) -> list[_Item]:
    if isinstance(inputs, (str, bytes, Mapping)) or not isinstance(inputs, Sequence):
        raise TypeError(f'`inputs` is {inputs!r:.80}; pass a list of dicts, one for each run: [{{"topic": "rain"}}]')
    entries = cast(Sequence[Any], inputs)
    for index, item in enumerate(entries):
        if not isinstance(item, Mapping):
            raise TypeError(f'`inputs[{index}]` is {item!r:.80}; pass a dict of names and values: {{"topic": "rain"}}')
    if max_concurrency is not None and max_concurrency < 1:
        raise ValueError(
            f"`max_concurrency` is {max_concurrency}; it is the maximum number of concurrent runs, at least 1"
        )
    return [_Item(item) for item in entries]


def _progress(crew: CrewDefinition, items: Sequence[_Item]) -> ProgressLine:
    """Return the progress line of the runs; hidden if the crew is verbose."""
    return progress(f"Crew {crew.name}", len(items), "runs", shown=not (crew.verbose or crew.live_view))


def _collect(crew: CrewDefinition, items: Sequence[_Item], outcomes: Sequence[_Outcome]) -> list[CrewOutput]:
    """Return the outputs in order, or raise the first failure, which carries the available ones."""
    failures = {index: outcome for index, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)}
    outputs = [None if isinstance(outcome, BaseException) else outcome for outcome in outcomes]
    finished = [output for output in outputs if output is not None]
    # An `after_kickoff` function may have replaced it by anything.
    used = total(output.token_usage for output in finished if isinstance(output, CrewOutput))  # pyright: ignore[reportUnnecessaryIsInstance]
    crew.usage_metrics = crew.token_usage = used
    for failure in failures.values():
        if not isinstance(failure, Exception):
            raise failure
    if failures:
        raise _first_failure(failures, outputs, items)
    return finished


def _first_failure(
    failures: Mapping[int, BaseException], outputs: Sequence[CrewOutput | None], items: Sequence[_Item]
) -> BaseException:
    first, *more = failures
    error = failures[first]
    error.add_note(
        f"`inputs[{first}]` failed, thread `{items[first].thread_id}`. {len(outputs) - len(failures)} of {len(outputs)} runs "
        "are finished: `outputs` of this exception holds their outputs, None for each failed run; `failures` says why."
    )
    for index in more:
        error.add_note(f"`inputs[{index}]` failed, too, thread `{items[index].thread_id}`: {failures[index]!r:.300}")
    error.outputs, error.failures = list(outputs), dict(failures)  # pyright: ignore[reportAttributeAccessIssue]
    return error
