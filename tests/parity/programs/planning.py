"""planning=True: a plan is made first and is in the tasks' prompts."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two], planning=True, planning_llm="gpt-4o")
result = crew.kickoff()
print(result.raw, len(result.tasks_output))

script = {
    "PLAN-1": ["OUT-1"],
    "PLAN-2": ["OUT-2"],
    "DESC-1": [
        {
            "json": {
                "list_of_plans_per_task": [
                    {"task_number": 1, "task": "One DESC-1", "plan": " as in PLAN-1"},
                    {"task_number": 2, "task": "Two DESC-2", "plan": " as in PLAN-2"},
                ]
            }
        }
    ],
}
