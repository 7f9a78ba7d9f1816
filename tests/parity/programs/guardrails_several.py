"""Several guardrails in order, the second refuses once."""

from crewai import Agent, Crew, Task

seen = []


def first(output):
    seen.append(f"first {output.raw}")
    return (True, output.raw + " checked")


def second(output):
    seen.append(f"second {output.raw}")
    return (False, "REASON-1") if "OUT-1" in output.raw else (True, output.raw)


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent, guardrails=[first, second])
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(seen)
print(result.raw)

script = {"DESC-1": ["OUT-1", "OUT-2"]}
