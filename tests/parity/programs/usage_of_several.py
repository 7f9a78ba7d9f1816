"""Usage of two kickoffs of one crew."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="On {topic}", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
second = crew.kickoff(inputs={"topic": "TOPIC-2"})
print(result.raw, second.raw)

script = {"TOPIC-1": ["OUT-1"], "TOPIC-2": ["OUT-2"]}
