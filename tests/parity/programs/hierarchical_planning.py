"""A hierarchical crew that plans first."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(
    agents=[writer],
    tasks=[task],
    process=Process.hierarchical,
    manager_llm="gpt-4o",
    planning=True,
    planning_llm="gpt-4o",
)
result = crew.kickoff()
print(result.raw, len(result.tasks_output))

script = {
    "PLAN-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "DESC-1": [
        {"json": {"list_of_plans_per_task": [{"task_number": 1, "task": "Write DESC-1", "plan": " as in PLAN-1"}]}}
    ],
    "WORK-1": ["TEXT-1"],
}
