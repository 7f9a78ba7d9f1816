"""An agent by itself, with a guardrail that refuses once."""

from crewai import Agent


def short(output):
    print("judged", output.raw)
    return (True, output.raw) if "OUT-2" in output.raw else (False, "REASON-1")


agent = Agent(role="Writer", goal="Write", backstory="Writes.", guardrail=short)
result = agent.kickoff("Say DESC-1")
print(result.raw)

script = {"DESC-1": ["OUT-1", "OUT-2"]}
