"""Fields and methods of the public classes that no other test is about."""

import asyncio
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import (
    Agent,
    BaseAgent,
    ConditionalTask,
    Converter,
    Crew,
    CrewOutput,
    ScriptedLLM,
    Task,
    ToolUse,
    UsageMetrics,
)
from crewgraph.definitions.base import Fingerprint, SecurityConfig
from crewgraph.definitions.task.conversion import convert_to_model
from crewgraph.errors import CompileError
from crewgraph.flow import Flow, start
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.llm.rate_limit import RPMController
from crewgraph.memory.memory import Memory
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.failure import ToolExecutionFailedError

from .parts import agent, crew, task, using_a_broken_tool

BONN = '{"name": "Bonn"}'
LOOK = ToolUse("look", {"where": "sea"})


class Town(BaseModel):
    name: str


class Plain(BaseAgent):
    """What every agent has, and no more."""


class Gate:
    """Admits every request and counts them."""

    passed = 0

    def check_or_wait(self) -> bool:
        self.passed += 1
        return True


def look(where: str) -> str:
    """Look somewhere."""
    return "three boats"


def lighthouse(name: str) -> str:
    """Look at a lighthouse."""
    return name


def keeper(kind: type[BaseAgent], *script: Any, **fields: Any) -> Any:
    texts: dict[str, Any] = {"role": "Keeper of {place}", "goal": "see {place}", "backstory": "of {place}"}
    made: Any = kind
    return made(**{**texts, "llm": ScriptedLLM(list(script)), **fields})


def work(mode: Mode, worker: BaseAgent, *others: BaseAgent, **of_crew: Any) -> str:
    """Let a crew of one task work, and return all that the agent's model was told."""
    given: dict[str, Any] = {"tasks": [task("one", worker)], "checkpointer": False, **of_crew}
    mode.kickoff(Crew(agents=[worker, *others], **given), {"place": "Bonn"})
    return "\n".join(request.text for request in cast("ScriptedLLM", worker.llm).requests)


@pytest.fixture(params=[Agent, Plain])
def kind(request: pytest.FixtureRequest) -> type[BaseAgent]:
    return request.param


def test_what_an_agent_works_with_is_set_by_methods(mode: Mode, kind: type[BaseAgent], tmp_path: Path):
    folder = tmp_path / "boats"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: boats\ndescription: On boats.\n---\nCount twice.", "utf-8")
    worker, gate, shelf = keeper(kind, LOOK, "x", tools=[look]), Gate(), CacheHandler()
    worker.set_rpm_controller(gate)
    worker.set_cache_handler(shelf)
    worker.set_skills(keeper(kind, skills=[folder]).skills)
    with pytest.raises(ValueError, match="read"):
        worker.set_cache_handler(object())
    assert "On boats." in work(mode, worker)
    assert (gate.passed, worker.rpm_controller) == (2, gate)
    assert worker.cache_handler is shelf
    assert [used["tool_name"] for used in worker.tools_results] == ["look"]


def test_knowledge_of_an_agent_is_read_anew_and_kept_where_it_says(mode: Mode, kind: type[BaseAgent], tmp_path: Path):
    worker = keeper(kind, "boats", "x", knowledge_sources=["two boats"], knowledge_storage=tmp_path / "elsewhere")
    worker.set_knowledge()
    before, worker.knowledge_sources = worker.knowledge, ["three boats"]
    worker.set_knowledge()
    assert isinstance(worker.knowledge, Knowledge) and worker.knowledge is not before
    assert "three boats" in work(mode, worker)
    assert (tmp_path / "elsewhere" / "knowledge.db").exists()


def test_the_memory_of_an_agent_is_made_when_it_is_asked_for(kind: type[BaseAgent]):
    own = keeper(kind, memory=True)
    assert own.memory is True and isinstance(own.resolve_memory().memory, Memory) and own.memory is not True
    assert keeper(kind, memory=False).resolve_memory().memory is False


