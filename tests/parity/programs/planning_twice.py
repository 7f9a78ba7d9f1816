"""A crew that plans, kicked off twice."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic}", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task], planning=True, planning_llm="gpt-4o")
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
second = crew.kickoff(inputs={"topic": "TOPIC-2"})
print(result.raw, second.raw)

script = {
    "PLAN-2": ["OUT-2"],
    "PLAN-1": ["OUT-1"],
    "TOPIC-2": [{"json": {"list_of_plans_per_task": [{"task_number": 1, "task": "TOPIC-2", "plan": " as in PLAN-2"}]}}],
    "TOPIC-1": [{"json": {"list_of_plans_per_task": [{"task_number": 1, "task": "TOPIC-1", "plan": " as in PLAN-1"}]}}],
}
