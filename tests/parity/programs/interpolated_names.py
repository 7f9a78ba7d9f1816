"""Inputs in the names of files and roles with capitals, digits and underscores, and braces that are no inputs."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write {Topic_2}", backstory='Knows JSON like {"key": 1} and {} BACK-1.')
task = Task(
    description='Answer as {"answer": "..."} on {Topic_2} DESC-1',
    expected_output="{Topic_2} in braces: { x }",
    agent=agent,
)
result = Crew(agents=[agent], tasks=[task]).kickoff(inputs={"Topic_2": "TOPIC-1", "unused": "UNUSED-1"})
print(task.description)
print(task.expected_output)

script = {"DESC-1": ["OUT-1"]}
