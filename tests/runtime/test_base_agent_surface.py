"""Every public name of `BaseAgent` that programs may use: each works here, or is listed with what happens today.

The names are those of CrewAI 1.2.1 and 1.15.30. `Agent` has them all; both kinds are looked at.
"""

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from crewgraph_compat.stand_ins.agent_adapters import LangGraphAgentAdapter
from modes import Mode
from servers.mcp_process import over_stdio
from waiting import LIMITS

from crewgraph import Agent, BaseAgent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.compiler import preflight
from crewgraph.compiler.preflight import WithoutEffect
from crewgraph.contrib.snapshots import CheckpointConfig, RuntimeState
from crewgraph.definitions.base import SecurityConfig
from crewgraph.errors import BudgetExceeded, CompileError
from crewgraph.events import LLMCallDelayedEvent
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.memory.memory import Memory
from crewgraph.prompts.i18n import I18N
from crewgraph.testing import record_events
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.failure import ToolExecutionFailedError
from crewgraph.tools.mcp import MCPServerStdio

from .parts import asked, crew, task, using_a_broken_tool
from .sample_run import LOOK, Gate, Shelf

BASE_AGENT = """
adapted_agent agent_executor allow_delegation apps backstory cache cache_handler callbacks config crew goal i18n id knowledge
knowledge_config knowledge_sources knowledge_storage llm max_iter max_rpm max_tokens mcps role security_config tools
tools_handler tools_results verbose
checkpoint checkpoint_kickoff_event_id entity_type execution_context memory skills tool_failure_policy
aexecute_task copy create_agent_executor execute_task fork from_checkpoint get_delegation_tools get_mcp_tools
get_platform_tools interpolate_inputs model_post_init process_model_config reset_tool_failures resolve_memory
set_cache_handler set_knowledge set_private_attrs set_rpm_controller set_skills validate_and_set_attributes validate_apps
validate_mcps validate_tools
key last_tool_failures rpm_controller
"""
NAMES = set(BASE_AGENT.split())
OF_1_2_1 = Path(__file__).parents[1] / "definitions" / "fields.json"

_RULE = "a rule that pydantic applies when the agent is made, not a method; what it checks is checked here, too"
NO_METHODS: dict[str, str] = {
    **{name: _RULE for name in NAMES if name.startswith("validate_")},
    "process_model_config": _RULE,
    "set_private_attrs": _RULE,
    "model_post_init": "a part of pydantic",
}
IDLE: dict[str, Any] = {"callbacks": [print], "execution_context": {"flow_id": "f"}, "max_tokens": 10}
"""Accepted, and told to be without effect."""


class Plain(BaseAgent):
    """What every agent has, and no more."""


@dataclass
class SampleRun:
    """Agents of one kind at work."""

    mode: Mode
    folder: Path
    kind: type[BaseAgent]

    def __post_init__(self) -> None:
        self.looked = 0

    def look(self, where: str) -> str:
        """Look somewhere."""
        self.looked += 1
        return "three boats"

    def made(self, *script: Any, kind: type[BaseAgent] | None = None, **fields: Any) -> Any:
        texts = {"role": "Keeper of {place}", "goal": "see {place}", "backstory": "of {place}"}
        given: dict[str, Any] = {**texts, "llm": ScriptedLLM(list(script)), **fields}
        return (kind or self.kind)(**given)

    def work(self, worker: BaseAgent, *others: BaseAgent, **of_crew: Any) -> str:
        given: dict[str, Any] = {"tasks": [task("one", worker)], "checkpointer": False, **of_crew}
        return self.mode.kickoff(Crew(agents=[worker, *others], **given), {"place": "Bonn"}).raw

    def reported(self, worker: BaseAgent) -> str:
        """All that its model was told at first."""
        return cast("ScriptedLLM", worker.llm).requests[0].text

    def at_work(self, *others: BaseAgent, **fields: Any) -> str:
        """What the model of a working agent is told."""
        worker = self.made("x", **fields)
        self.work(worker, *others)
        return self.reported(worker)

    def looks(self, **fields: Any) -> int:
        """How often it is really looked, where the model wants to twice."""
        before = self.looked
        self.work(self.made(LOOK, LOOK, "done", tools=[self.look], **fields))
        return self.looked - before

    def granting(self, **methods: Any) -> type[BaseAgent]:
        """A subclass with these methods."""
        return type("Own", (self.kind,), methods)


Row = Callable[[SampleRun], Any]


def lighthouse(name: str) -> str:
    """Look at a lighthouse."""
    return name


def _carried_out(sample: SampleRun) -> bool:
    def swim(input: str) -> str:
        return f"swam: {'Keeper of Bonn' in input}"

    return sample.work(sample.made(agent_executor=swim)) == "swam: True"


