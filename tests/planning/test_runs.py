"""Plans in steps: planning, execution, observation and replanning."""

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from combinations import CREW_MODES
from modes import Mode
from waiting import LONG

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.events.planning import ObservationEvent, PlanStepCompletedEvent, PlanStepEvent
from crewgraph.testing import record_events
from crewgraph.tools import tool


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


def step(number: int, description: str, *needs: int, tool: str | None = None) -> dict[str, Any]:
    return {"step_number": number, "description": description, "tool_to_use": tool, "depends_on": list(needs)}


def plan(*steps: dict[str, Any], text: str = "Look, then tell.", ready: bool = True) -> str:
    return json.dumps({"plan": text, "steps": list(steps), "ready": ready})


PLAN = plan(step(1, "LOOK up the table", tool="table"), step(2, "TELL it", 1))


def seen(success: bool = True, **fields: Any) -> str:
    return json.dumps({"step_completed_successfully": success, **fields})


@tool
def table(port: str) -> str:
    """Look up the tide table of a port."""
    return f"high at {port}"


class Clerk:
    """A model that answers by what it is asked: plans, steps, observations and the end each have a script of their own."""

    def __init__(self, plans: Any = (PLAN,), observations: Any = (), steps: dict[str, Any] | None = None) -> None:
        self.plans, self.observations = list(plans), list(observations)
        self.steps = steps or {}
        self.asked: list[str] = []

    def __call__(self, messages: list[dict[str, Any]]) -> Any:
        reported = "\n".join(str(message["content"]) for message in messages)
        if "Plan this task in at most" in reported or "OWN PLAN" in reported:
            self.asked.append("plan")
            return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        if reported.startswith("You review the result of one step"):
            self.asked.append("observe")
            answer = self.observations.pop(0) if self.observations else seen()
            if isinstance(answer, Exception):
                raise answer
            return answer
        if "Do only this step now" in reported:
            expected = reported.split("Do only this step now:\n")[1].split("\n")[0]
            self.asked.append(expected)
            answer = self.steps.get(expected, f"Final Answer: did {expected}")
            if isinstance(answer, Exception):
                raise answer
            return answer(reported) if callable(answer) else answer
        self.asked.append("end")
        return "Final Answer: high"


def look(reported: str) -> Any:
    return "Final Answer: high at Brest" if "Observation:" in reported else ToolUse("table", {"port": "Brest"})


def agent_of(model: Clerk, config: PlanningConfig | None = None, **fields: Any) -> Agent:
    planned: dict[str, Any] = {"planning": True} if config is None else {"planning_config": config}
    return Agent(
        role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(model), tools=[table], **planned, **fields
    )


def crew_of(agent: Agent, **fields: Any) -> Crew:
    tide = Task(name="tide", description="The tide?", expected_output="A word", agent=agent, **fields)
    return Crew(agents=[agent], tasks=[tide])


def kicked(model: Clerk, config: PlanningConfig | None = None, **fields: Any) -> LiteAgentOutput:
    return agent_of(model, config, **fields).kickoff("The tide?")


HIGH = PlanningConfig(reasoning_effort="high")


def test_a_task_is_planned_done_step_by_step_and_put_together(mode: Mode):
    model = Clerk(steps={"LOOK up the table": look})
    agent = agent_of(model)
    crew = crew_of(agent)
    assert mode.kickoff(crew).raw == "high"
    assert model.asked == ["plan", "LOOK up the table", "LOOK up the table", "TELL it", "end"]
    requests = agent.llm.requests
    assert "1. LOOK up the table\nhigh at Brest" in requests[3].messages[-1]["content"]
    end = requests[4].messages[-1]["content"]
    assert "2. TELL it\ndid TELL it" in end
    assert "Look, then tell." in end
    assert crew.tasks[0].used_tools == 1
    assert crew.usage_metrics is not None and crew.usage_metrics.successful_requests == 5


def test_native_calls_hand_the_plan_in():
    def answered(messages: list[dict[str, Any]]) -> Any:
        reported = str(messages)
        if "Plan this task" in reported:
            return ToolUse("create_reasoning_plan", json.loads(PLAN))
        return "did" if "Do only this step now" in reported else "high"

    llm = ScriptedLLM(answered, native_tools=True)
    agent = Agent(role="Clerk", goal="Know", backstory="B", llm=llm, tools=[table], planning=True)
    done = agent.kickoff("The tide?")
    assert (done.raw, done.plan) == ("high", "Look, then tell.")
    assert [todo.status for todo in done.todos] == ["completed", "completed"]
    (spec,) = llm.requests[0].tools
    assert "steps" in spec["function"]["parameters"]["properties"]


def test_the_output_reports_the_plan():
    done = kicked(Clerk(steps={"LOOK up the table": look}))
    assert done.plan == "Look, then tell."
    first, second = done.todos
    assert (first.step_number, first.tool_used, first.result) == (1, "table", "high at Brest")
    assert (second.depends_on, second.result, second.status) == ([1], "did TELL it", "completed")
    assert (done.replan_count, done.last_replan_reason) == (0, None)
    assert LiteAgentOutput.from_plain(done.to_plain()).todos == done.todos


