"""Crew.test with two iterations of two tasks."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two])
crew.test(n_iterations=2, eval_llm="gpt-4o")
print("judged")

parallel = True

script = {
    "OUT-2": [{"json": {"quality": 6.0}}],
    "DESC-2": ["OUT-2"],
    "OUT-1": [{"json": {"quality": 8.0}}],
    "DESC-1": ["OUT-1"],
}
