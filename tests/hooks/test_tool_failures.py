"""Failures of tools as data, and what they mean for the task."""

from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, ScriptedLLM
from crewgraph.events import ToolFailureDetectedEvent, crewai_event_bus
from crewgraph.tools import BaseTool
from crewgraph.tools.failure import (
    ToolExecutionFailedError,
    ToolFailure,
    ToolFailurePolicy,
    ToolFailureReason,
    ToolFailureRecord,
    resolve_tool_failure_policy,
)
from hooks.sample_crew import act, crew_of, fin


class Gauge(BaseTool):
    name: str = "gauge"
    description: str = "Reads the gauge."
    given: Any = None

    def _run(self, place: str) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


REPORTED = ToolFailure(message="no quota left", code="429", retryable=True, details={"after": 60})


def read(gauge: BaseTool, **crew: Any) -> tuple[ScriptedLLM, Any]:
    llm = ScriptedLLM([act("gauge", place="Brest"), fin("six")])
    return llm, crew_of(llm, gauge, **crew)


def test_a_failure_that_a_tool_returns_is_reported_to_the_model_and_listed(mode: Mode):
    reported: list[Any] = []
    llm, crew = read(Gauge(given=REPORTED))
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(ToolFailureDetectedEvent)
        def note(_: object, event: ToolFailureDetectedEvent) -> None:
            reported.append((event.failure, event.policy))

        result = mode.kickoff(crew)
    assert "Observation: no quota left (code: 429)" in llm.requests[-1].text
    (record,) = result.tool_failures
    assert record == ToolFailureRecord(
        tool_name="gauge",
        failure=REPORTED,
        tool_args={"place": "Brest"},
        agent_role="Pilot",
        task_name="ask",
        task_id=str(crew.tasks[0].id),
    )
    assert result.has_tool_failures
    assert result.tasks_output[0].tool_failures == crew.agents[0].last_tool_failures == [record]
    assert reported == [(REPORTED, ToolFailurePolicy.WARN)]


def test_an_exception_a_name_and_arguments_are_reasons_too(mode: Mode):
    script = [act("gauge", place="Brest"), act("gouge", place="Brest"), act("gauge", spot="Brest"), fin("six")]
    crew = crew_of(ScriptedLLM(script), Gauge(given=ValueError("broken")))
    found = [(one.failure.reason, one.failure.code) for one in mode.kickoff(crew).tool_failures]
    assert found == [
        (ToolFailureReason.EXCEPTION, "ValueError"),
        (ToolFailureReason.UNKNOWN_TOOL, "gouge"),
        (ToolFailureReason.EXCEPTION, None),
    ]


@pytest.mark.parametrize("whose", ["tool", "task", "agent", "crew"])
def test_a_failure_ends_the_task_where_the_policy_says_so(mode: Mode, whose: str):
    gauge = Gauge(given=REPORTED)
    _, crew = read(gauge)
    owner: Any = {"tool": gauge, "task": crew.tasks[0], "agent": crew.agents[0], "crew": crew}[whose]
    owner.tool_failure_policy = ToolFailurePolicy.RAISE
    with pytest.raises(ToolExecutionFailedError, match="no quota left") as raised:
        mode.kickoff(crew)
    assert crew.agents[0].last_tool_failures == [raised.value.record]


def test_a_task_that_a_failure_ended_tries_the_tool_again_when_it_is_resumed(mode: Mode):
    _, crew = read(Gauge(given=REPORTED), tool_failure_policy="raise")
    with pytest.raises(ToolExecutionFailedError):
        mode.kickoff(crew, thread_id="t")
    llm = ScriptedLLM([fin("six")])
    again = crew_of(llm, Gauge(given="3 m"), tool_failure_policy="raise")
    assert mode.resume(again, "t").raw == "six"
    assert "Observation: 3 m" in llm.requests[-1].text


def test_an_agent_on_its_own_lists_its_failures():
    llm = ScriptedLLM([act("gauge", place="Brest"), fin("six")])
    agent = Agent(role="Pilot", goal="Bring in", backstory="At sea.", llm=llm, tools=[Gauge(given=REPORTED)])
    output = agent.kickoff("How deep?")
    assert (output.has_tool_failures, output.tool_failures) == (True, agent.last_tool_failures)
    agent.reset_tool_failures()
    assert agent.last_tool_failures == []


class Says:
    def __init__(self, policy: str | None) -> None:
        self.tool_failure_policy = policy


def test_the_policy_of_the_tool_counts_before_task_agent_and_crew():
    resolve = resolve_tool_failure_policy
    assert resolve(Says("raise"), Says("warn"), Says("ignore"), Says("ignore")) == "raise"
    assert resolve(Says(None), Says("raise"), Says("ignore"), Says("raise")) == "ignore"
    assert resolve(None, Says("raise"), None, Says("ignore")) == "raise"
    assert resolve(None, None, None, Says("ignore")) == "ignore"
    assert resolve() == "warn"
