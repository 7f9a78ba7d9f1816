"""Differences between two runs of a crew."""

from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, RunDiff, ScriptedLLM
from crewgraph.errors import RunError

from .parts import agent, crew, task


def three(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(
        *(task(name, worker, description=f"do {name} on {{topic}}") for name in ("one", "two", "three")), **more
    )


def between(mode: Mode, team: Crew, a: Any, b: Any, **options: Any) -> RunDiff:
    return mode.run(lambda: team.diff(a, b, **options), lambda: team.adiff(a, b, **options))


def test_the_same_run_twice_does_not_differ(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"] * 2))
    first, second = (mode.kickoff(team, {"topic": "rain"}) for _ in range(2))
    diff = between(mode, team, first, second)
    assert diff.same and diff.inputs == {} and (diff.a, diff.b) == (first.thread_id, second.thread_id)
    assert [(entry.task, entry.status, entry.differs, entry.tokens) for entry in diff.tasks] == [
        ("one", "same", (), 0),
        ("two", "same", (), 0),
        ("three", "same", (), 0),
    ]
    assert all(entry.seconds_a and entry.seconds_b and abs(entry.seconds or 0) < 60 for entry in diff.tasks)


def test_diff_lists_the_differences_by_task(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c", "another b", "c"]))
    first = mode.kickoff(team, {"topic": "rain"}, thread_id="first")
    mode.run(
        lambda: team.fork("two", inputs={"topic": "snow"}, new_thread_id="second"),
        lambda: team.afork("two", inputs={"topic": "snow"}, new_thread_id="second"),
    )
    diff = between(mode, team, "first", "second")
    assert not diff.same and diff.inputs == {"topic": ("rain", "snow")}
    one, two, three_ = diff.tasks
    assert (one.status, one.differs, one.seconds_b, one.seconds) == ("same", ("usage",), None, None)
    assert (two.status, two.differs) == ("changed", ("output", "description", "usage"))
    assert (three_.status, three_.differs[0]) == ("same", "description")
    assert one.tokens == -first.tasks_output[0].usage.total_tokens
    assert two.a is not None and two.b is not None and (two.a.raw, two.b.raw) == ("b", "another b")
    lines = str(diff).splitlines()
    assert lines[:2] == ["first -> second", "input topic: 'rain' -> 'snow'"]
    assert lines[2].startswith("one: same (-") and lines[3].startswith("two: changed")
    assert lines[4:6] == ["  - b", "  + another b"]


def test_values_other_than_runs_are_refused(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"]))
    result = mode.kickoff(team, {"topic": "rain"})
    with pytest.raises(RunError, match=r"no run of thread `nowhere`"):
        between(mode, team, result, "nowhere")
    for wrong in (None, "", 1.5, True, team):
        with pytest.raises(TypeError, match=r"is not a run; pass its `thread_id` or its `CrewOutput`"):
            between(mode, team, wrong, result)
