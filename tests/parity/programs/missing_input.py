"""An input that a description needs is not given."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="On {topic} DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
try:
    crew.kickoff(inputs={"subject": "SUBJECT-1"})
except Exception as error:
    print(isinstance(error, ValueError), "topic" in str(error))

script = {"DESC-1": ["OUT-1"]}