def _made_its_executor(sample: SampleRun) -> bool:
    def make(self: BaseAgent, tools: Any = None, task: Any = None) -> None:
        self.agent_executor = lambda input: "of its own"  # pyright: ignore[reportUnknownLambdaType]

    sample.made().create_agent_executor()
    return sample.work(sample.made(kind=sample.granting(create_agent_executor=make))) == "of its own"


def _adapted(sample: SampleRun) -> bool:
    adapter = LangGraphAgentAdapter(role="r", goal="g", backstory="b", llm=ScriptedLLM(["x"]))
    return adapter.adapted_agent and sample.work(adapter) == "x" and not sample.made().adapted_agent


def _delegating(sample: SampleRun) -> bool:
    other = sample.made(role="Diver")
    offered = "delegate_work_to_coworker"
    names = [tool.name for tool in sample.made().get_delegation_tools([other])]
    assert names == ["Delegate work to coworker", "Ask question to coworker"]
    return offered in sample.at_work(other, allow_delegation=True) and offered not in sample.at_work(other)


def _own_delegating(sample: SampleRun) -> bool:
    def get(self: BaseAgent, agents: Sequence[BaseAgent]) -> list[Any]:
        return [lighthouse]

    other = sample.made(role="Diver")
    return _delegating(sample) and "lighthouse" in sample.at_work(
        other, kind=sample.granting(get_delegation_tools=get), allow_delegation=True
    )


def _apps(sample: SampleRun) -> bool:
    def get(self: BaseAgent, apps: Sequence[Any]) -> list[Any]:
        return [lighthouse]

    with pytest.raises(CompileError, match=r"`apps` \(gmail\) are applications of CrewAI's hosted platform"):
        sample.work(sample.made("x", apps=["gmail"]))
    with pytest.raises(CompileError, match="override `get_platform_tools`"):
        sample.made().get_platform_tools(["gmail"])
    return "lighthouse" in sample.at_work(kind=sample.granting(get_platform_tools=get), apps=["gmail"])


def _server(sample: SampleRun) -> MCPServerStdio:
    return MCPServerStdio(**over_stdio(sample.folder / "notes.txt"))


def _served(sample: SampleRun) -> bool:
    worker = sample.made(ToolUse("depth", {"place": "Brest"}), "x", mcps=[_server(sample)])
    sample.work(worker)
    return "12 m at Brest" in asked(worker.llm)[1]


def _of_server(sample: SampleRun) -> bool:
    return "depth" in [tool.name for tool in sample.made().get_mcp_tools([_server(sample)])]


def _shelved(sample: SampleRun) -> bool:
    shelf, other = Shelf(), Shelf()
    worker = sample.made(LOOK, "x", tools=[sample.look])
    worker.set_cache_handler(other)
    with pytest.raises(ValueError, match="read"):
        worker.set_cache_handler(object())
    sample.work(worker)
    return sample.looks(cache_handler=shelf) == 1 and shelf.stored == other.stored == ["three boats"]


def _gated(sample: SampleRun) -> bool:
    gate, worker = Gate(), sample.made(LOOK, "x", tools=[sample.look])
    worker.set_rpm_controller(gate)
    sample.work(worker)
    return gate.passed == 2 and worker.rpm_controller is gate


def _waits(sample: SampleRun) -> bool:
    waits = list[int]()
    for seconds in LIMITS:
        with record_events() as events, pytest.raises(BudgetExceeded):
            sample.work(sample.made(LOOK, "x", tools=[sample.look], max_rpm=1), max_seconds=seconds)
        waits += [one.max_rpm for one in events if isinstance(one, LLMCallDelayedEvent)]
        if waits:
            break
    return waits == [1]


def _configured(sample: SampleRun) -> bool:
    worker = sample.kind(config={"role": "r", "goal": "g", "backstory": "b", "llm": ScriptedLLM(["x"])})  # pyright: ignore[reportCallIssue]
    return (worker.role, sample.work(worker)) == ("r", "x")


def _in_a_crew(sample: SampleRun) -> bool:
    worker = sample.made("x")
    made = crew(task("one", worker), checkpointer=False)
    sample.mode.kickoff(made, {"place": "Bonn"})
    return worker.crew is made


def _in_own_words(sample: SampleRun) -> bool:
    path = sample.folder / "texts.json"
    path.write_text(json.dumps({"slices": {"role_playing": "AHOY {role}"}}), "utf-8")
    return "AHOY Keeper of Bonn" in sample.at_work(i18n=I18N(prompt_file=str(path)))


def _ends(sample: SampleRun) -> bool:
    worker = sample.made(LOOK, "x", tools=[sample.look], max_iter=1)
    sample.work(worker)
    return I18N().errors("force_final_answer") in asked(worker.llm)[1]


