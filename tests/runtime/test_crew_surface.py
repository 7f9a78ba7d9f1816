"""Every public name of `Crew` that programs may use: each works here, or is listed with what happens today.

The names are those of CrewAI 1.2.1 and 1.15.30, and of the specification's tables.
"""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from heard import heard
from modes import Mode

from crewgraph import Crew, CrewOutput, Process, ScriptedLLM, Task, TaskOutput, UsageMetrics
from crewgraph.compiler import idle
from crewgraph.compiler.idle import WithoutEffect
from crewgraph.definitions.security import SecurityConfig
from crewgraph.errors import CompileError, TimeLimitReached
from crewgraph.events import CrewKickoffStartedEvent, LLMCallDelayedEvent
from crewgraph.flow import Flow, start
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.rpm import RPMController
from crewgraph.prompts.i18n import I18N

from .crew_seen import BONN, FAR, LOOK, Forgets, Gate, Seen, Shelf, Town
from .parts import agent, crew, task

FIELDS = Path(__file__).parents[1] / "definitions" / "fields.json"

CREW = """
after_kickoff_callbacks agents before_kickoff_callbacks cache cache_handler chat_llm config contextual_memory embedder
entity_memory execution_logs external_memory full_output function_calling_llm i18n id inputs knowledge knowledge_sources
long_term_memory manager_agent manager_llm max_rpm memory name output_log_file parent_flow planning planning_llm
planning_tasks process prompt_file respect_context_window rpm_controller security_config share_crew short_term_memory
step_callback stream task_callback task_execution_output_json_files tasks token_usage tracing trained_agents_file training
training_data usage_metrics verbose
checkpoint checkpoint_inputs checkpoint_kickoff_event_id checkpoint_train entity_type execution_context skills
tool_failure_policy
akickoff akickoff_for_each aquery_knowledge calculate_usage_metrics check_config check_config_type check_manager_llm copy
create_crew_knowledge create_crew_memory fetch_inputs fork from_checkpoint kickoff kickoff_async kickoff_for_each
kickoff_for_each_async model_post_init query_knowledge replay reset_knowledge reset_memories set_private_attrs test train
validate_async_task_cannot_include_sequential_async_tasks_in_context validate_async_tasks_not_async
validate_context_no_future_tasks validate_end_with_at_most_one_async_task validate_first_task
validate_must_have_non_conditional_task validate_tasks
fingerprint key
"""
NAMES = set(CREW.split())

_RULE = "a rule that pydantic applies when the crew is made, no verb; what it checks is checked here, too"
_KEPT = "runs are kept by a checkpointer: `kickoff(thread_id=)`, `resume`, `fork`"
_FAILURES = "a failing tool is told to the model and counted in `Task.tools_errors`; see the events"
NOT_HERE: dict[str, str] = {
    **{name: _RULE for name in CREW.split() if name.startswith(("check_", "validate_"))},
    "set_private_attrs": _RULE,
    "model_post_init": "a part of pydantic",
    "full_output": "a former keyword, taken without a word: the output always holds those of all tasks",
    **{name: _KEPT for name in CREW.split() if name.startswith("checkpoint")},
    "execution_context": _KEPT,
    "from_checkpoint": _KEPT,
    "entity_type": "the kind of a kept thing, of their checkpoints; ours know it",
    "skills": "folders of instructions; give their text as `backstory`, or a tool that reads them",
    "tool_failure_policy": _FAILURES,
}

REFUSED: dict[str, Any] = {
    "contextual_memory": True,
    "entity_memory": object(),
    "external_memory": object(),
    "knowledge": object(),
    "knowledge_sources": [object()],
    "long_term_memory": object(),
    "memory": True,
    "short_term_memory": object(),
}
"""Memory and knowledge are coming; a crew that is given one of these is refused by its name."""

IDLE: dict[str, Any] = {
    "embedder": {"provider": "openai"},
    "share_crew": True,
    "task_execution_output_json_files": ["a.json"],
    "tracing": True,
}
"""Accepted, and told to be without effect; `embedder` until there is something to embed."""

COMING = ("create_crew_knowledge", "create_crew_memory", "reset_knowledge")
"""Not there yet."""


Row = Callable[[Seen], Any]


# ------------------------------------------------------------------------------------------------------- fields
def _before(seen: Seen) -> bool:
    def filled(inputs: Any) -> Any:
        return {**inputs, "place": "Kiel"}

    made = seen.one("x", before_kickoff_callbacks=[filled])
    made.tasks[0].description = "Look at {place}"
    seen.mode.kickoff(made, {})
    return "Look at Kiel" in seen.asked_of(made)[0] and made.inputs == {"place": "Kiel"}


