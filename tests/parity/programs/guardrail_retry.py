"""A guardrail function refuses the first answer and takes the second."""

from crewai import Agent, Crew, Task


def short_enough(output):
    print("judged", output.raw)
    if len(output.raw) > 20:
        return (False, "Too long REASON-1")
    return (True, output.raw)


writer = Agent(role="Writer", goal="Write", backstory="Terse.")
title = Task(description="A title DESC-1", expected_output="A title", agent=writer, guardrail=short_enough)
result = Crew(agents=[writer], tasks=[title]).kickoff()
print(result.raw)

script = {
    "DESC-1": ["LONG-1 and a title that goes on and on", "SHORT-1"],
}