def test_a_subclass_decides_which_tools_and_which_executor_its_agents_have(mode: Mode, kind: type[BaseAgent]):
    def granted(self: BaseAgent, others: Sequence[Any]) -> list[Any]:
        return [lighthouse]

    def make(self: BaseAgent, tools: Any = None, task: Any = None) -> None:
        self.agent_executor = lambda input: "of its own"  # pyright: ignore[reportUnknownLambdaType]

    diver = keeper(kind, role="Diver")
    assert [one.name for one in keeper(kind).get_delegation_tools([diver])] == [
        "Delegate work to coworker",
        "Ask question to coworker",
    ]
    own = type("Own", (kind,), {"get_delegation_tools": granted, "get_platform_tools": granted})
    assert "lighthouse" in work(mode, keeper(own, "x", allow_delegation=True), diver)
    assert "lighthouse" in work(mode, keeper(own, "x", apps=["gmail"]))
    executed = keeper(type("Made", (kind,), {"create_agent_executor": make}))
    work(mode, executed)
    assert executed.crew.tasks[0].output.raw == "of its own"


def test_applications_of_the_hosted_platform_are_refused_with_what_to_override(mode: Mode, kind: type[BaseAgent]):
    with pytest.raises(CompileError, match=r"`apps` \(gmail\) are applications of CrewAI's hosted platform"):
        work(mode, keeper(kind, "x", apps=["gmail"]))
    with pytest.raises(CompileError, match="override `get_platform_tools`"):
        keeper(kind).get_platform_tools(["gmail"])


def test_an_agent_is_filled_in_by_hand_and_has_a_key(kind: type[BaseAgent]):
    worker = keeper(kind)
    worker.interpolate_inputs({"place": "Kiel"})
    assert (worker.role, worker.goal, worker.backstory) == ("Keeper of Kiel", "see Kiel", "of Kiel")
    assert keeper(kind).key == keeper(kind).key != keeper(kind, goal="another").key


def test_failures_of_tools_are_listed_until_they_are_reset(mode: Mode, kind: type[BaseAgent]):
    worker = keeper(kind)
    output = mode.kickoff(using_a_broken_tool(worker))
    for failures in (worker.last_tool_failures, output.tool_failures, output.tasks_output[0].tool_failures):
        assert [one.tool_name for one in failures] == ["broken"]
    assert output.has_tool_failures and output.tasks_output[0].has_tool_failures
    worker.reset_tool_failures()
    assert list(worker.last_tool_failures) == []
    with pytest.raises(ToolExecutionFailedError, match="the glass is broken"):
        mode.kickoff(using_a_broken_tool(keeper(kind, tool_failure_policy="raise")))


class Bonn(Converter):
    """Knows one town."""

    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        return self.model(name=f"{self.text}!")


class OfItsOwn(Agent):
    """Has a converter of its own."""

    def get_output_converter(self, llm: Any, text: str, model: type[BaseModel], instructions: str) -> Converter:
        return Bonn(llm=llm, text=text, model=model, instructions=instructions)


def test_an_agents_converter_makes_its_structures(mode: Mode):
    reader = ScriptedLLM([BONN])
    plain = agent(ScriptedLLM([])).get_output_converter(llm=reader, text="in Bonn", model=Town, instructions="as JSON")
    assert plain.to_pydantic() == Town(name="Bonn") and "as JSON" in reader.requests[0].text
    own = OfItsOwn(role="r", goal="g", backstory="b", llm=ScriptedLLM(["Kiel", BONN]))
    made = crew(task("one", own, output_pydantic=Town), checkpointer=False)
    assert mode.kickoff(made).pydantic == Town(name="Kiel!")
    assert convert_to_model("Ulm", Town, None, own) == Town(name="Ulm!")


def test_an_agent_shows_what_it_was_told_and_knew(mode: Mode):
    worker = agent(ScriptedLLM(["boats", "x"]), knowledge_sources=["three boats"])
    mode.kickoff(crew(task("one", worker), checkpointer=False, knowledge_sources=["two boats"]))
    assert worker.knowledge_search_query == "boats"
    assert (worker.agent_knowledge_context, worker.crew_knowledge_context) == ("three boats", "two boats")
    assert [one["role"] for one in worker.last_messages] == ["system", "user"]
    (tool,) = worker.get_multimodal_tools()
    assert tool.spec["name"] == "add_image_to_content"


