"""kickoff_for_each_async: the results in the order of the inputs."""

import asyncio

from crewai import Agent, Crew, Task

agent = Agent(role="Writer on {topic}", goal="Write", backstory="Writes.")
task = Task(description="On {topic}", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
results = asyncio.run(crew.kickoff_for_each_async(inputs=[{"topic": "TOPIC-1"}, {"topic": "TOPIC-2"}]))
print([one.raw for one in results])

parallel = True
script = {"TOPIC-1": [{"text": "OUT-1", "delay": 0.2}], "TOPIC-2": ["OUT-2"]}