def _after(seen: Seen) -> bool:
    def louder(output: CrewOutput) -> CrewOutput:
        output.raw = output.raw.upper()
        return output

    return seen.ran("x", after_kickoff_callbacks=[louder]).raw == "X"


def _shelved(seen: Seen) -> bool:
    shelf = Shelf()
    return seen.looks(again=False, cache_handler=shelf) == 1 and shelf.kept == ["three boats"]


def _talked_with(seen: Seen) -> bool:
    about = {"crew_name": "desk", "crew_description": "Looks.", "inputs": []}
    host = ScriptedLLM([json.dumps(about), "Final Answer: Ahoy!"])
    made = crew(task("one", agent(ScriptedLLM([]))), chat_llm=host, checkpointer=False)
    talk = made.conversation()
    return seen.mode.run(talk.greet, talk.agreet) == "Ahoy!"


def _configured(seen: Seen) -> bool:
    keeper = {"role": "Keeper", "goal": "g", "backstory": "b", "llm": ScriptedLLM(["x"])}
    one = {"description": "d", "expected_output": "e", "agent": "Keeper"}
    made = Crew(config={"agents": [keeper], "tasks": [one]}, checkpointer=False)
    return seen.mode.kickoff(made).raw == "x"


def _structured_by(seen: Seen) -> bool:
    reader = ScriptedLLM([BONN])
    made = seen.one("in Bonn", function_calling_llm=reader)
    made.tasks[0].output_pydantic = Town
    return seen.mode.kickoff(made).pydantic == Town(name="Bonn") and len(reader.requests) == 1


def _led(seen: Seen) -> bool:
    team: Any = {"agents": [agent(ScriptedLLM([]))], "process": Process.hierarchical, "checkpointer": False}
    todo: Any = {"description": "d", "expected_output": "e"}
    of_model = Crew(tasks=[Task(**todo)], manager_llm=ScriptedLLM(["led"]), **team)
    boss = agent(ScriptedLLM(["bossed"]), "Boss")
    of_agent = Crew(tasks=[Task(**todo)], manager_agent=boss, **team)
    outputs = [seen.mode.kickoff(one).tasks_output[0] for one in (of_model, of_agent)]
    return [(one.raw, one.agent) for one in outputs] == [("led", "Crew Manager"), ("bossed", "Boss")]


def _waits(seen: Seen) -> bool:
    made = seen.one(LOOK, "x", of_agent={"tools": [seen.look], "max_execution_time": 0.3}, max_rpm=1)
    with heard() as events, pytest.raises(TimeLimitReached):
        seen.mode.kickoff(made)
    return [one.max_rpm for one in events if isinstance(one, LLMCallDelayedEvent)] == [1]


def _gated(seen: Seen) -> bool:
    gate = Gate()
    seen.ran(LOOK, "x", of_agent={"tools": [seen.look]}, rpm_controller=gate)
    shared = RPMController(max_rpm=9)
    seen.ran("x", rpm_controller=shared)
    return gate.passed == 2 and seen.one("x", rpm_controller=shared).copy().rpm_controller is shared


def _made_in_a_flow(seen: Seen) -> bool:
    class Harbour(Flow[Any]):
        @start()
        def open(self) -> Any:
            return seen.one("x")

    flow = Harbour()
    made: Any = seen.mode.run(flow.kickoff, flow.akickoff)
    return made.parent_flow is flow and seen.crew.parent_flow is None and made.copy().parent_flow is None


