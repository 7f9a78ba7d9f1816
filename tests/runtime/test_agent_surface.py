"""Every public name that `Agent` has beside those of `BaseAgent`: each works here, or is listed with what happens today.

The names are those of CrewAI 1.2.1 and 1.15.30.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from modes import Mode
from pydantic import BaseModel
from servers.a2a_server import RemoteServer, says
from servers.docker_program import put_docker
from waiting import BlockedCall

from crewgraph import Agent, Converter, CrewOutput, ScriptedLLM, ToolUse
from crewgraph.compiler import preflight
from crewgraph.compiler.preflight import WithoutEffect
from crewgraph.contrib.a2a import A2AClientConfig
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.definitions.base import Fingerprint
from crewgraph.definitions.task.conversion import convert_with_instructions
from crewgraph.errors import CompileError, GuardrailFailed, TimeLimitReached
from crewgraph.llm.errors import ContextLengthExceeded

from .parts import agent, asked, crew, task
from .sample_run import BONN, FAR, LOOK, Town
from .test_base_agent_surface import BASE_AGENT

AGENT = """
agent_knowledge_context allow_code_execution code_execution_mode crew_knowledge_context date_format embedder from_repository
function_calling_llm guardrail guardrail_max_retries inject_date knowledge_search_query max_execution_time
max_reasoning_attempts max_retry_limit multimodal prompt_template reasoning respect_context_window response_template
step_callback system_template use_system_prompt
a2a executor_class planning planning_config use_better_compaction
akickoff get_code_execution_tools get_multimodal_tools get_output_converter kickoff kickoff_async message post_init_setup
set_fingerprint validate_from_repository
fingerprint last_messages planning_enabled
"""
NAMES = set(AGENT.split())
OF_1_2_1 = Path(__file__).parents[1] / "definitions" / "fields.json"

_RULE = "a rule that pydantic applies when the agent is made, not a method; what it checks is checked here, too"
NO_METHODS: dict[str, str] = {
    "post_init_setup": _RULE,
    "validate_from_repository": _RULE,
}
REFUSED: dict[str, Any] = {"from_repository": "keeper"}
"""Refused by name."""


class Bonn(Converter):
    """Knows one town."""

    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        return self.model(name=f"{self.text}!")


class OfItsOwn(Agent):
    """Has a converter of its own."""

    def get_output_converter(self, llm: Any, text: str, model: type[BaseModel], instructions: str) -> Converter:
        return Bonn(llm=llm, text=text, model=model, instructions=instructions)


@dataclass
class SampleRun:
    """Agents at work."""

    mode: Mode
    folder: Path

    def look(self, where: str) -> str:
        """Look somewhere."""
        return "three boats"

    def ran(self, worker: Agent, **of_task: Any) -> CrewOutput:
        return self.mode.kickoff(crew(task("one", worker, **of_task), checkpointer=False))

    def looking(self, *script: Any, **fields: Any) -> Agent:
        return agent(ScriptedLLM(list(script)), tools=[self.look], **fields)

    def reported(self, *script: Any, **fields: Any) -> list[str]:
        """All that the model of a working agent is told, request by request."""
        worker = agent(ScriptedLLM([*script, "x"]), **fields)
        self.ran(worker)
        return [request.text for request in cast("ScriptedLLM", worker.llm).requests]

    def replied(self, worker: Agent) -> str:
        return self.mode.run(worker.kickoff, worker.akickoff, "How many boats?").raw


Row = Callable[[SampleRun], Any]


def _code(sample: SampleRun) -> bool:
    worker = agent(ScriptedLLM([ToolUse("code_interpreter", {"code": "print(6 * 7)"}), "x"]), allow_code_execution=True)
    sample.ran(worker)
    names = [tool.name for tool in worker.get_code_execution_tools()]
    assert len(names) == 1 and "Code" in names[0]
    return asked(cast("ScriptedLLM", worker.llm))[1] == "Observation: 42\n"


def _code_in_docker_alone(sample: SampleRun) -> bool:
    with pytest.raises(CompileError, match="unsafe"):
        sample.ran(agent(ScriptedLLM(["x"]), allow_code_execution=True, code_execution_mode="unsafe"))
    return _code(sample)


def _structured_by(sample: SampleRun) -> bool:
    reader = ScriptedLLM([BONN])
    output = sample.ran(agent(ScriptedLLM(["in Bonn"]), function_calling_llm=reader), output_pydantic=Town)
    return output.pydantic == Town(name="Bonn") and len(reader.requests) == 1


def _guarded(sample: SampleRun) -> bool:
    def good(output: Any) -> tuple[bool, Any]:
        return output.raw == "good", output.raw if output.raw == "good" else "no"

    with pytest.raises(GuardrailFailed):
        sample.replied(agent(ScriptedLLM(["bad", "good"]), guardrail=good, guardrail_max_retries=0))
    return sample.replied(agent(ScriptedLLM(["bad", "good"]), guardrail=good, guardrail_max_retries=1)) == "good"


def _limited(sample: SampleRun) -> bool:
    with BlockedCall() as late, pytest.raises(TimeLimitReached):
        sample.ran(agent(ScriptedLLM(late), max_execution_time=0.1))
    return True


def _planned(sample: SampleRun) -> bool:
    once = sample.reported("Look.\nNOT READY: where?", reasoning=True, max_reasoning_attempts=1)
    twice = sample.reported("Look.\nNOT READY: where?", "Look at home.\nREADY", reasoning=True)
    return (len(once), len(twice)) == (2, 3) and "Look at home." in twice[-1]


def _by_steps(sample: SampleRun) -> bool:
    plan = '{"plan": "P", "steps": [{"step_number": 1, "description": "Look."}], "ready": true}'
    simply = sample.reported(plan, "at home", planning=True)
    seen_through = sample.reported(plan, "at home", "{}", "{}", planning_config=PlanningConfig())
    worker = agent(ScriptedLLM([]), planning_config=PlanningConfig())
    return (len(simply), len(seen_through)) == (3, 5) and "at home" in simply[-1] and worker.planning_enabled


def _again(sample: SampleRun) -> bool:
    with pytest.raises(RuntimeError, match="down"):
        sample.ran(agent(ScriptedLLM([RuntimeError("down"), "x"]), max_retry_limit=0))
    return sample.ran(agent(ScriptedLLM([RuntimeError("down"), "x"]), max_retry_limit=1)).raw == "x"


def _seeing(sample: SampleRun) -> bool:
    (tool,) = agent(ScriptedLLM([])).get_multimodal_tools()
    offered = "add_image_to_content"
    assert tool.spec["name"] == offered
    return offered in sample.reported(multimodal=True)[0] and offered not in sample.reported()[0]


def _condensed(sample: SampleRun) -> bool:
    script = [FAR, ContextLengthExceeded("maximum context length"), "short", "x"]
    with pytest.raises(ContextLengthExceeded):
        sample.ran(sample.looking(*script, respect_context_window=False))
    return sample.ran(sample.looking(*script)).raw == "x"


def _framed(sample: SampleRun) -> bool:
    templates = {
        "system_template": "<s>{{ .System }}",
        "prompt_template": "<p>{{ .Prompt }}",
        "response_template": "<r>{{ .Response }}</r>",
    }
    model = ScriptedLLM(["three boats</r> and more"])
    output = sample.ran(agent(model, **templates))
    (reported,) = asked(model)
    return reported.startswith("<s>") and "<p>" in reported and reported.endswith("<r>") and output.raw == "three boats"


def _stepped(sample: SampleRun) -> bool:
    steps: list[Any] = []
    sample.ran(sample.looking(LOOK, "x", step_callback=steps.append))
    return [type(one).__name__ for one in steps] == ["AgentAction", "AgentFinish"]


def _in_one_message(sample: SampleRun) -> bool:
    models = [ScriptedLLM(["x"]), ScriptedLLM(["x"])]
    for model, wish in zip(models, (True, False), strict=True):
        sample.ran(agent(model, use_system_prompt=wish))
    roles = [[message["role"] for message in model.requests[0].messages] for model in models]
    return roles == [["system", "user"], ["user"]]


def _kicked_off(sample: SampleRun) -> bool:
    worker = agent(ScriptedLLM(["x", "x", BONN]))
    ways = (worker.kickoff, worker.kickoff_async), (worker.kickoff, worker.akickoff)
    assert [sample.mode.run(*way, "How many?").raw for way in ways] == ["x", "x"]
    return sample.mode.run(*ways[1], "Where?", Town).pydantic == Town(name="Bonn")


def _converted(sample: SampleRun) -> bool:
    reader = ScriptedLLM([BONN])
    plain = agent(ScriptedLLM([])).get_output_converter(llm=reader, text="in Bonn", model=Town, instructions="as JSON")
    assert plain.to_pydantic() == Town(name="Bonn") and "as JSON" in reader.requests[0].text
    own = OfItsOwn(role="r", goal="g", backstory="b", llm=ScriptedLLM(["Kiel", BONN]))
    assert sample.ran(own, output_pydantic=Town).pydantic == Town(name="Kiel!")
    assert convert_with_instructions("Ulm", Town, False, own) == Town(name="Ulm!")
    return sample.ran(own, output_json=Town).json_dict == {"name": "Bonn"}  # it was one already


def _identified(sample: SampleRun) -> bool:
    worker, one = agent(ScriptedLLM([])), Fingerprint.generate("seed")
    worker.set_fingerprint(one)
    assert worker.fingerprint is one is worker.security_config.fingerprint
    worker.set_fingerprint("another")
    return worker.fingerprint == Fingerprint.generate("another")


def _knowing(sample: SampleRun) -> bool:
    names = ("knowledge_search_query", "agent_knowledge_context", "crew_knowledge_context")
    worker = agent(ScriptedLLM(["boats", "x"]), knowledge_sources=["three boats"])
    before = [getattr(worker, name) for name in names]
    sample.mode.kickoff(crew(task("one", worker), checkpointer=False, knowledge_sources=["two boats"]))
    return before == [None, None, None] and [getattr(worker, name) for name in names] == [
        "boats",
        "three boats",
        "two boats",
    ]


def _embedded(sample: SampleRun) -> bool:
    texts: list[str] = []

    def embed(given: list[str]) -> list[list[float]]:
        texts.extend(given)
        return [[1.0, 0.0] for _ in given]

    sample.ran(agent(ScriptedLLM(["boats", "x"]), knowledge_sources=["three boats"], embedder=embed))
    return {"three boats", "boats"} <= {*texts}


def _elsewhere(sample: SampleRun) -> bool:
    with RemoteServer([says("depth 9")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint)
        worker = agent(ScriptedLLM([ToolUse("Ask Harbour Office", {"message": "depth?"}), "x"]), a2a=remote)
        sample.ran(worker)
        return server.texts == ["depth?"]


class Loud:
    """Does an agent's work, for an agent that is told so by its class."""

    def __init__(self, *, agent: Agent, tools: list[Any], **given: Any) -> None:
        self.agent, self.tools = agent, tools

    def invoke(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"output": f"{self.agent.role} with {len(self.tools)}, asked for {inputs['input'][-4:]}"}