def test_steps_that_do_not_need_each_other_are_done_side_by_side(mode: Mode):
    both = threading.Barrier(2, timeout=LONG)

    def slow(reported: str) -> str:
        both.wait()
        return "Final Answer: done"

    model = Clerk([plan(step(1, "A"), step(2, "B"), step(3, "C", 1, 2))], steps={"A": slow, "B": slow})
    assert mode.kickoff(crew_of(agent_of(model))).raw == "high"
    assert sorted(model.asked[1:3]) == ["A", "B"]
    assert model.asked[3:] == ["C", "end"]


@pytest.mark.parametrize(
    ("effort", "observe", "asked"),
    [("low", None, 0), ("low", True, 2), ("medium", None, 2), ("medium", False, 0), ("high", None, 2)],
)
def test_the_effort_says_whether_steps_are_looked_at(effort: Any, observe: bool | None, asked: int):
    model = Clerk()
    done = kicked(model, PlanningConfig(reasoning_effort=effort, observe_steps=observe))
    assert model.asked.count("observe") == asked
    assert done.raw == "high"


AGAIN = plan(step(1, "ASK the harbour"), step(2, "SAY it", 1), text="Ask instead.")


@pytest.mark.parametrize(
    ("effort", "observation", "replans", "statuses"),
    [
        ("low", seen(False, needs_full_replan=True, replan_reason="WHY"), 0, ["failed", "completed"]),
        ("medium", seen(False), 0, ["failed", "completed"]),
        ("medium", seen(True, needs_full_replan=True), 0, ["completed", "completed"]),
        ("medium", seen(False, needs_full_replan=True, replan_reason="WHY"), 1, ["failed", "completed", "completed"]),
        ("high", seen(False), 1, ["failed", "completed", "completed"]),
        ("high", seen(True, needs_full_replan=True, replan_reason="WHY"), 1, ["failed", "completed", "completed"]),
        ("high", seen(True, remaining_plan_still_valid=False), 0, ["completed", "completed"]),
    ],
)
def test_when_the_rest_is_planned_anew(effort: Any, observation: str, replans: int, statuses: list[str]):
    model = Clerk([PLAN, AGAIN], [observation])
    done = kicked(model, PlanningConfig(reasoning_effort=effort, observe_steps=True))
    assert (done.replan_count, [todo.status for todo in done.todos]) == (replans, statuses)
    assert [todo.step_number for todo in done.todos] == list(range(1, len(statuses) + 1))
    if replans:
        assert done.plan == "Ask instead."
        assert [todo.description for todo in done.todos][1:] == ["ASK the harbour", "SAY it"]
        assert done.todos[2].depends_on == [2]


def test_a_new_plan_is_told_what_became_of_the_old_one():
    model = Clerk([PLAN, AGAIN], [seen(False, needs_full_replan=True, replan_reason="WHY")])
    agent = agent_of(model, HIGH)
    done = agent.kickoff("The tide?")
    asked = agent.llm.requests[3].messages[-1]["content"]
    assert "1. LOOK up the table (failed)\ndid LOOK up the table" in asked
    assert "WHY" in asked
    assert done.last_replan_reason == "WHY"


@pytest.mark.parametrize("most", [0, 2])
def test_replans_are_counted_and_the_agent_ends_with_what_there_is(most: int):
    model = Clerk([PLAN, AGAIN], [seen(False)] * 9)
    done = kicked(model, PlanningConfig(reasoning_effort="high", max_replans=most))
    assert (done.raw, done.replan_count) == ("high", most)
    assert [todo.status for todo in done.todos] == [*["failed"] * (most + 1), "pending"]
    assert model.asked.count("plan") == most + 1


@pytest.mark.parametrize("answer", ["I do not know", ConnectionError("down")])
def test_an_observation_that_cannot_be_read_is_reported_and_the_step_counts(answer: Any):
    with record_events() as events:
        done = kicked(Clerk(observations=[answer, answer]), HIGH)
    assert [todo.status for todo in done.todos] == ["completed", "completed"]
    assert "step_observation_failed" in [event.type for event in events]


def test_events_report_each_step():
    model = Clerk([PLAN, AGAIN], [seen(key_information_learned="K"), seen(False)], {"LOOK up the table": look})
    with record_events() as events:
        crew_of(agent_of(model, HIGH)).kickoff()
    reported = [event for event in events if isinstance(event, (PlanStepEvent, ObservationEvent))]
    assert [event.type for event in reported][:8] == [
        "plan_step_started", "step_observation_started", "step_observation_completed", "plan_step_completed",
        "plan_step_started", "step_observation_started", "step_observation_completed", "plan_step_completed",
    ]  # fmt: skip
    assert reported[8].type == "plan_replan_triggered"
    assert {(event.agent_role, event.task_name) for event in reported} == {("Clerk", "tide")}
    done = [event for event in reported if isinstance(event, PlanStepCompletedEvent)]
    assert [(event.step_number, event.success) for event in done][:2] == [(1, True), (2, False)]