def _planned(seen: Seen) -> bool:
    plan = {"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "PLAN-1"}]}
    planner = ScriptedLLM([json.dumps(plan)])
    made = seen.one("x", planning=True, planning_llm=planner)
    seen.mode.kickoff(made)
    return "PLAN-1" in seen.asked_of(made)[0] and len(planner.requests) == len(made.planning_tasks) == 1


def _condensed(seen: Seen) -> bool:
    script = [FAR, ContextLengthExceeded("maximum context length"), "short", "x"]
    with pytest.raises(ContextLengthExceeded):
        seen.ran(*script, of_agent={"tools": [seen.look]}, respect_context_window=False)
    return seen.ran(*script, of_agent={"tools": [seen.look]}).raw == "x"


def _stepped(seen: Seen) -> bool:
    steps: list[Any] = []
    seen.ran(LOOK, "x", of_agent={"tools": [seen.look]}, step_callback=steps.append)
    return [type(one).__name__ for one in steps] == ["AgentAction", "AgentFinish"]


def _called_back(seen: Seen) -> bool:
    told: list[TaskOutput] = []
    seen.ran("x", task_callback=told.append)
    return [one.raw for one in told] == ["x"]


def _streamed(seen: Seen) -> bool:
    made = crew(task("one", agent(ScriptedLLM(["three boats"], stream=True))), stream=True, checkpointer=False)

    async def gathered() -> list[Any]:
        pieces: Any = await made.akickoff()
        return [piece.content async for piece in pieces]

    pieces: list[Any] = seen.mode.run(lambda: [one.content for one in cast(Any, made.kickoff())], gathered)
    return "".join(pieces) == "three boats"


def _lessons(seen: Seen) -> bool:
    lesson = {"suggestions": ["LOOK TWICE"], "quality": 7, "final_summary": "s"}
    (seen.folder / "taught.json").write_text(json.dumps({"agents": {"worker": lesson}}), "utf-8")
    given = seen.prompt(training_data={"worker": lesson})
    return "LOOK TWICE" in given and "LOOK TWICE" not in seen.prompt()


def _shown(seen: Seen) -> bool:
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        seen.ran("x", verbose=False)
        quiet = screen.getvalue()
        seen.ran("x", verbose=1, name="harbour")
    return not quiet and "harbour" in screen.getvalue()


# ------------------------------------------------------------------------------------------------------- verbs
def _for_each(seen: Seen) -> bool:
    verbs = (Crew.kickoff_for_each, Crew.kickoff_for_each_async), (Crew.kickoff_for_each, Crew.akickoff_for_each)
    for sync, asynchronous in verbs:
        made = seen.one("one", "two")
        # The runs of the asynchronous verb are beside each other.
        outputs = seen.mode.run(sync, asynchronous, made, [{"place": "Bonn"}, {"place": "Kiel"}])
        assert sorted(one.raw for one in outputs) == ["one", "two"]
        assert made.calculate_usage_metrics().successful_requests == 2
    return True


def _kicked_off(seen: Seen) -> bool:
    ways = (Crew.kickoff, Crew.kickoff_async), (Crew.kickoff, Crew.akickoff)
    return [seen.mode.run(*way, seen.one("x")).raw for way in ways] == ["x", "x"]


def _again(seen: Seen) -> bool:
    worker = agent(ScriptedLLM(["a", "b", "B", "c"]))
    made = crew(task("first", worker), task("second", worker))
    seen.mode.kickoff(made)
    replayed = seen.mode.run(made.replay, made.areplay, str(made.tasks[1].id))
    forked = seen.mode.run(made.fork, made.afork, "second", {"first": "other"})
    raws = [[one.raw for one in output.tasks_output] for output in (replayed, forked)]
    return raws == [["a", "B"], ["other", "c"]]


def _trained(seen: Seen) -> bool:
    in_training: list[bool] = []

    def say(output: TaskOutput) -> str:
        in_training.append(made.training)
        return "shorter"

    lesson = json.dumps({"suggestions": ["BE SHORT"], "quality": 7, "final_summary": "s"})
    made = seen.one("long", "short", lesson)
    seen.mode.run(lambda: made.train(1, "x.pkl", feedback=say), lambda: made.atrain(1, "x.pkl", feedback=say))
    taught: Any = made.training_data["worker"]
    assert taught["suggestions"] == ["BE SHORT"]
    assert in_training == [True] and made.training is False
    return "BE SHORT" in seen.prompt(trained_agents_file="x.json")


def _tested(seen: Seen) -> bool:
    judge = ScriptedLLM([json.dumps({"quality": 8, "reasons": "good"})])
    made = seen.one("x")
    return seen.mode.run(lambda: made.test(1, judge), lambda: made.atest(1, judge)).average == 8


def _forgot(seen: Seen) -> bool:
    memory = Forgets()
    made = seen.one("x", short_term_memory=memory)
    made.reset_memories("short")
    made.reset_memories("all")
    with pytest.raises(ValueError, match="there is no memory `moon`"):
        made.reset_memories("moon")
    return memory.resets == 2


def _copied(seen: Seen) -> bool:
    copied = seen.crew.copy()
    shared = {id(one) for one in (*copied.agents, *copied.tasks)} & {id(one) for one in seen.crew.tasks}
    return copied.id != seen.crew.id and not shared and copied.usage_metrics is None and copied.key == seen.crew.key


def _queried(seen: Seen) -> bool:
    made = seen.one("x")
    found = seen.mode.run(made.query_knowledge, made.aquery_knowledge, ["boats"], 3, 0.5)
    with pytest.raises(CompileError, match="does not offer the `knowledge` of a crew yet"):
        seen.one("x", knowledge_sources=["a text"]).query_knowledge(["boats"])
    return found is None


WORKS: dict[str, Row] = {
    "after_kickoff_callbacks": _after,
    "agents": lambda seen: seen.output.tasks_output[0].agent == "Keeper of Bonn",
    "before_kickoff_callbacks": _before,
    "cache": lambda seen: (seen.looks(cache=True), seen.looks(cache=False)) == (1, 2),
    "cache_handler": _shelved,
    "chat_llm": _talked_with,
    "config": _configured,
    "execution_logs": lambda seen: [one["task_name"] for one in seen.crew.execution_logs] == ["first", "second"],
    "function_calling_llm": _structured_by,
    "i18n": lambda seen: "AHOY" in seen.system(i18n=I18N(prompt_file=seen.texts())),
    "id": lambda seen: str(seen.crew.id) in repr(seen.crew) and seen.crew.id != seen.crew.copy().id,
    "inputs": lambda seen: seen.crew.inputs == {"place": "Bonn"},
    "manager_agent": _led,
    "manager_llm": _led,
    "max_rpm": _waits,
    "name": lambda seen: {one.crew_name for one in seen.events if isinstance(one, CrewKickoffStartedEvent)} == {"desk"},
    "output_log_file": lambda seen: (
        seen.ran("x", output_log_file="log.txt").raw == "x" and 'task_name="one"' in Path("log.txt").read_text("utf-8")
    ),
    "parent_flow": _made_in_a_flow,
    "planning": _planned,
    "planning_llm": _planned,
    "planning_tasks": _planned,
    "process": _led,
    "prompt_file": lambda seen: "AHOY" in seen.system(prompt_file=seen.texts()),
    "respect_context_window": _condensed,
    "rpm_controller": _gated,
    "security_config": lambda seen: (
        seen.crew.fingerprint == SecurityConfig.model_validate({"fingerprint": "seed"}).fingerprint
    ),
    "step_callback": _stepped,
    "stream": _streamed,
    "task_callback": _called_back,
    "tasks": lambda seen: [one.name for one in seen.output.tasks_output] == ["first", "second"],
    "token_usage": lambda seen: seen.crew.token_usage == seen.output.token_usage,
    "trained_agents_file": _trained,
    "training": _trained,
    "training_data": _lessons,
    "usage_metrics": lambda seen: seen.crew.usage_metrics == seen.output.token_usage,
    "verbose": _shown,
    "akickoff": _kicked_off,
    "akickoff_for_each": _for_each,
    "aquery_knowledge": _queried,
    "calculate_usage_metrics": lambda seen: (
        seen.crew.calculate_usage_metrics() == seen.output.token_usage
        and seen.one().calculate_usage_metrics() == UsageMetrics()
    ),
    "copy": _copied,
    "fetch_inputs": lambda seen: seen.crew.fetch_inputs() == {"place"},
    "fork": _again,
    "kickoff": _kicked_off,
    "kickoff_async": _kicked_off,
    "kickoff_for_each": _for_each,
    "kickoff_for_each_async": _for_each,
    "query_knowledge": _queried,
    "replay": _again,
    "reset_memories": _forgot,
    "test": _tested,
    "train": _trained,
    "fingerprint": lambda seen: seen.crew.fingerprint is seen.crew.security_config.fingerprint,
    "key": lambda seen: seen.crew.key == seen.crew.copy().key != seen.one().key,
}


@pytest.fixture
def seen(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(idle, "_told", set[tuple[str, str]]())
    return Seen(mode, tmp_path)


def test_every_public_name_works_or_is_listed_and_none_is_both():
    lists = [WORKS, NOT_HERE, REFUSED, IDLE, COMING]
    assert {name for names in lists for name in names} == NAMES
    assert sum(map(len, lists)) == len(NAMES)


def test_no_field_of_1_2_1_is_left_out():
    assert {*json.loads(FIELDS.read_text("utf-8"))["Crew"]} <= NAMES


def test_every_name_works(seen: Seen):
    assert [name for name, works in WORKS.items() if not works(seen)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_coming_is_refused_by_name(seen: Seen, name: str):
    with pytest.raises(CompileError, match=f"does not offer `{name}` of the crew yet"):
        seen.ran("x", **{name: REFUSED[name]})


@pytest.mark.parametrize("name", IDLE)
def test_what_has_no_effect_says_so(seen: Seen, name: str):
    with pytest.warns(WithoutEffect, match=f"without effect: `{name}` of `Crew`"):
        assert seen.ran("x", **{name: IDLE[name]}).raw == "x"


def test_what_is_listed_as_absent_is_absent(seen: Seen):
    assert [name for name in (*NOT_HERE, *COMING) if name in Crew.model_fields] == []
    assert [name for name in (*NOT_HERE, *COMING) if hasattr(seen.crew, name)] == ["model_post_init"]
