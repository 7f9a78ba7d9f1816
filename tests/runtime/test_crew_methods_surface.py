"""Every method and property of `Crew` that programs may use: each works here, or is listed with a reason.

The names are those of CrewAI 1.2.1 and 1.15.30, and of the specification.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, CheckpointConfig, Crew, ScriptedLLM, Task, TaskOutput, UsageMetrics
from crewgraph.contrib.snapshots import RuntimeState

from .parts import agent, crew, task
from .sample_run import Forgets, SampleRun

METHOD_NAMES = """
akickoff akickoff_for_each aquery_knowledge calculate_usage_metrics check_config check_config_type check_manager_llm copy
create_crew_knowledge create_crew_memory fetch_inputs fork from_checkpoint kickoff kickoff_async kickoff_for_each
kickoff_for_each_async model_post_init query_knowledge replay reset_knowledge reset_memories set_private_attrs test train
validate_async_task_cannot_include_sequential_async_tasks_in_context validate_async_tasks_not_async
validate_context_no_future_tasks validate_end_with_at_most_one_async_task validate_first_task
validate_must_have_non_conditional_task validate_tasks
fingerprint key
"""
NAMES = set(METHOD_NAMES.split())

_RULE = "a rule that pydantic applies when the crew is made, not a method; what it checks is checked here, too"
NOT_HERE: dict[str, str] = {
    **{name: _RULE for name in NAMES if name.startswith(("check_", "validate_"))},
    "set_private_attrs": _RULE,
    "model_post_init": "a part of pydantic",
}

Row = Callable[[SampleRun], Any]


def _for_each(sample: SampleRun) -> bool:
    pairs = (Crew.kickoff_for_each, Crew.kickoff_for_each_async), (Crew.kickoff_for_each, Crew.akickoff_for_each)
    for sync, asynchronous in pairs:
        made = sample.one("one", "two")
        # The runs of the async method run in parallel.
        outputs = sample.mode.run(sync, asynchronous, made, [{"place": "Bonn"}, {"place": "Kiel"}])
        assert sorted(one.raw for one in outputs) == ["one", "two"]
        assert made.calculate_usage_metrics().successful_requests == 2
    return True


def _kicked_off(sample: SampleRun) -> bool:
    ways = (Crew.kickoff, Crew.kickoff_async), (Crew.kickoff, Crew.akickoff)
    return [sample.mode.run(*way, sample.one("x")).raw for way in ways] == ["x", "x"]


def _again(sample: SampleRun) -> bool:
    worker = agent(ScriptedLLM(["a", "b", "B", "c"]))
    made = crew(task("first", worker), task("second", worker))
    sample.mode.kickoff(made)
    replayed = sample.mode.run(made.replay, made.areplay, str(made.tasks[1].id))
    forked = sample.mode.run(made.fork, made.afork, "second", {"first": "other"})
    raws = [[one.raw for one in output.tasks_output] for output in (replayed, forked)]
    return raws == [["a", "B"], ["other", "c"]]


def _trained(sample: SampleRun) -> bool:
    in_training: list[bool] = []

    def say(output: TaskOutput) -> str:
        in_training.append(made.training)
        return "shorter"

    lesson = json.dumps({"suggestions": ["BE SHORT"], "quality": 7, "final_summary": "s"})
    made = sample.one("long", "short", lesson)
    sample.mode.run(lambda: made.train(1, "x.pkl", feedback=say), lambda: made.atrain(1, "x.pkl", feedback=say))
    taught: Any = made.training_data["worker"]
    assert taught["suggestions"] == ["BE SHORT"]
    assert in_training == [True] and made.training is False
    return "BE SHORT" in sample.prompt(trained_agents_file="x.json")


def _tested(sample: SampleRun) -> bool:
    judge = ScriptedLLM([json.dumps({"quality": 8, "reasons": "good"})])
    made = sample.one("x")
    return sample.mode.run(lambda: made.test(1, judge), lambda: made.atest(1, judge)).average == 8


def _forgot(sample: SampleRun) -> bool:
    memory = Forgets()
    made = sample.one("x", short_term_memory=memory)
    made.reset_memories("short")
    made.reset_memories("all")
    with pytest.raises(ValueError, match="there is no memory `moon`"):
        made.reset_memories("moon")
    return memory.resets == 2


def _remembering(sample: SampleRun) -> bool:
    made = sample.one("x")
    kinds = ("short_term_memory", "long_term_memory", "entity_memory")
    assert [getattr(made.create_crew_memory(), kind) for kind in kinds] == [None] * 3
    made.memory = True
    return made.create_crew_memory() is made and None not in [getattr(made, kind) for kind in kinds]


def _copied(sample: SampleRun) -> bool:
    copied = sample.crew.copy()
    shared = {id(one) for one in (*copied.agents, *copied.tasks)} & {id(one) for one in sample.crew.tasks}
    return copied.id != sample.crew.id and not shared and copied.usage_metrics is None and copied.key == sample.crew.key


def _queried(sample: SampleRun) -> bool:
    made, knows = sample.one("x"), sample.one("x", knowledge_sources=["three boats"])
    assert knows.create_crew_knowledge() is knows
    for _ in range(2):
        found = sample.mode.run(knows.query_knowledge, knows.aquery_knowledge, ["boats"], 3, 0.5)
        assert [one["content"] for one in found or ()] == ["three boats"]
        knows.reset_knowledge([knows.knowledge])
    return sample.mode.run(made.query_knowledge, made.aquery_knowledge, ["boats"], 3, 0.5) is None


def _taken_up(sample: SampleRun) -> bool:
    config = CheckpointConfig(location=str(sample.folder / "taken"))
    by = Agent(role="r", goal="g", backstory="b", llm="openai/gpt-4o-mini")
    made = Crew(name="desk", agents=[by], tasks=[Task(description="d", expected_output="e", agent=by)])
    run: dict[str, Any] = {"thread_id": None, "database": None, "inputs": {}, "outputs": {}}
    RuntimeState([made]).set_progress([run]).checkpoint(config.location)
    return Crew.from_checkpoint(config).name == "desk"


WORKS: dict[str, Row] = {
    "from_checkpoint": _taken_up,
    "akickoff": _kicked_off,
    "akickoff_for_each": _for_each,
    "aquery_knowledge": _queried,
    "calculate_usage_metrics": lambda sample: (
        sample.crew.calculate_usage_metrics() == sample.output.token_usage
        and sample.one().calculate_usage_metrics() == UsageMetrics()
    ),
    "copy": _copied,
    "create_crew_knowledge": _queried,
    "create_crew_memory": _remembering,
    "fetch_inputs": lambda sample: sample.crew.fetch_inputs() == {"place"},
    "fork": _again,
    "kickoff": _kicked_off,
    "kickoff_async": _kicked_off,
    "kickoff_for_each": _for_each,
    "kickoff_for_each_async": _for_each,
    "query_knowledge": _queried,
    "replay": _again,
    "reset_knowledge": _queried,
    "reset_memories": _forgot,
    "test": _tested,
    "train": _trained,
    "fingerprint": lambda sample: sample.crew.fingerprint is sample.crew.security_config.fingerprint,
    "key": lambda sample: sample.crew.key == sample.crew.copy().key != sample.one().key,
}


@pytest.fixture
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRun:
    monkeypatch.chdir(tmp_path)
    return SampleRun(mode, tmp_path)


def test_every_public_name_works_or_is_listed_and_none_is_both():
    lists = [WORKS, NOT_HERE]
    assert {name for names in lists for name in names} == NAMES
    assert sum(map(len, lists)) == len(NAMES)


def test_every_name_works(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []


def test_what_is_listed_as_absent_is_absent():
    assert [name for name in NOT_HERE if hasattr(Crew, name)] == ["model_post_init"]
