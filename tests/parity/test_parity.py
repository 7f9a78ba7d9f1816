"""Programs written for CrewAI do on crewgraph what they were recorded to do on CrewAI; known differences are in
`differences.toml`.

Twenty of the programs, chosen for being unlike; `make parity` runs all of them, on CrewAI too.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from parity.compare import ASPECTS, alike, follows, known, recording, relation, whole
from parity.run_program import CREWGRAPH, trace_program

SAMPLE = (
    "async_tasks",
    "bad_crew",
    "callbacks",
    "conditional_skipped",
    "custom_llm_with_tool",
    "flow_crew_in_loop",
    "guardrail_exhausted",
    "guardrails_several",
    "json_output_file",
    "kickoff_for_each",
    "max_iter",
    "model_error_400",
    "placeholders",
    "project",
    "pydantic_output_prose",
    "research_report",
    "several_kickoffs",
    "text_protocol_where_native",
    "tool_fails",
    "tool_result_as_answer",
)

Traces = dict[str, Future[dict[str, Any]]]


@pytest.fixture(scope="module")
def traces() -> Iterator[Traces]:
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(trace_program, name, CREWGRAPH) for name in SAMPLE}


def cases() -> Iterator[Any]:
    for program in SAMPLE:
        for aspect in ["*"] if whole(program) else ASPECTS:
            difference = whole(program) or known(program, aspect)
            mends = difference is not None and difference.is_fault
            marks = [pytest.mark.xfail(strict=True, reason=difference.reason)] if difference and mends else []
            yield pytest.param(program, aspect, marks=marks, id=f"{program}-{aspect}")


@pytest.mark.parametrize(("program", "aspect"), list(cases()))
def test_a_program_does_what_it_does_on_crewai(traces: Traces, program: str, aspect: str):
    ours, theirs, difference = traces[program].result(), recording(program), known(program, aspect)
    for one in ASPECTS if aspect == "*" else [aspect]:
        found = relation(ours, theirs, one)
        if difference is None or difference.is_fault:
            assert follows(found), ours
        elif difference.relation == "better":
            assert not follows(found), "no longer different: take it out of differences.toml"
            assert alike(ours, {**ours, **theirs["crewgraph"]}, one), ours
        else:
            assert found == difference.relation, ours
