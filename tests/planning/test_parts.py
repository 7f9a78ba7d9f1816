"""The classes of plans, under CrewAI's names."""

from typing import Any

import pytest

from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.agent.planning import PlanningConfig, StepObservation, TodoItem, TodoList


def item(number: int, *needs: int, **fields: Any) -> TodoItem:
    return TodoItem(step_number=number, description=f"d{number}", depends_on=list(needs), **fields)


def test_a_list_knows_what_can_be_begun():
    todos = TodoList(items=[item(1), item(2), item(3, 1), item(4, 9)])
    assert [one.step_number for one in todos.get_ready_todos()] == [1, 2]
    assert todos.pending_count == 4
    todos.mark_running(1)
    todos.mark_completed(1, "r")
    todos.mark_failed(2, "bad")
    assert [one.step_number for one in todos.get_ready_todos()] == [3]
    assert (todos.items[0].result, todos.completed_count) == ("r", 1)
    todos.mark_completed(99)
    todos.replace_pending_todos([item(7)])
    assert [one.step_number for one in todos.items] == [1, 2, 7]


def test_one_refinement_is_a_list_of_one():
    one: Any = {"step_number": 1, "new_description": "z"}
    seen = StepObservation(step_completed_successfully=True, suggested_refinements=one)
    assert seen.suggested_refinements is not None
    assert seen.suggested_refinements[0].new_description == "z"


def test_an_output_without_a_plan_has_none():
    output = LiteAgentOutput(agent_role="x")
    assert (output.plan, output.todos, output.replan_count) == (None, [], 0)
    made = LiteAgentOutput.from_todo_items([item(1, tool_to_use="t", status="failed")])
    assert LiteAgentOutput(agent_role="x", todos=made).todos[0].tool_used == "t"


@pytest.mark.parametrize(
    "wrong", [{"max_steps": 0}, {"max_replans": -1}, {"max_step_iterations": 0}, {"reasoning_effort": "x"}]
)
def test_bounds_have_bounds(wrong: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PlanningConfig(**wrong)
