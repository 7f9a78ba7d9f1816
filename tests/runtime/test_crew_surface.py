"""Every field of `Crew` that programs may use: each works here, or is listed with what happens today.

The names are those of CrewAI 1.2.1 and 1.15.30, and of the specification's tables.
"""

import contextlib
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from modes import Mode
from waiting import LIMITS

from crewgraph import Agent, Crew, CrewOutput, Process, ScriptedLLM, Task, TaskOutput
from crewgraph.compiler import preflight
from crewgraph.compiler.preflight import WithoutEffect
from crewgraph.contrib.snapshots import CheckpointConfig
from crewgraph.definitions.base import SecurityConfig
from crewgraph.errors import TimeLimitReached
from crewgraph.events import CrewKickoffStartedEvent, LLMCallDelayedEvent
from crewgraph.flow import Flow, start
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.rate_limit import RPMController
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.memory.storage import RAGStorage
from crewgraph.prompts.i18n import I18N
from crewgraph.testing import record_events
from crewgraph.tools.failure import ToolExecutionFailedError

from .parts import agent, assessing, crew, is_assessment, task, using_a_broken_tool
from .sample_run import BONN, FAR, LOOK, Gate, SampleRun, Shelf, Town

OF_1_2_1 = Path(__file__).parents[1] / "definitions" / "fields.json"

FIELDS = """
after_kickoff_callbacks agents before_kickoff_callbacks cache cache_handler chat_llm config contextual_memory embedder
entity_memory execution_logs external_memory full_output function_calling_llm i18n id inputs knowledge knowledge_sources
long_term_memory manager_agent manager_llm max_rpm memory name output_log_file parent_flow planning planning_llm
planning_tasks process prompt_file respect_context_window rpm_controller security_config share_crew short_term_memory
step_callback stream task_callback task_execution_output_json_files tasks token_usage tracing trained_agents_file training
training_data usage_metrics verbose
checkpoint checkpoint_inputs checkpoint_kickoff_event_id checkpoint_train entity_type execution_context skills
tool_failure_policy
"""
NAMES = set(FIELDS.split())

IDLE: dict[str, Any] = {
    "embedder": {"provider": "openai"},
    "share_crew": True,
    "task_execution_output_json_files": ["a.json"],
    "tracing": True,
}
"""Accepted, and told to be without effect; `embedder` where there is nothing to embed."""


Row = Callable[[SampleRun], Any]


def _before(sample: SampleRun) -> bool:
    def filled(inputs: Any) -> Any:
        return {**inputs, "place": "Kiel"}

    made = sample.one("x", before_kickoff_callbacks=[filled])
    made.tasks[0].description = "Look at {place}"
    sample.mode.kickoff(made, {})
    return "Look at Kiel" in sample.asked_of(made)[0] and made.inputs == {"place": "Kiel"}


def _after(sample: SampleRun) -> bool:
    def louder(output: CrewOutput) -> CrewOutput:
        output.raw = output.raw.upper()
        return output

    return sample.ran("x", after_kickoff_callbacks=[louder]).raw == "X"


def _shelved(sample: SampleRun) -> bool:
    shelf = Shelf()
    return sample.looks(cache_handler=shelf) == 1 and shelf.stored == ["three boats"]


def _talked_with(sample: SampleRun) -> bool:
    about: dict[str, Any] = {"crew_name": "desk", "crew_description": "Looks.", "inputs": []}
    host = ScriptedLLM([json.dumps(about), "Final Answer: Ahoy!"])
    made = crew(task("one", agent(ScriptedLLM([]))), chat_llm=host, checkpointer=False)
    talk = made.conversation()
    return sample.mode.run(talk.greet, talk.agreet) == "Ahoy!"


def _configured(sample: SampleRun) -> bool:
    keeper = {"role": "Keeper", "goal": "g", "backstory": "b", "llm": ScriptedLLM(["x"])}
    one = {"description": "d", "expected_output": "e", "agent": "Keeper"}
    made = Crew(config={"agents": [keeper], "tasks": [one]}, checkpointer=False)
    return sample.mode.kickoff(made).raw == "x"


