"""Replay with other inputs than the run's."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One on {topic} DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two on {topic} DESC-2", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two])
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
second = crew.replay(task_id=str(two.id), inputs={"topic": "TOPIC-2"})
print(result.raw, second.raw)

script = {"DESC-2": ["OUT-2", "AGAIN-2"], "DESC-1": ["OUT-1", "AGAIN-1"]}
