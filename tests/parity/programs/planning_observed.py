"""A task that is planned in steps, which are looked at."""

from crewai import Agent, Crew, PlanningConfig, Task

agent = Agent(role="Clerk", goal="Know", backstory="Knows.", planning_config=PlanningConfig())
task = Task(description="The tide? DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

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
        {"json": {"step_completed_successfully": True, "key_information_learned": "KEY-1"}},
        "OUT-2",
        {"json": {"step_completed_successfully": True, "key_information_learned": "KEY-1"}},
        "OUT-3",
    ]
}
