"""Planning with a conditional task that is skipped."""

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = ConditionalTask(
    description="Two DESC-2", expected_output="Text", agent=agent, condition=lambda output: "NEVER-1" in output.raw
)
result = Crew(agents=[agent], tasks=[one, two], planning=True, planning_llm="gpt-4o").kickoff()
print([output.raw for output in result.tasks_output])

script = {
    "PLAN-1": ["OUT-1"],
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
