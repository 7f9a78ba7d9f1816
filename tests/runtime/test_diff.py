"""Two runs of a crew beside each other."""

from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import Crew, RunDiff, ScriptedLLM
from crewgraph.errors import RunError

from .parts import agent, crew, task


class Town(BaseModel):
    name: str
    people: int


def three(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(
        *(task(name, worker, description=f"do {name} on {{topic}}") for name in ("one", "two", "three")), **more
    )


def between(mode: Mode, made: Crew, a: Any, b: Any, **options: Any) -> RunDiff:
    return mode.run(lambda: made.diff(a, b, **options), lambda: made.adiff(a, b, **options))


def test_the_same_run_twice_does_not_differ(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c"] * 2))
    first, second = (mode.kickoff(made, {"topic": "rain"}) for _ in range(2))
    found = between(mode, made, first, second)
    assert found.same and found.inputs == {} and (found.a, found.b) == (first.thread_id, second.thread_id)
    assert [(one.task, one.status, one.differs, one.tokens) for one in found.tasks] == [
        ("one", "same", (), 0),
        ("two", "same", (), 0),
        ("three", "same", (), 0),
    ]
    assert all(one.seconds_a and one.seconds_b and abs(one.seconds or 0) < 60 for one in found.tasks)


def test_what_differs_is_told_task_by_task(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c", "another b", "c"]))
    first = mode.kickoff(made, {"topic": "rain"}, thread_id="first")
    mode.run(
        lambda: made.fork("two", inputs={"topic": "snow"}, new_thread_id="second"),
        lambda: made.afork("two", inputs={"topic": "snow"}, new_thread_id="second"),
    )
    found = between(mode, made, "first", "second")
    assert not found.same and found.inputs == {"topic": ("rain", "snow")}
    one, two, three_ = found.tasks
    assert (one.status, one.differs, one.seconds_b, one.seconds) == ("same", ("usage",), None, None)
    assert (two.status, two.differs) == ("changed", ("output", "description", "usage"))
    assert (three_.status, three_.differs[0]) == ("same", "description")
    assert one.tokens == -first.tasks_output[0].usage.total_tokens
    assert two.a is not None and two.b is not None and (two.a.raw, two.b.raw) == ("b", "another b")
    lines = str(found).splitlines()
    assert lines[:2] == ["first -> second", "input topic: 'rain' -> 'snow'"]
    assert lines[2].startswith("one: same (-") and lines[3].startswith("two: changed")
    assert lines[4:6] == ["  - b", "  + another b"]


def test_tasks_of_one_run_alone_are_told(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c", "a", ConnectionError("down")]), name="ours")
    mode.kickoff(made, {"topic": "rain"}, thread_id="whole")
    with pytest.raises(ConnectionError):
        mode.kickoff(made, {"topic": "rain"}, thread_id="part")
    found = between(mode, made, "whole", "part")
    assert [one.status for one in found.tasks] == ["same", "only a", "only a"]
    assert [one.status for one in between(mode, made, "part", "whole").tasks] == ["same", "only b", "only b"]
    assert "three: only a (-" in str(found) and found.tasks[1].differs == ()


def test_another_agent_is_told(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c"] * 2))
    mode.kickoff(made, {"topic": "rain"}, thread_id="first")
    made.tasks[1].agent = agent(made.agents[0].llm, role="somebody else")
    made.agents.append(made.tasks[1].agent)
    mode.kickoff(made, {"topic": "rain"}, thread_id="second")
    found = between(mode, made, "first", "second")
    assert [one.differs for one in found.tasks] == [(), ("agent", "usage"), ()]
    assert "two: same (worker -> somebody else, +" in str(found)


def test_structures_are_compared(mode: Mode):
    worker = agent(ScriptedLLM(['{"name": "Ulm", "people": 7}', '{"people": 7, "name": "Ulm"}']))
    made = crew(task("town", worker, output_pydantic=Town))
    found = between(mode, made, mode.kickoff(made), mode.kickoff(made))
    assert found.tasks[0].a is not None and found.tasks[0].a.pydantic == Town(name="Ulm", people=7)
    assert found.tasks[0].status == "changed"  # by its text


def test_outputs_of_runs_that_are_kept_nowhere_are_compared(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c", "a", "x", "c"]))
    first, second = (mode.kickoff(made, {"topic": "rain"}, checkpointer=False) for _ in range(2))
    found = between(mode, made, first, second, checkpointer=False)
    assert [one.status for one in found.tasks] == ["same", "changed", "same"]
    assert found.a is found.b is None and found.tasks[0].seconds is None


def test_what_is_no_run_is_refused(mode: Mode):
    made = three(ScriptedLLM(["a", "b", "c"]))
    result = mode.kickoff(made, {"topic": "rain"})
    with pytest.raises(RunError, match=r"no run of thread `nowhere`"):
        between(mode, made, result, "nowhere")
    for wrong in (None, "", 1.5, True, made):
        with pytest.raises(TypeError, match=r"is not a run; give its `thread_id` or its `CrewOutput`"):
            between(mode, made, wrong, result)