def _structured_by(sample: SampleRun) -> bool:
    reader = ScriptedLLM([BONN])
    made = sample.one("in Bonn", function_calling_llm=reader)
    made.tasks[0].output_pydantic = Town
    return sample.mode.kickoff(made).pydantic == Town(name="Bonn") and len(reader.requests) == 1


def _led(sample: SampleRun) -> bool:
    team: Any = {"agents": [agent(ScriptedLLM([]))], "process": Process.hierarchical, "checkpointer": False}
    todo: Any = {"description": "d", "expected_output": "e"}
    of_model = Crew(tasks=[Task(**todo)], manager_llm=ScriptedLLM(["led"]), **team)
    boss = agent(ScriptedLLM(["bossed"]), "Boss")
    of_agent = Crew(tasks=[Task(**todo)], manager_agent=boss, **team)
    outputs = [sample.mode.kickoff(one).tasks_output[0] for one in (of_model, of_agent)]
    return [(one.raw, one.agent) for one in outputs] == [("led", "Crew Manager"), ("bossed", "Boss")]


def _waits(sample: SampleRun) -> bool:
    waits = list[int]()
    for seconds in LIMITS:
        made = sample.one(LOOK, "x", of_agent={"tools": [sample.look], "max_execution_time": seconds}, max_rpm=1)
        with record_events() as events, pytest.raises(TimeLimitReached):
            sample.mode.kickoff(made)
        waits += [one.max_rpm for one in events if isinstance(one, LLMCallDelayedEvent)]
        if waits:
            break
    return waits == [1]


def _remembers(sample: SampleRun, **fields: Any) -> list[str]:
    """The prompts of two runs of a crew."""
    ada = {"name": "Ada", "type": "boat", "description": "look at the boat Ada"}
    model = assessing("look at the boat: three boats", {"suggestions": ["LOOK CLOSER"], "entities": [ada]})
    named = str(sorted(fields))  # agents of other roles remember other things, and tasks of other descriptions do
    made = crew(task("one", agent(model, named), description=f"look at the boat, {named}"), **fields)
    for _ in range(2):
        sample.mode.kickoff(made)
    return [str(one.messages[-1]["content"]) for one in model.requests if not is_assessment(one.messages)]


def _remembering(**fields: Any) -> Row:
    def works(sample: SampleRun) -> bool:
        first, last = _remembers(sample, **fields)
        return "three boats" not in first and all(one in last for one in ("three boats", "LOOK CLOSER", "Ada(boat)"))

    return works


def _remembering_one(field: str, memory: Callable[[], Any], reported: str) -> Row:
    def works(sample: SampleRun) -> bool:
        first, last = _remembers(sample, **{field: memory()})
        kinds = ("three boats", "LOOK CLOSER", "Ada(boat)")
        return reported not in first and [one for one in kinds if one in last] == [reported]

    return works


def _gated(sample: SampleRun) -> bool:
    gate = Gate()
    sample.ran(LOOK, "x", of_agent={"tools": [sample.look]}, rpm_controller=gate)
    shared = RPMController(max_rpm=9)
    sample.ran("x", rpm_controller=shared)
    return gate.passed == 2 and sample.one("x", rpm_controller=shared).copy().rpm_controller is shared


def _made_in_a_flow(sample: SampleRun) -> bool:
    class Harbour(Flow[Any]):
        @start()
        def open(self) -> Any:
            return sample.one("x")

    flow = Harbour()
    made: Any = sample.mode.run(flow.kickoff, flow.akickoff)
    return made.parent_flow is flow and sample.crew.parent_flow is None and made.copy().parent_flow is None