class Loud:
    """Does the work of an agent that names this class."""

    def __init__(self, *, agent: Agent, tools: list[Any], **given: Any) -> None:
        self.agent, self.tools = agent, tools

    def invoke(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"output": f"{self.agent.role} with {len(self.tools)}, asked for {inputs['input'][-4:]}"}


def test_a_class_executes_for_its_agent(mode: Mode):
    worker = agent(ScriptedLLM([]), tools=[look], executor_class=Loud)
    made = crew(task("one", worker, description="the boats"), checkpointer=False)
    assert mode.kickoff(made).raw.startswith("worker with 1")


def test_an_agent_is_asked_without_a_crew(mode: Mode):
    worker = agent(ScriptedLLM(["nine", "ten"]))
    assert worker.message("How many?") == "nine"
    assert mode.run(worker.kickoff, worker.kickoff_async, "And now?").raw == "ten"


def test_definitions_have_identities():
    worker, one = agent(ScriptedLLM([])), Fingerprint.generate("seed")
    worker.set_fingerprint(one)
    assert worker.fingerprint is one is worker.security_config.fingerprint
    made = crew(task("one", worker), security_config=SecurityConfig.model_validate({"fingerprint": "seed"}))
    assert made.fingerprint == one and made.key == made.copy().key
    assert made.tasks[0].key == task("one", worker).key


def test_crews_share_a_controller_of_their_requests(mode: Mode):
    gate, shared = Gate(), RPMController(max_rpm=9)
    mode.kickoff(crew(task("one", agent(ScriptedLLM(["x"]))), rpm_controller=gate))
    assert gate.passed == 1
    assert crew(task("one", agent(ScriptedLLM([]))), rpm_controller=shared).copy().rpm_controller is shared


def test_a_crew_knows_the_flow_that_made_it(mode: Mode):
    class Harbour(Flow[Any]):
        @start()
        def open(self) -> Any:
            return crew(task("one", agent(ScriptedLLM([]))))

    flow = Harbour()
    made: Any = mode.run(flow.kickoff, flow.akickoff)
    assert made.parent_flow is flow and made.copy().parent_flow is None


def test_knowledge_and_memory_of_a_crew_are_used_by_hand(mode: Mode):
    made = crew(task("one", agent(ScriptedLLM([]))), checkpointer=False)
    knows = crew(task("one", agent(ScriptedLLM([]))), checkpointer=False, knowledge_sources=["three boats"])
    assert knows.create_crew_knowledge() is knows
    for _ in range(2):
        found = mode.run(knows.query_knowledge, knows.aquery_knowledge, ["boats"], 3, 0.5)
        assert [one["content"] for one in found or ()] == ["three boats"]
        knows.reset_knowledge([knows.knowledge])
    assert mode.run(made.query_knowledge, made.aquery_knowledge, ["boats"], 3, 0.5) is None
    kinds = ("short_term_memory", "long_term_memory", "entity_memory")
    assert [getattr(made.create_crew_memory(), kind) for kind in kinds] == [None] * 3
    made.memory = True
    assert made.create_crew_memory() is made and None not in [getattr(made, kind) for kind in kinds]


def test_what_runs_used_is_added_and_subtracted(mode: Mode):
    made = crew(task("one", agent(ScriptedLLM(["x"], usage={"total_tokens": 30}))), checkpointer=False)
    assert made.calculate_usage_metrics() == UsageMetrics()
    output = mode.kickoff(made)
    used = output.token_usage
    assert output.usage_metrics["total_tokens"] == 30
    assert made.calculate_usage_metrics() == made.usage_metrics == used and used.total_tokens == 30
    both = UsageMetrics(total_tokens=1, reasoning_tokens=2)
    both.add_usage_metrics(used)
    assert (both.total_tokens, both.successful_requests) == (31, 1)
    assert both.delta_since(used) == UsageMetrics(total_tokens=1, reasoning_tokens=2)
    expected = UsageMetrics(total_tokens=7, prompt_tokens=3, completion_tokens=4, successful_requests=1)
    assert UsageMetrics.from_provider_dict({"input_tokens": 3, "output_tokens": 4}) == expected
    assert UsageMetrics.from_provider_dict({}) is None


