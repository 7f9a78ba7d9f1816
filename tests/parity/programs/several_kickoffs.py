"""One crew kicked off twice, with other inputs."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer on {topic}", goal="Write", backstory="Writes.")
one = Task(description="On {topic} DESC-1", expected_output="Text", agent=agent)
two = Task(description="More on {topic} DESC-2", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two])
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
second = crew.kickoff(inputs={"topic": "TOPIC-2"})
print(result.raw, second.raw)
print(one.output.raw)

script = {"DESC-1": ["OUT-1", "OUT-3"], "DESC-2": ["OUT-2", "OUT-4"]}