def test_without_a_readable_plan_the_agent_works_as_ever():
    done = kicked(Clerk(["I shall look.\nREADY"]))
    assert (done.raw, done.plan, done.todos) == ("high", "I shall look.", [])


def test_a_plan_has_at_most_so_many_steps_and_depends_on_earlier_ones_alone():
    model = Clerk([plan(step(1, "A", 2, 9), step(2, "B", 1), step(3, "C"))])
    done = kicked(model, PlanningConfig(reasoning_effort="low", max_steps=2))
    assert [(todo.description, todo.depends_on) for todo in done.todos] == [("A", []), ("B", [1])]


def test_a_step_has_bounds_of_its_own():
    def tries(reported: str) -> Any:
        return "So" if "all your steps" in reported else ToolUse("table", {"port": str(len(reported))})

    model = Clerk(steps={"LOOK up the table": tries})
    done = kicked(model, PlanningConfig(reasoning_effort="low", max_step_iterations=3))
    assert model.asked.count("LOOK up the table") == 4
    assert done.todos[0].result == "So"


def test_a_step_that_takes_too_long_has_failed(mode: Mode):
    async def hang(port: str) -> str:
        """Hang."""
        await asyncio.sleep(100)
        return port

    def use(_: str) -> ToolUse:
        return ToolUse("hang", {"port": "x"})

    model = Clerk(steps={"LOOK up the table": use})
    agent = agent_of(model, PlanningConfig(reasoning_effort="low", step_timeout=2))
    agent.tools = [table, tool(hang)]
    started = time.monotonic()
    assert mode.kickoff(crew_of(agent)).raw == "high"
    assert time.monotonic() - started < LONG
    assert "LOOK up the table (failed)" in agent.llm.requests[-1].messages[-1]["content"]


def test_own_prompts_are_filled():
    config = PlanningConfig(
        reasoning_effort="low",
        system_prompt="OWN PLAN of {role}",
        plan_prompt="{description}|{expected_output}|{tools}|{max_steps}|{other}",
        refine_prompt="REFINE {current_plan}",
        max_attempts=2,
    )
    agent = agent_of(Clerk([plan(step(1, "A"), ready=False), PLAN]), config)
    crew_of(agent).kickoff()
    first, second = agent.llm.requests[:2]
    assert first.messages[0]["content"] == "OWN PLAN of Clerk"
    assert first.messages[1]["content"].startswith("The tide?|A word|table|20|{other}\n\n")
    assert "REFINE Look, then tell." in second.messages[1]["content"]


def test_a_run_continues_with_the_step_that_it_stopped_in(mode: Mode):
    down = [True]

    def fails(reported: str) -> Any:
        if down[0]:
            raise ConnectionError("down")
        return "Final Answer: told"

    model = Clerk(steps={"LOOK up the table": look, "TELL it": fails})
    crew = crew_of(agent_of(model, PlanningConfig(), max_retry_limit=0))
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, thread_id="t")
    before = list(model.asked)
    assert before[-1] == "TELL it"
    down[0] = False
    assert mode.resume(crew, "t").raw == "high"
    assert model.asked[len(before) :] == ["TELL it", "observe", "end"]


def test_steps_side_by_side_are_not_repeated_after_a_failure(mode: Mode):
    down = [True]

    def fails(reported: str) -> Any:
        if down[0]:
            raise ConnectionError("down")
        return "Final Answer: b"

    model = Clerk([plan(step(1, "A"), step(2, "B"))], steps={"B": fails})
    crew = crew_of(agent_of(model, max_retry_limit=0))
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, thread_id="t")
    down[0] = False
    assert mode.resume(crew, "t").raw == "high"
    assert model.asked.count("A") == 1


def test_planning_in_its_simplest_way():
    agent = agent_of(Clerk())
    assert agent.planning_config == PlanningConfig(reasoning_effort="low", max_attempts=1)
    assert agent.planning_enabled
    assert agent_of(Clerk(), PlanningConfig()).planning_enabled
    later = agent_of(Clerk())
    later.planning_config = None
    assert [todo.status for todo in later.kickoff("The tide?").todos] == ["completed", "completed"]
    assert not Agent(role="A", goal="B", backstory="C", llm=ScriptedLLM([])).planning_enabled


def test_a_guardrail_that_refuses_has_the_task_planned_again():
    model = Clerk()
    judged: list[str] = []

    def judge(output: Any) -> tuple[bool, Any]:
        judged.append(output.raw)
        return (len(judged) > 1, output.raw if len(judged) > 1 else "NOT GOOD")

    agent = agent_of(model)
    crew = crew_of(agent, guardrail=judge)
    assert crew.kickoff().raw == "high"
    assert model.asked.count("plan") == 2
    assert "NOT GOOD" in agent.llm.requests[4].messages[-1]["content"]


def test_an_agent_by_itself_plans_on_an_event_loop():
    agent = agent_of(Clerk())
    assert asyncio.run(agent.akickoff("The tide?")).plan == "Look, then tell."
