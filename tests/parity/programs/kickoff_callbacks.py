"""before_kickoff_callbacks change the inputs, after_kickoff_callbacks change the result."""

from crewai import Agent, Crew, Task


def add_year(inputs):
    inputs["year"] = "YEAR-1"
    return inputs


def shout(output):
    output.raw = output.raw.upper()
    return output


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="On {topic} in {year} DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task], before_kickoff_callbacks=[add_year], after_kickoff_callbacks=[shout])
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
print(result.raw)

script = {"DESC-1": ["quiet OUT-1"]}
