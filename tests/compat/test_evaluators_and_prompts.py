import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agents.evaluation import CrewEvaluator, Entity, TaskEvaluation, TaskEvaluator
from crewgraph_compat.stand_ins.agents.planning import CrewPlanner
from crewgraph_compat.stand_ins.agents.steps import (
    process_guardrail,
    serialize_guardrail_for_json,
    serialize_guardrails_for_json,
)
from crewgraph_compat.stand_ins.console.prompts import Prompts, SystemPromptResult
from crewgraph_compat.stand_ins.models.llms import create_llm
from crewgraph_compat.stand_ins.models.structured import InternalInstructor, TrainingConverter
from crewgraph_compat.stand_ins.storage.outputs import TaskOutputStorageHandler
from crewgraph_compat.stand_ins.tools.schemas import PydanticSchemaParser
from pydantic import BaseModel

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.definitions.crew.training import TrainedAgent
from crewgraph.definitions.task.conversion import (
    async_convert_to_model,
    async_convert_with_instructions,
    async_handle_partial_json,
)
from crewgraph.errors import ConverterError, ModelError
from crewgraph.testing import record_events


class Tide(BaseModel):
    height: int


def clerk(*answers: str) -> Agent:
    return Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(list(answers)))


def work(agent: Agent, number: int = 1) -> Task:
    return Task(description=f"The tide {number}?", expected_output="A word", agent=agent)


# ---------------------------------------------------------------- converting
def test_texts_are_converted_off_the_event_loop():
    agent = clerk('{"height": 3}')
    assert asyncio.run(async_convert_to_model('{"height": 1}', Tide, None)) == Tide(height=1)
    assert asyncio.run(async_handle_partial_json('so: {"height": 2}', Tide, True, agent)) == {"height": 2}
    assert asyncio.run(async_convert_with_instructions("three", Tide, False, agent)) == Tide(height=3)


def test_a_text_is_given_a_structure_by_hand():
    made = InternalInstructor("two", Tide, llm=ScriptedLLM(['{"height": 2}', '{"height": 2}']))
    assert made.to_pydantic() == Tide(height=2)
    assert made.to_json() == '{\n  "height": 2\n}'
    assert InternalInstructor("two", Tide, clerk('{"height": 4}')).to_pydantic() == Tide(height=4)
    with pytest.raises(ValueError, match="a model is needed"):
        InternalInstructor("two", Tide)


def test_what_was_learned_is_asked_for_field_by_field():
    llm = ScriptedLLM(["no"] * 3 + ["1. Say the hour\n- Say the place", "8.5 of 10", "More detail."])
    made = TrainingConverter(text="t", llm=llm, model=TrainedAgent, instructions="i").to_pydantic()
    assert made == TrainedAgent(
        suggestions=["Say the hour", "Say the place"], quality=8.5, final_summary="More detail."
    )
    whole = ScriptedLLM(['{"suggestions": [], "quality": 7, "final_summary": "f"}'])
    made = TrainingConverter(text="t", llm=whole, model=TrainedAgent, instructions="i").to_pydantic()
    assert made == TrainedAgent(suggestions=[], quality=7, final_summary="f")
    with pytest.raises(ConverterError, match="each field separately"):
        TrainingConverter(text="t", llm=ScriptedLLM(["no"] * 6), model=TrainedAgent, instructions="i").to_pydantic()


def test_a_model_is_described_in_a_text():
    assert PydanticSchemaParser(model=Tide).get_schema() == '{\n  "height": integer\n}'


# ---------------------------------------------------------------- planning and judging
def test_tasks_are_planned_by_hand():
    plan = '{"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "look"}]}'
    agent = clerk(plan)
    planner = CrewPlanner([work(agent)])
    assert planner.planning_agent_llm is agent.llm
    assert planner._handle_crew_planning().list_of_plans_per_task[0].plan == "look"  # pyright: ignore[reportPrivateUsage]


def test_a_plan_that_cannot_be_read_is_reported():
    planner = CrewPlanner([work(clerk("?"))], ScriptedLLM(["no plan"] * 8))
    with pytest.raises(ValueError, match="plan could not be parsed"):
        planner._handle_crew_planning()  # pyright: ignore[reportPrivateUsage]


def test_a_result_is_judged_by_hand():
    said = TaskEvaluation(
        suggestions=["Say the hour"],
        quality=7,
        entities=[Entity(name="Ostend", type="port", description="", relationships=[])],
    )
    agent = clerk(said.model_dump_json())
    assert TaskEvaluator(agent).evaluate(work(agent), "high") == said


def test_what_is_to_be_learned_is_found_by_hand():
    learned = TrainedAgent(suggestions=["Say the hour"], quality=7, final_summary="f")
    evaluator = TaskEvaluator(clerk(learned.model_dump_json()))
    said = {"initial_output": "high", "human_feedback": "when?", "improved_output": "high at noon"}
    assert evaluator.evaluate_training_data({"a": {0: said}}, "a") == learned
    with pytest.raises(ValueError, match="round 0 of agent `a` lacks `improved_output`"):
        evaluator.evaluate_training_data({"a": {0: {**said, "improved_output": ""}}}, "a")
    with pytest.raises(KeyError):
        evaluator.evaluate_training_data({}, "a")


