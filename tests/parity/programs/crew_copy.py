"""A copied crew has agents and tasks of its own."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="On {topic} DESC-1", expected_output="Text", agent=agent)
two = Task(description="More DESC-2", expected_output="Text", agent=agent, context=[one])
crew = Crew(agents=[agent], tasks=[one, two])
copied = crew.copy()
print(copied.tasks[0] is one, copied.agents[0] is agent, copied.id == crew.id)
result = copied.kickoff(inputs={"topic": "TOPIC-1"})
print(result.raw, one.output, copied.tasks[1].output.raw)

script = {"DESC-2": ["OUT-2"], "DESC-1": ["OUT-1"]}
