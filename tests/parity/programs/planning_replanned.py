"""After a step that failed the rest is planned anew."""

from crewai import Agent, PlanningConfig

agent = Agent(role="Clerk", goal="Know", backstory="Knows.", planning_config=PlanningConfig(reasoning_effort="high"))
result = agent.kickoff("The tide? DESC-1")
print(result.raw, result.plan, [(todo.step_number, todo.status, todo.result) for todo in result.todos])
print(result.replan_count, result.last_replan_reason)

script = {
    "DESC-1": [
        {
            "tool": [
                "create_reasoning_plan",
                {
                    "plan": "PLAN-1",
                    "steps": [
                        {"step_number": 1, "description": "Look STEP-1", "tool_to_use": None, "depends_on": []},
                        {"step_number": 2, "description": "Tell STEP-2", "tool_to_use": None, "depends_on": [1]},
                    ],
                    "ready": True,
                },
            ]
        },
        "OUT-1",
        {"json": {"step_completed_successfully": False, "needs_full_replan": True, "replan_reason": "WHY-1"}},
        {
            "tool": [
                "create_reasoning_plan",
                {
                    "plan": "PLAN-2",
                    "steps": [{"step_number": 7, "description": "Ask STEP-3", "tool_to_use": None, "depends_on": []}],
                    "ready": True,
                },
            ]
        },
        "OUT-2",
        {"json": {"step_completed_successfully": True, "key_information_learned": "KEY-1"}},
        "OUT-3",
    ]
}
