"""Crew.test: the crew runs and a model judges its tasks."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic} DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
crew.test(n_iterations=1, eval_llm="gpt-4o", inputs={"topic": "TOPIC-1"})
print("judged")

script = {"OUT-1": [{"json": {"quality": 8.0}}], "DESC-1": ["OUT-1"]}
