"""Forks: new runs of a crew that start at an earlier point of a run."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel
from servers.postgres import Postgres
from waiting import stored_channels, wait_until_async

from crewgraph import ConditionalTask, Crew, CrewOutput, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.errors import DefinitionError, RunError, UnknownTask
from crewgraph.tools import tool

from .parts import agent, asked, crew, task


class Town(BaseModel):
    name: str
    people: int


def counting() -> ScriptedLLM:
    """Answers with the number of the request."""
    llm = ScriptedLLM(lambda messages: f"answer {len(llm.requests)}")
    return llm


def three(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(
        *(task(name, worker, description=f"do {name} on {{topic}}") for name in ("one", "two", "three")), **more
    )


def forked(mode: Mode, team: Crew, *args: Any, **options: Any) -> CrewOutput:
    return mode.run(lambda: team.fork(*args, **options), lambda: team.afork(*args, **options))


def raws(result: CrewOutput) -> list[str]:
    return [output.raw for output in result.tasks_output]


def test_fork_continues_from_an_override_and_leaves_the_source_run_unchanged(mode: Mode):
    llm = counting()
    team = three(llm)
    first = mode.kickoff(team, {"topic": "rain"})
    before = team.history(first.thread_id)
    other = forked(mode, team, "two", {"one": "quite another"})
    assert raws(other) == ["quite another", "answer 4", "answer 5"]
    assert "quite another" in asked(llm)[3] and "answer 1" not in asked(llm)[3] + asked(llm)[4]
    assert team.history(first.thread_id) == before
    assert other.thread_id != first.thread_id
    steps = team.history(other.thread_id)
    assert [(step.tasks, step.forked_from) for step in steps] == [
        (("one",), first.thread_id),
        (("two",), None),
        (("three",), None),
    ]


def test_override_of_the_forked_task_replaces_its_work(mode: Mode):
    llm = counting()
    team = three(llm)
    mode.kickoff(team, {"topic": "rain"})
    assert raws(forked(mode, team, "one", {"one": "given", "two": "too"})) == ["given", "too", "answer 4"]
    assert raws(forked(mode, team, "three", {"three": "the end"}))[-1] == "the end"
    assert len(llm.requests) == 4


def test_other_inputs_fill_the_texts_of_repeated_tasks(mode: Mode):
    llm = counting()
    team = three(llm)
    mode.kickoff(team, {"topic": "rain", "place": "Ulm"})
    other = forked(mode, team, "two", inputs={"topic": "snow"})
    assert [output.description for output in other.tasks_output] == [
        "do one on rain",
        "do two on snow",
        "do three on snow",
    ]
    assert team.inputs == {"topic": "snow", "place": "Ulm"}
    assert team.history()[0].inputs == {"topic": "snow", "place": "Ulm"}


def test_what_a_fork_costs_is_what_it_did_itself(mode: Mode):
    team = three(counting())
    first = mode.kickoff(team, {"topic": "rain"})
    other = forked(mode, team, "three")
    assert other.token_usage.successful_requests == 1 and first.token_usage.successful_requests == 3
    assert [output.usage.successful_requests for output in other.tasks_output] == [0, 0, 1]


def test_tools_of_earlier_tasks_are_not_used_again_and_those_behind_are(mode: Mode):
    used: list[str] = []

    @tool
    def look(what: str) -> str:
        """Look at something."""
        used.append(what)
        return what

    script = [ToolUse("look", {"what": "one"}), "a", ToolUse("look", {"what": "two"}), "b"]
    worker = agent(ScriptedLLM([*script, *script[2:]]), tools=[look], cache=False)
    team = crew(task("first", worker), task("second", worker))
    mode.kickoff(team)
    forked(mode, team, "second")
    assert used == ["one", "two", "two"]


def parallel_tasks(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    names = ("first", "a", "b", "c", "last")
    return crew(*(task(name, worker, async_execution=name in "abc") for name in names), **more)


def by_name(counts: dict[str, int]) -> ScriptedLLM:
    """Answers with the task's name and how often it was done."""

    def answer(messages: Any) -> str:
        name = str(messages[-1]["content"]).partition("do ")[2].split()[0]
        counts[name] = counts.get(name, 0) + 1
        return f"{name}{counts[name]}"

    return ScriptedLLM(answer)


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("a", "first1 a2 b2 c2 last2"), ("b", "first1 a1 b2 c2 last2"), ("c", "first1 a1 b1 c2 last2"),
        ("last", "first1 a1 b1 c1 last2"),
    ],
)  # fmt: skip
def test_asynchronous_tasks_before_the_point_keep_their_outputs(mode: Mode, point: str, expected: str):
    team = parallel_tasks(by_name({}))
    mode.kickoff(team)
    assert raws(forked(mode, team, point)) == expected.split()


