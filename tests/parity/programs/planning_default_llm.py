"""planning=True without a planning_llm."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm="gpt-4o")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task], planning=True).kickoff()
print(result.raw)

script = {
    "PLAN-1": ["OUT-1"],
    "DESC-1": [
        {"json": {"list_of_plans_per_task": [{"task_number": 1, "task": "One DESC-1", "plan": " as in PLAN-1"}]}}
    ],
}