def _by_class(sample: SampleRun) -> bool:
    return sample.ran(sample.looking(executor_class=Loud), description="the boats").raw.startswith("worker with 1")


def _said(sample: SampleRun) -> bool:
    worker = sample.looking(LOOK, "x", "y")
    sample.ran(worker)
    assert [one["role"] for one in worker.last_messages] == ["system", "user", "assistant", "user"]
    sample.replied(worker)
    return worker.last_messages[-1] == {"role": "assistant", "content": "y"}


def _in_one_way(sample: SampleRun) -> bool:
    with pytest.warns(WithoutEffect, match="`use_better_compaction` of `Agent`"):
        return sample.ran(agent(ScriptedLLM(["x"]), use_better_compaction=False)).raw == "x"


WORKS: dict[str, Row] = {
    "executor_class": _by_class,
    "last_messages": _said,
    "use_better_compaction": _in_one_way,
    "message": lambda sample: agent(ScriptedLLM(["nine"])).message("How many?") == "nine",
    "a2a": _elsewhere,
    "allow_code_execution": _code,
    "code_execution_mode": _code_in_docker_alone,
    "date_format": lambda sample: "the year 20" in sample.reported(inject_date=True, date_format="the year %Y")[0],
    "function_calling_llm": _structured_by,
    "agent_knowledge_context": _knowing,
    "crew_knowledge_context": _knowing,
    "embedder": _embedded,
    "knowledge_search_query": _knowing,
    "guardrail": _guarded,
    "guardrail_max_retries": _guarded,
    "inject_date": lambda sample: (
        "<20" in sample.reported(inject_date=True, date_format="<%Y>")[0]
        and "<20" not in sample.reported(date_format="<%Y>")[0]
    ),
    "max_execution_time": _limited,
    "max_reasoning_attempts": _planned,
    "max_retry_limit": _again,
    "multimodal": _seeing,
    "planning": _by_steps,
    "planning_config": _by_steps,
    "planning_enabled": _by_steps,
    "prompt_template": _framed,
    "reasoning": _planned,
    "respect_context_window": _condensed,
    "response_template": _framed,
    "step_callback": _stepped,
    "system_template": _framed,
    "use_system_prompt": _in_one_message,
    "akickoff": _kicked_off,
    "get_code_execution_tools": _code,
    "get_multimodal_tools": _seeing,
    "get_output_converter": _converted,
    "kickoff": _kicked_off,
    "kickoff_async": _kicked_off,
    "set_fingerprint": _identified,
    "fingerprint": _identified,
}


@pytest.fixture
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRun:
    put_docker(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ.get('PATH', '')}")
    monkeypatch.setattr(preflight, "_warned", set[tuple[str, str]]())
    return SampleRun(mode, tmp_path)


def test_every_public_name_works_or_is_listed_and_none_is_both():
    lists = [WORKS, NO_METHODS, REFUSED]
    assert {name for names in lists for name in names} == NAMES
    assert sum(map(len, lists)) == len(NAMES)


def test_no_field_of_1_2_1_is_left_out():
    assert {*json.loads(OF_1_2_1.read_text("utf-8"))["Agent"]} <= NAMES | {*BASE_AGENT.split()}


def test_every_name_works(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_offered_is_refused_by_name(sample: SampleRun, name: str):
    with pytest.raises(CompileError, match=f"does not offer `{name}` of agent `worker`"):
        sample.ran(agent(ScriptedLLM(["x"]), **{name: REFUSED[name]}))


def test_what_is_listed_as_absent_is_absent():
    assert [name for name in NO_METHODS if name in Agent.model_fields or hasattr(Agent, name)] == []
