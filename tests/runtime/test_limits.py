"""Limits of an agent's work: time, and failed requests."""

from typing import Any

import pytest
from modes import Mode
from waiting import LIMITS, BlockedCall

from crewgraph import BaseLLM, ScriptedLLM, ToolUse
from crewgraph.errors import LimitReached, TimeLimitReached
from crewgraph.events import TaskFailedEvent
from crewgraph.testing import record_events
from crewgraph.tools import tool
from runtime.parts import agent, crew, task


class Failing(BaseLLM):
    """Fails some times, then answers."""

    asked = 0

    def call(self, messages: Any, *more: Any, **other: Any) -> str:
        self.asked += 1
        if self.asked <= self.additional_params["times"]:
            raise self.additional_params.get("error", ValueError("broken"))
        return "at last"


def test_a_slow_model_is_not_waited_for(mode: Mode):
    with BlockedCall() as late, record_events() as events:
        slow = agent(ScriptedLLM([late]), max_execution_time=0.2)
        with pytest.raises(TimeLimitReached, match=r"`max_execution_time` of 0\.2 seconds") as caught:
            mode.kickoff(crew(task("slow", slow)))
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, LimitReached)
    assert sum(isinstance(event, TaskFailedEvent) for event in events) == 1


def test_a_slow_tool_is_not_waited_for(mode: Mode):
    for seconds in LIMITS:
        with BlockedCall() as thought:

            @tool
            def think() -> str:
                """Think for long."""
                return thought()

            slow = agent(ScriptedLLM([ToolUse("think", {}), "done"]), tools=[think], max_execution_time=seconds)
            with pytest.raises(TimeLimitReached) as caught:
                mode.kickoff(crew(task("slow", slow)))
        if thought.started.is_set():
            break
    else:
        raise AssertionError("it never began")
    assert "a call of the tool `think` was still running" in str(caught.value)


def test_a_failed_request_is_made_again(mode: Mode):
    model = Failing("m", times=2)
    assert mode.kickoff(crew(task("one", agent(model, max_retry_limit=2)))).raw == "at last"
    assert model.asked == 3


def test_each_task_has_its_own_retries(mode: Mode):
    class Every(Failing):
        def call(self, messages: Any, *more: Any, **other: Any) -> str:
            self.asked += 1
            if self.asked % 2:
                raise ValueError("every other time")
            return "done"

    worker = agent(Every("m"), max_retry_limit=1)
    assert mode.kickoff(crew(*(task(name, worker) for name in "abc"))).raw == "done"


def test_tools_that_were_called_are_not_called_again(mode: Mode):
    called: list[str] = []

    @tool
    def pay() -> str:
        """Pay."""
        called.append("paid")
        return "paid"

    def script(messages: Any) -> Any:
        script.count += 1  # pyright: ignore[reportFunctionMemberAccess]
        match script.count:  # pyright: ignore[reportFunctionMemberAccess]
            case 1:
                return ToolUse("pay", {})
            case 2:
                raise ValueError("broken")
            case _:
                return "done"

    script.count = 0  # pyright: ignore[reportFunctionMemberAccess]
    model = ScriptedLLM([script] * 5)
    assert mode.kickoff(crew(task("one", agent(model, tools=[pay], max_retry_limit=1)))).raw == "done"
    assert called == ["paid"]