def test_outputs_of_a_crew_are_marked_as_they_come(capsys: pytest.CaptureFixture[str]):
    agent = clerk("high", "low")
    tasks = [work(agent), work(agent, 2)]
    crew = Crew(agents=[agent], tasks=tasks)
    evaluator = CrewEvaluator(crew, ScriptedLLM(['{"quality": 8}', '{"quality": 6}']))
    evaluator.set_iteration(1)
    crew.kickoff()
    assert evaluator.tasks_scores == {1: [8.0, 6.0]}
    assert len(evaluator.run_execution_times[1]) == 2
    evaluator.print_crew_evaluation_result()
    assert "7.0" in capsys.readouterr().out
    with pytest.raises(ValueError, match="no task of the crew"):
        evaluator.evaluate(TaskOutput(description="another", agent="Clerk", raw="x"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((True, "better"), (True, "better", None)),
        ((True, None), (True, None, None)),
        ((False, "no"), (False, None, "no")),
    ],
)
def test_a_guardrail_is_carried_out_by_hand(said: Any, expected: Any):
    def guardrail(output: TaskOutput) -> Any:
        return said

    result = process_guardrail(TaskOutput(description="d", agent="a", raw="r"), guardrail, 2)
    assert (result.success, result.result, result.error) == expected


def test_a_guardrail_that_returns_no_pair_is_reported():
    def guardrail(output: TaskOutput) -> bool:
        return True

    with record_events() as events, pytest.raises(TypeError, match="returns"):
        process_guardrail(TaskOutput(description="d", agent="a", raw="r"), guardrail, 0)
    assert [one.type for one in events] == ["llm_guardrail_started", "llm_guardrail_failed"]


def test_guardrails_are_written_down_without_functions(caplog: pytest.LogCaptureFixture):
    assert serialize_guardrail_for_json("short") == "short"
    assert serialize_guardrail_for_json(None) is None
    assert serialize_guardrails_for_json([len, "short"]) == ["short"]
    assert serialize_guardrails_for_json("short") == "short"
    assert "`guardrails` is a function" in caplog.text


# ---------------------------------------------------------------- prompts
def test_a_prompt_leaves_the_placeholders_of_the_task_open():
    made = Prompts(agent=clerk(), has_tools=True, use_system_prompt=True).task_execution()
    assert isinstance(made, SystemPromptResult)
    assert made["system"] == made.get("system") == made.system
    assert "Clerk" in made.system
    assert "{tools}" in made.system
    assert "{tool_names}" in made.system
    assert "{input}" in made.user
    assert made.prompt == f"{made.system}\n\n{made.user}"


def test_a_prompt_of_one_message_has_no_system_part():
    made = Prompts(agent=clerk()).task_execution()
    assert ("system" in made, "prompt" in made, made.get("system", "-")) == (False, True, "-")
    with pytest.raises(KeyError):
        made["system"]


def test_a_prompt_is_rendered_in_templates():
    made = Prompts(
        agent=clerk(),
        system_template="<{{ .System }}>",
        prompt_template="[{{ .Prompt }}]",
        response_template="A: {{ .Response }} end",
        use_system_prompt=True,
    ).task_execution()
    assert made.prompt.startswith("<You are Clerk.")
    assert made.prompt.endswith("]\nA: ")


# ---------------------------------------------------------------- models
class Described:
    model_name = "gpt-4o"
    temperature = 0.5
    max_tokens = 7


class Own(BaseLLM):
    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return "own"


def test_a_model_is_made_of_what_a_program_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    own = Own("own")
    assert create_llm(own) is own
    assert isinstance(create_llm("gpt-4o"), LLM)
    assert create_llm({"model_name": "gpt-4o", "temperature": 0.1}).temperature == 0.1
    made = create_llm(Described())
    assert (made.model, made.temperature, made.max_tokens) == ("gpt-4o", 0.5, 7)
    monkeypatch.setenv("MODEL", "gpt-4")
    assert create_llm(None).model == "gpt-4"
    assert create_llm(ScriptedLLM(["a word"])).call("?") == "a word"
    cases: list[tuple[Any, type[Exception]]] = [({}, ValueError), (5, ModelError)]
    for wrong, kind in cases:
        with pytest.raises(kind):
            create_llm(wrong)


# ---------------------------------------------------------------- outputs of tasks
def test_the_outputs_of_the_latest_kickoff_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path))
    assert TaskOutputStorageHandler().load() == []
    agent = clerk("high")
    task = work(agent)
    Crew(agents=[agent], tasks=[task]).kickoff(inputs={"port": "Ostend"})
    (stored,) = TaskOutputStorageHandler().load()
    assert (stored["task_id"], stored["task_index"], stored["inputs"]) == (str(task.id), 0, {"port": "Ostend"})
    assert (stored["output"]["raw"], stored["task_key"]) == ("high", task.key)
    assert datetime.now(UTC) - datetime.fromisoformat(stored["timestamp"] + "+00:00") < timedelta(minutes=2)


def test_outputs_are_added_and_changed_by_hand():
    handler, task = TaskOutputStorageHandler(), work(clerk())
    handler.reset()
    assert handler.load() == []
    handler.add(task, {"raw": "high"}, 0, {"port": "Ostend"})
    assert (handler.load()[0]["was_replayed"], handler.load()[0]["task_key"]) == (False, task.key)
    assert datetime.now(UTC) - datetime.fromisoformat(handler.load()[0]["timestamp"] + "+00:00") < timedelta(minutes=2)
    output = TaskOutput(description="d", agent="a", raw="low")
    handler.update(0, {"task": task, "output": output, "was_replayed": True})
    (stored,) = handler.load()
    assert (stored["output"]["raw"], stored["inputs"], stored["was_replayed"]) == ("low", {}, True)
