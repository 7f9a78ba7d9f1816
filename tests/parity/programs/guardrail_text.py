"""A guardrail in words: the model judges the answer."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(
    description="One DESC-1", expected_output="Text", agent=agent, guardrail="It must not speak of ships RULE-1"
)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"RULE-1": ['{"valid": true, "feedback": null}'], "DESC-1": ["OUT-1"]}
