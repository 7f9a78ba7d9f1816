"""kickoff_for_each: one result for each input."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer on {topic}", goal="Write", backstory="Writes.")
task = Task(description="On {topic}", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
results = crew.kickoff_for_each(inputs=[{"topic": "TOPIC-1"}, {"topic": "TOPIC-2"}])
print([one.raw for one in results])
print(crew.usage_metrics.successful_requests if crew.usage_metrics else None)

script = {"TOPIC-1": ["OUT-1"], "TOPIC-2": ["OUT-2"]}
