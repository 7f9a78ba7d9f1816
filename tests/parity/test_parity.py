"""Programs written for CrewAI do on crewgraph what they were recorded to do on CrewAI; known differences are in
`differences.toml`.

Twenty of the programs, chosen for being unlike; `make parity` plays all of them, on CrewAI too.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from parity.compare import ASPECTS, NEW, alike, known, recording, relation
from parity.play import CREWGRAPH, play

SAMPLE = ("guardrail_retry", "tool_function", "two_tasks")

Plays = dict[str, Future[dict[str, Any]]]


@pytest.fixture(scope="module")
def plays() -> Iterator[Plays]:
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(play, name, CREWGRAPH) for name in SAMPLE}


def cases() -> Iterator[Any]:
    for program in SAMPLE:
        for aspect in ASPECTS:
            difference = known(program, aspect)
            mends = difference is not None and difference.relation in ("bug", "missing")
            marks = [pytest.mark.xfail(strict=True, reason=difference.reason)] if difference and mends else []
            yield pytest.param(program, aspect, marks=marks, id=f"{program}-{aspect}")


@pytest.mark.parametrize(("program", "aspect"), list(cases()))
def test_a_program_does_what_it_does_on_crewai(plays: Plays, program: str, aspect: str):
    ours, theirs, difference = plays[program].result(), recording(program), known(program, aspect)
    found = relation(ours, theirs, aspect)
    if difference is None or difference.relation in ("bug", "missing"):
        assert found in ("both", NEW), ours
    elif difference.relation == "better":
        assert found not in ("both", NEW), "no longer different: take it out of differences.toml"
        assert alike(ours, {**ours, **theirs["crewgraph"]}, aspect), ours
    else:
        assert found == difference.relation, ours