def test_asynchronous_task_completed_in_parallel_to_a_failed_one_keeps_its_output(mode: Mode):
    counts: dict[str, int] = {}
    llm = by_name(counts)

    @tool
    async def wait() -> str:
        """Wait until the other one is done."""
        await wait_until_async(lambda: "a" in stored_channels(saver, "t"))
        return "waited"

    failing = ScriptedLLM([ToolUse("wait", {}), ConnectionError("down"), "b at last"])
    worker, broken = agent(llm), agent(failing, role="other", tools=[wait])
    saver = InMemorySaver()
    tasks = task("a", worker, async_execution=True), task("b", broken, async_execution=True), task("last", worker)
    team = crew(*tasks, checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    assert raws(forked(mode, team, "b")) == ["a1", "b at last", "last1"]


def perhaps(llm: ScriptedLLM, judged: list[str], *, together: bool = False) -> Crew:
    worker = agent(llm)

    def long(output: TaskOutput) -> bool:
        judged.append(output.raw)
        return "long" in output.raw

    return crew(
        task("first", worker, async_execution=together),
        task("second", worker, async_execution=together),
        ConditionalTask(name="shorten", description="do shorten", expected_output="e", agent=worker, condition=long),
        task("last", worker),
    )


@pytest.mark.parametrize("together", [False, True])
def test_the_condition_of_a_task_behind_the_point_judges_the_other_output(mode: Mode, together: bool):
    judged: list[str] = []
    team = perhaps(by_name({}), judged, together=together)
    assert raws(mode.kickoff(team)) == ["first1", "second1", "", "last1"]
    assert raws(forked(mode, team, "shorten", {"second": "long"})) == ["first1", "long", "shorten1", "last2"]
    assert judged == ["second1", "long"]


def test_outputs_are_texts_objects_and_fields(mode: Mode):
    worker = agent(ScriptedLLM(['{"name": "Ulm", "people": 7}', "b", "c", *"defgh"]))
    team = crew(task("town", worker, output_pydantic=Town), task("last", worker))
    mode.kickoff(team, thread_id="t")
    overrides: list[Any] = [
        '{"name": "Bonn", "people": 8}',
        {"name": "Bonn", "people": 8},
        {"raw": '{"name": "Bonn", "people": 8}', "agent": "a person"},
        Town(name="Bonn", people=8).model_dump_json(),
        TaskOutput(description="d", agent="x", raw="Bonn", pydantic=Town(name="Bonn", people=8)),
    ]
    outputs = [forked(mode, team, "last", {"town": override}, thread_id="t").tasks_output[0] for override in overrides]
    assert [output.pydantic for output in outputs] == [Town(name="Bonn", people=8)] * 5
    assert [output.agent for output in outputs] == ["worker", "worker", "a person", "worker", "x"]
    assert [output.name for output in outputs[:4]] == ["town"] * 4


def test_a_task_that_was_never_done_may_be_given(mode: Mode):
    team = three(ScriptedLLM(["a", ConnectionError("down"), "c"]))
    with pytest.raises(ConnectionError):
        mode.kickoff(team, {"topic": "rain"})
    other = forked(mode, team, "two", {"two": "by hand"})
    assert raws(other) == ["a", "by hand", "c"]
    assert other.tasks_output[1].description == "do two on rain" and other.tasks_output[1].agent == "worker"


def test_fork_runs_the_changed_later_tasks_of_the_crew(mode: Mode):
    llm = counting()
    team = three(llm, name="ours")
    mode.kickoff(team, {"topic": "rain"})
    worker = team.agents[0]
    changed = Crew(agents=[worker], tasks=[*team.tasks[:2], task("four", worker), task("five", worker)], name="ours")
    assert raws(forked(mode, changed, "four")) == ["answer 1", "answer 2", "answer 4", "answer 5"]


IN_POSTGRES = {"b": "a1 b2 shorten2 last2", "shorten": "a1 b1 shorten2 last2", "last": "a1 b1 shorten1 last2"}


def in_postgres(name: str) -> Crew:
    worker = agent(by_name({}))
    return crew(
        task("a", worker, async_execution=True),
        task("b", worker, async_execution=True),
        ConditionalTask(name="shorten", description="do shorten", expected_output="e", agent=worker, condition=bool),
        task("last", worker),
        name=name,
    )


@pytest.mark.parametrize("point", list(IN_POSTGRES))
def test_forks_in_postgres(postgres: "Postgres", point: str):
    from langgraph.checkpoint.postgres import PostgresSaver

    team = in_postgres(f"sync {point}")
    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        team.kickoff(checkpointer=saver)
        assert raws(team.fork(point, checkpointer=saver)) == IN_POSTGRES[point].split()
        steps = team.history(checkpointer=saver)
    assert list(steps[-1].outputs) == ["a", "b", "shorten", "last"] and steps[0].forked_from is not None


def test_failed_fork_can_be_resumed(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c", "d", ConnectionError("down"), "e"]))
    mode.kickoff(team, {"topic": "rain"})
    with pytest.raises(ConnectionError):
        forked(mode, team, "two", {"one": "other"}, new_thread_id="fork")
    assert [(run.thread_id, run.status, run.last) for run in team.runs(limit=1)] == [("fork", "failed", "two")]
    assert raws(mode.resume(team, "fork")) == ["other", "d", "e"]


def refused(mode: Mode, team: Crew, *args: Any, kind: type[Exception] = RunError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        forked(mode, team, *args, **options)
    return str(caught.value)


def test_bad_points_are_refused(mode: Mode):
    llm = counting()
    team = three(llm)
    assert "no run of crew `crew` is stored" in refused(mode, team, "two")
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    mode.kickoff(team, {"topic": "rain"}, thread_id="u")
    step = team.history("t")[1]
    assert "step 1 belongs to thread `t`, not to `u`" in refused(mode, team, step, thread_id="u")
    assert "thread `u` already holds a run" in refused(mode, team, "two", new_thread_id="u")
    assert "no run of thread `x`" in refused(mode, team, "two", thread_id="x")
    for bad in ("", "  ", "four", 3, -1, task("one", team.agents[0])):
        assert "0. one  id" in refused(mode, team, bad, kind=UnknownTask)
    for wrong in (None, 1.5, True, ["one"]):
        assert "does not name a task" in refused(mode, team, wrong, kind=TypeError)
    assert len(llm.requests) == 6 and len(team.runs()) == 2


def test_bad_outputs_are_refused(mode: Mode):
    llm = ScriptedLLM(['{"name": "Ulm", "people": 7}', "b", "c"])
    worker = agent(llm)
    team = crew(task("town", worker, output_pydantic=Town), task("two", worker), task("three", worker))
    mode.kickoff(team)
    assert "`four` matches none of the crew's tasks" in refused(mode, team, "two", {"four": "x"}, kind=UnknownTask)
    assert "given for `three`, which runs after `two`" in refused(mode, team, "two", {"three": "x"})
    assert "does not fit `Town`" in refused(mode, team, "two", {"town": "somewhere"}, kind=DefinitionError)
    assert "does not fit `Town`" in refused(mode, team, "two", {"town": {"name": 1}}, kind=DefinitionError)
    assert "the task returns text" in refused(mode, team, "three", {"two": {"a": 1}}, kind=DefinitionError)
    assert "`colour`, which" in refused(mode, team, "three", {"two": {"raw": "a", "colour": 1}}, kind=DefinitionError)
    assert "does not fit" in refused(mode, team, "three", {"two": {"raw": 7}}, kind=DefinitionError)
    for wrong in (7, None, ["x"]):
        assert "pass a string, a dict or a `TaskOutput`" in refused(mode, team, "three", {"two": wrong}, kind=TypeError)
    assert "pass a dict from task names to outputs" in refused(mode, team, "three", "two", kind=TypeError)
    assert "several outputs" in refused(mode, team, "three", {"two": "x", 1: "y"})
    assert "pass a dict of names and values" in refused(mode, team, "three", inputs="x", kind=TypeError)
    assert len(llm.requests) == 3 and len(team.runs()) == 1


def test_run_that_did_not_reach_the_point_is_refused(mode: Mode):
    team = three(ScriptedLLM(["a", ConnectionError("down"), *"bcde"]))
    with pytest.raises(ConnectionError):
        mode.kickoff(team, {"topic": "rain"})
    assert "has no output of `two`, which comes before that point. Tasks done: `one`" in refused(mode, team, "three")
    assert raws(forked(mode, team, "two")) == ["a", "b", "c"]


def test_run_with_other_tasks_is_refused(mode: Mode):
    team = three(counting(), name="ours")
    mode.kickoff(team, {"topic": "rain"})
    step = team.history()[2]
    worker = team.agents[0]
    changed = crew(task("zero", worker), *team.tasks, name="ours")
    assert "has no output of `zero`" in refused(mode, changed, "three")
    assert "the crew's tasks are now `zero`, `one`, `two`, `three`" in refused(mode, changed, step)