def _planned(sample: SampleRun) -> bool:
    plan = {"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "PLAN-1"}]}
    planner = ScriptedLLM([json.dumps(plan)])
    made = sample.one("x", planning=True, planning_llm=planner)
    sample.mode.kickoff(made)
    return (
        "PLAN-1" in sample.asked_of(made)[0]
        and len(planner.requests) == len(made.planning_tasks) == 1
        and (type(made.planning_tasks[0]) is Task and type(made.planning_tasks[0].agent) is Agent)
    )


def _condensed(sample: SampleRun) -> bool:
    script = [FAR, ContextLengthExceeded("maximum context length"), "short", "x"]
    with pytest.raises(ContextLengthExceeded):
        sample.ran(*script, of_agent={"tools": [sample.look]}, respect_context_window=False)
    return sample.ran(*script, of_agent={"tools": [sample.look]}).raw == "x"


def _stepped(sample: SampleRun) -> bool:
    steps: list[Any] = []
    sample.ran(LOOK, "x", of_agent={"tools": [sample.look]}, step_callback=steps.append)
    return [type(one).__name__ for one in steps] == ["AgentAction", "AgentFinish"]


def _called_back(sample: SampleRun) -> bool:
    reported: list[TaskOutput] = []
    sample.ran("x", task_callback=reported.append)
    return [one.raw for one in reported] == ["x"]


def _streamed(sample: SampleRun) -> bool:
    made = crew(task("one", agent(ScriptedLLM(["three boats"], stream=True))), stream=True, checkpointer=False)

    async def gathered() -> list[Any]:
        pieces: Any = await made.akickoff()
        return [piece.content async for piece in pieces]

    pieces: list[Any] = sample.mode.run(lambda: [one.content for one in cast(Any, made.kickoff())], gathered)
    return "".join(pieces) == "three boats"


def _lessons(sample: SampleRun) -> bool:
    lesson = {"suggestions": ["LOOK TWICE"], "quality": 7, "final_summary": "s"}
    file = sample.folder / "taught.json"
    file.write_text(json.dumps({"agents": {"worker": lesson}}), "utf-8")
    given = (
        sample.prompt(training_data={"worker": lesson}),
        sample.prompt(trained_agents_file=str(file)),
        sample.prompt(),
    )
    return ["LOOK TWICE" in one for one in given] == [True, True, False]


def _in_training(sample: SampleRun) -> bool:
    recorded: list[bool] = []

    def say(output: TaskOutput) -> str:
        recorded.append(made.training)
        return ""

    made = sample.one("x")
    made.train(1, "x.json", feedback=say)
    return recorded == [True] and made.training is False


def _shown(sample: SampleRun) -> bool:
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        sample.ran("x", verbose=False)
        quiet = screen.getvalue()
        sample.ran("x", verbose=1, name="harbour")
    return not quiet and "harbour" in screen.getvalue()


def _skilled(sample: SampleRun) -> bool:
    folder = sample.folder / "skills" / "boats"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: boats\ndescription: On boats.\n---\nCount twice.", "utf-8")
    worker = agent(ScriptedLLM(["x"]))
    sample.mode.kickoff(crew(task("one", worker), skills=[folder]))
    return "On boats." in worker.llm.requests[0].text


def _knowing(sample: SampleRun) -> bool:
    worker = agent(ScriptedLLM(["boats", "x", "boats", "x"]))
    given = crew(task("one", worker), checkpointer=False, knowledge=Knowledge(sources=["three boats"]))
    of_texts = crew(task("one", worker), checkpointer=False, knowledge_sources=["two boats"])
    reported: list[str] = []
    for one in (given, of_texts):
        sample.mode.kickoff(one)
        reported.append(cast("ScriptedLLM", worker.llm).requests[-1].text)
    return "three boats" in reported[0] and "two boats" in reported[1] and isinstance(of_texts.knowledge, Knowledge)


def _noted_crew(sample: SampleRun, place: str) -> Crew:
    made = crew(
        task("one", agent(ScriptedLLM(["x"]))), checkpoint=CheckpointConfig(location=str(sample.folder / place))
    )
    sample.mode.kickoff(made, {"place": "Bonn"})
    return made


def _noted(sample: SampleRun) -> bool:
    _noted_crew(sample, "noted")
    return len(list((sample.folder / "noted" / "main").iterdir())) == 1


def _strict(sample: SampleRun) -> bool:
    with pytest.raises(ToolExecutionFailedError, match="the glass is broken"):
        sample.mode.kickoff(using_a_broken_tool(tool_failure_policy="raise"))
    return sample.mode.kickoff(using_a_broken_tool()).raw == "done"


WORKS: dict[str, Row] = {
    "full_output": lambda sample: len(sample.ran("x", full_output=True).tasks_output) == 1,
    "tool_failure_policy": _strict,
    "checkpoint": _noted,
    "checkpoint_inputs": lambda sample: _noted_crew(sample, "inputs").checkpoint_inputs == {"place": "Bonn"},
    "checkpoint_train": lambda sample: _noted_crew(sample, "train").checkpoint_train is False,
    "checkpoint_kickoff_event_id": lambda sample: _noted_crew(sample, "id").checkpoint_kickoff_event_id is not None,
    "entity_type": lambda sample: crew(task("one", agent(ScriptedLLM([])))).entity_type == "crew",
    "execution_context": lambda sample: (
        crew(task("one", agent(ScriptedLLM([]))), execution_context=None).execution_context is None
    ),
    "knowledge": _knowing,
    "knowledge_sources": _knowing,
    "skills": _skilled,
    "after_kickoff_callbacks": _after,
    "agents": lambda sample: sample.output.tasks_output[0].agent == "Keeper of Bonn",
    "before_kickoff_callbacks": _before,
    "cache": lambda sample: (sample.looks(cache=True), sample.looks(cache=False)) == (1, 2),
    "cache_handler": _shelved,
    "chat_llm": _talked_with,
    "config": _configured,
    "execution_logs": lambda sample: [one["task_name"] for one in sample.crew.execution_logs] == ["first", "second"],
    "function_calling_llm": _structured_by,
    "i18n": lambda sample: "AHOY" in sample.system(i18n=I18N(prompt_file=sample.texts())),
    "id": lambda sample: str(sample.crew.id) in repr(sample.crew) and sample.crew.id != sample.crew.copy().id,
    "contextual_memory": _remembering(contextual_memory=True),
    "entity_memory": _remembering_one("entity_memory", EntityMemory, "Ada(boat)"),
    "external_memory": _remembering_one("external_memory", partial(ExternalMemory, RAGStorage("away")), "three boats"),
    "inputs": lambda sample: sample.crew.inputs == {"place": "Bonn"},
    "manager_agent": _led,
    "long_term_memory": _remembering_one("long_term_memory", LongTermMemory, "LOOK CLOSER"),
    "manager_llm": _led,
    "max_rpm": _waits,
    "memory": _remembering(memory=True),
    "name": lambda sample: (
        {one.crew_name for one in sample.events if isinstance(one, CrewKickoffStartedEvent)} == {"desk"}
    ),
    "output_log_file": lambda sample: (
        sample.ran("x", output_log_file="log.txt").raw == "x"
        and 'task_name="one"' in Path("log.txt").read_text("utf-8")
    ),
    "parent_flow": _made_in_a_flow,
    "planning": _planned,
    "planning_llm": _planned,
    "planning_tasks": _planned,
    "process": _led,
    "prompt_file": lambda sample: "AHOY" in sample.system(prompt_file=sample.texts()),
    "respect_context_window": _condensed,
    "rpm_controller": _gated,
    "security_config": lambda sample: (
        sample.crew.fingerprint == SecurityConfig.model_validate({"fingerprint": "seed"}).fingerprint
    ),
    "short_term_memory": _remembering_one("short_term_memory", ShortTermMemory, "three boats"),
    "step_callback": _stepped,
    "stream": _streamed,
    "task_callback": _called_back,
    "tasks": lambda sample: [one.name for one in sample.output.tasks_output] == ["first", "second"],
    "token_usage": lambda sample: sample.crew.token_usage == sample.output.token_usage,
    "trained_agents_file": _lessons,
    "training": _in_training,
    "training_data": _lessons,
    "usage_metrics": lambda sample: sample.crew.usage_metrics == sample.output.token_usage,
    "verbose": _shown,
}


@pytest.fixture
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRun:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "_warned", set[tuple[str, str]]())
    return SampleRun(mode, tmp_path)


def test_every_field_works_or_is_listed_and_none_is_both():
    lists = [WORKS, IDLE]
    assert {name for names in lists for name in names} == NAMES
    assert sum(map(len, lists)) == len(NAMES)


def test_no_field_of_1_2_1_is_left_out():
    assert {*json.loads(OF_1_2_1.read_text("utf-8"))["Crew"]} <= NAMES


def test_every_field_has_its_effect(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []


@pytest.mark.parametrize("name", IDLE)
def test_what_has_no_effect_says_so(sample: SampleRun, name: str):
    with pytest.warns(WithoutEffect, match=f"without effect: `{name}` of `Crew`"):
        assert sample.ran("x", **{name: IDLE[name]}).raw == "x"
