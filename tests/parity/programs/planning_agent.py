"""planning=True of an agent: a plan in steps, which are carried out."""

from crewai import Agent

agent = Agent(role="Clerk", goal="Know", backstory="Knows.", planning=True)
result = agent.kickoff("The tide? DESC-1")
print(result.raw, result.plan, [(todo.step_number, todo.status, todo.result) for todo in result.todos])

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
        "OUT-2",
        "OUT-3",
    ]
}