def _shown(sample: SampleRun) -> bool:
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        sample.work(sample.made("x"))
        quiet = screen.getvalue()
        sample.work(sample.made("x", verbose=True))
    return not quiet and "Keeper of Bonn" in screen.getvalue()


def _executed(sample: SampleRun) -> bool:
    worker = sample.made("the answer")
    one = Task(description="count", expected_output="e")
    return (
        sample.mode.run(worker.execute_task, worker.aexecute_task, one, "the sea is calm") == "the answer"
        and "the sea is calm" in sample.reported(worker)
        and one.output is None
    )


def _copied(sample: SampleRun) -> bool:
    worker = sample.made("x", tools=[sample.look])
    sample.work(worker)
    copied = worker.copy()
    return copied.id != worker.id and copied.llm is worker.llm and copied.crew is None and copied.key == worker.key


def _filled_by_hand(sample: SampleRun) -> bool:
    worker = sample.made()
    worker.interpolate_inputs({"place": "Kiel"})
    return (worker.role, worker.goal, worker.backstory) == ("Keeper of Kiel", "see Kiel", "of Kiel")


def _handled(sample: SampleRun) -> bool:
    worker, shelf = sample.made(LOOK, "x", tools=[sample.look]), CacheHandler()
    worker.set_cache_handler(shelf)
    sample.work(worker)
    used = worker.tools_handler.last_used_tool
    return worker.tools_handler.cache is shelf and used is not None and used.tool_name == "look"


def _no_results(sample: SampleRun) -> bool:
    worker = sample.made(LOOK, "x", tools=[sample.look])
    sample.work(worker)
    return worker.tools_results == []  # those of a run are in its events, as in CrewAI's newer versions


def _knowing(sample: SampleRun) -> bool:
    def reported(**fields: Any) -> str:
        worker = sample.made("boats", "x", **fields)
        sample.work(worker)
        return cast("ScriptedLLM", worker.llm).requests[1].text

    asked = sample.made("x", knowledge_sources=["three boats", "two boats in the harbour"])
    asked.set_knowledge()
    asked.knowledge_sources = ["a lake"]
    before, _ = asked.knowledge, asked.set_knowledge()
    assert isinstance(asked.knowledge, Knowledge) and asked.knowledge is not before
    found = reported(knowledge=Knowledge(sources=["three boats"])), reported(knowledge_sources=["three boats"])
    config = {"results_limit": 1, "score_threshold": 0}
    one = reported(knowledge_sources=["three boats", "two boats in the harbour"], knowledge_config=config)
    return all("three boats" in text for text in found) and "harbour" not in one


def _skilled(sample: SampleRun) -> bool:
    folder = sample.folder / "skills" / "boats"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: boats\ndescription: On boats.\n---\nCount twice.", "utf-8")
    given, set_later = sample.made("x", skills=[folder]), sample.made("x")
    set_later.set_skills(given.skills)
    for worker in (given, set_later):
        sample.work(worker)
    return all("On boats." in cast("ScriptedLLM", worker.llm).requests[0].text for worker in (given, set_later))


def _knowing_elsewhere(sample: SampleRun) -> bool:
    worker = sample.made("boats", "x", knowledge_sources=["three boats"], knowledge_storage=sample.folder / "elsewhere")
    sample.work(worker)
    return (sample.folder / "elsewhere" / "knowledge.db").exists()


def _remembering(sample: SampleRun) -> bool:
    memory = Memory(llm=False)
    first, second = (sample.made("three boats at Bonn", memory=memory) for _ in range(2))
    for worker in (first, second):
        sample.work(worker)
    reported = [
        "three boats at Bonn" in str(worker.llm.requests[0].messages[-1]["content"]) for worker in (first, second)
    ]
    return reported == [False, True]


def _resolved(sample: SampleRun) -> bool:
    own = sample.made(memory=True)
    assert own.memory is True
    return (
        isinstance(own.resolve_memory().memory, Memory)
        and own.memory is not True
        and sample.made(memory=False).resolve_memory().memory is False
    )


def _noted(sample: SampleRun) -> bool:
    place = sample.folder / "noted"
    config = CheckpointConfig(location=str(place), on_events=["agent_execution_completed"])
    sample.work(sample.made("x", checkpoint=config))
    return len(list(place.rglob("main/*.json"))) == 1


def _begun_with(sample: SampleRun) -> bool:
    worker = sample.made("x", checkpoint=CheckpointConfig(location=str(sample.folder / "begun")))
    sample.mode.run(lambda: worker.kickoff("go"), lambda: worker.akickoff("go"))
    return worker.checkpoint_kickoff_event_id is not None