def test_a_task_counts_and_can_be_counted_for():
    one = Task(description="d {a}", expected_output="e")
    one.increment_tools_errors()
    one.increment_delegations("Clerk")
    one.increment_delegations(None)
    assert (one.tools_errors, one.delegations, one.processed_by_agents) == (1, 2, {"Clerk"})
    one.interpolate_inputs_and_add_conversation_history({"a": 1})
    assert one.description == "d 1"


def test_a_task_executed_alone_shows_its_context(mode: Mode):
    one = Task(description="d", expected_output="e")
    output = mode.run(one.execute_sync, one.aexecute_sync, agent(ScriptedLLM(["x"])), "known", [look])
    assert (output.raw, one.prompt_context) == ("x", "known")


def test_a_condition_is_asked_by_hand():
    def never(output: Any) -> bool:
        return False

    perhaps = ConditionalTask(never, description="d", expected_output="e", agent=agent(ScriptedLLM([])))
    skipped = perhaps.get_skipped_task_output()
    assert skipped.raw == "" and not perhaps.should_execute(skipped)


class Audited(Crew):
    """Overrides methods that others call."""

    def fork(self, *args: Any, **keywords: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "fork", args, keywords

    async def afork(self, *args: Any, **keywords: Any) -> Any:
        return "afork", args, keywords

    async def akickoff_for_each(self, *args: Any, **keywords: Any) -> Any:
        return "akickoff_for_each", args, keywords

    def enqueue(self, *args: Any, **keywords: Any) -> Any:
        return "enqueue", args, keywords

    def enqueue_for_each(self, *args: Any, **keywords: Any) -> Any:
        return "enqueue_for_each", args, keywords


class AuditedFlow(Flow):
    @start()
    def begin(self) -> None: ...

    async def aresume(self, *args: Any, **keywords: Any) -> Any:
        return "aresume", args, keywords


def test_methods_call_what_a_subclass_overrides():
    audited: Any = Audited(tasks=[task("one", agent(None))], agents=[])
    flow: Any = AuditedFlow()
    again = {"thread_id": "t", "new_thread_id": None, "checkpointer": None}
    assert audited.replay(1, {"x": 1}, "t") == ("fork", (1, None, {"x": 1}), again)
    calls: dict[Any, Any] = {
        audited.areplay(1, {"x": 1}, "t"): ("afork", (1, None, {"x": 1}), again),
        audited.kickoff_for_each_async([{}], max_concurrency=2): ("akickoff_for_each", ([{}],), {"max_concurrency": 2}),
        audited.aenqueue({"x": 1}, delay=3): ("enqueue", ({"x": 1},), {"delay": 3}),
        audited.aenqueue_for_each([{}], limit=1): ("enqueue_for_each", ([{}],), {"limit": 1}),
        flow.resume_async("id", feedback="yes"): ("aresume", ("id",), {"feedback": "yes"}),
    }
    assert [asyncio.run(call) for call in calls] == [*calls.values()]


def test_the_forms_of_a_method_have_their_own_names_and_its_parameters():
    others = {"kickoff_for_each_async": "akickoff_for_each", "aenqueue": "enqueue", "areplay": "replay"}
    for name, other in others.items():
        method, origin = getattr(Crew, name), getattr(Crew, other)
        assert (method.__name__, method.__qualname__.rpartition(".")[2]) == (name, name)
        assert inspect.iscoroutinefunction(method)
        assert inspect.signature(method).parameters == inspect.signature(origin).parameters
    for kickoff in (Crew.kickoff, Crew.akickoff):
        assert inspect.signature(kickoff).return_annotation is CrewOutput
        assert inspect.get_annotations(kickoff)["return"] is CrewOutput
        assert "inputs" in inspect.get_annotations(kickoff)
    each: Any = crew(task("one", agent(None)))
    with pytest.raises(TypeError, match="many"):
        asyncio.run(each.kickoff_for_each_async([{}], many=1))
