"""human_input and a guardrail that refuses once."""

from crewai import Agent, Crew, Task


def long_enough(output):
    if "LONG-1" in output.raw:
        return True, output.raw
    return False, "too short REASON-1"


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent, human_input=True, guardrail=long_enough)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

typed = "\n\n"
script = {"REASON-1": ["LONG-1"], "DESC-1": ["OUT-1"]}