def _taken_up(method_name: str) -> Row:
    def taken_up(sample: SampleRun) -> bool:
        config = CheckpointConfig(
            location=str(sample.folder / method_name), on_events=["lite_agent_execution_completed"]
        )
        one = Agent(role="r", goal="g", backstory="b", llm="openai/gpt-4o-mini", checkpoint=config, max_iter=7)
        RuntimeState([one]).set_progress([{"thread_id": None, "database": None, "inputs": {}}]).checkpoint(
            config.location
        )
        made = getattr(Agent, method_name)(config)
        return made is not one and (made.role, made.max_iter) == ("r", 7)

    return taken_up


def _failed(sample: SampleRun) -> bool:
    worker = sample.made()
    sample.mode.kickoff(using_a_broken_tool(worker))
    failed = [one.tool_name for one in worker.last_tool_failures]
    worker.reset_tool_failures()
    with pytest.raises(ToolExecutionFailedError, match="the glass is broken"):
        sample.mode.kickoff(using_a_broken_tool(sample.made(tool_failure_policy="raise")))
    return failed == ["broken"] and list(worker.last_tool_failures) == []


WORKS: dict[str, Row] = {
    "last_tool_failures": _failed,
    "reset_tool_failures": _failed,
    "tool_failure_policy": _failed,
    "checkpoint": _noted,
    "checkpoint_kickoff_event_id": _begun_with,
    "entity_type": lambda sample: sample.made("x").entity_type == "agent",
    "fork": _taken_up("fork"),
    "from_checkpoint": _taken_up("from_checkpoint"),
    "adapted_agent": _adapted,
    "agent_executor": _carried_out,
    "allow_delegation": _delegating,
    "apps": _apps,
    "backstory": lambda sample: "of Bonn" in sample.at_work(),
    "cache": lambda sample: (sample.looks(cache=True), sample.looks(cache=False)) == (1, 2),
    "cache_handler": _shelved,
    "config": _configured,
    "crew": _in_a_crew,
    "goal": lambda sample: "see Bonn" in sample.at_work(),
    "i18n": _in_own_words,
    "id": lambda sample: sample.made().id != sample.made().id,
    "knowledge": _knowing,
    "knowledge_config": _knowing,
    "knowledge_sources": _knowing,
    "set_skills": _skilled,
    "skills": _skilled,
    "knowledge_storage": _knowing_elsewhere,
    "llm": lambda sample: sample.work(sample.made("three boats")) == "three boats",
    "max_iter": _ends,
    "max_rpm": _waits,
    "mcps": _served,
    "memory": _remembering,
    "role": lambda sample: "Keeper of Bonn" in sample.at_work(),
    "security_config": lambda sample: (
        sample.made(security_config={"fingerprint": "seed"}).fingerprint
        == SecurityConfig.model_validate({"fingerprint": "seed"}).fingerprint
    ),
    "tools": lambda sample: sample.looks() == 2,
    "tools_handler": _handled,
    "tools_results": _no_results,
    "verbose": _shown,
    "aexecute_task": _executed,
    "copy": _copied,
    "create_agent_executor": _made_its_executor,
    "execute_task": _executed,
    "get_delegation_tools": _own_delegating,
    "get_mcp_tools": _of_server,
    "get_platform_tools": _apps,
    "interpolate_inputs": _filled_by_hand,
    "resolve_memory": _resolved,
    "set_cache_handler": _shelved,
    "set_knowledge": _knowing,
    "set_rpm_controller": _gated,
    "key": lambda sample: sample.made().key == sample.made().key != sample.made(goal="another").key,
    "rpm_controller": _gated,
}


@pytest.fixture(params=[Agent, Plain])
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> SampleRun:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "_warned", set[tuple[str, str]]())
    return SampleRun(mode, tmp_path, request.param)


def test_every_public_name_works_or_is_listed_and_none_is_both():
    lists = [WORKS, NO_METHODS, IDLE]
    assert {name for names in lists for name in names} == NAMES
    assert sum(map(len, lists)) == len(NAMES)


def test_no_field_of_1_2_1_is_left_out():
    assert {*json.loads(OF_1_2_1.read_text("utf-8"))["BaseAgent"]} <= NAMES


def test_every_name_works(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []


@pytest.mark.parametrize("name", IDLE)
def test_what_has_no_effect_says_so(sample: SampleRun, name: str):
    with pytest.warns(WithoutEffect, match=f"without effect: `{name}` of `Agent`"):
        assert sample.work(sample.made("x", **{name: IDLE[name]})) == "x"


def test_what_is_listed_as_absent_is_absent():
    assert [name for name in NO_METHODS if name in Agent.model_fields] == []
    assert [name for name in NO_METHODS if hasattr(Agent, name)] == ["model_post_init"]
