"""An agent by itself: kickoff with a text and with messages."""

from crewai import Agent

agent = Agent(role="Writer ROLE-1", goal="Write GOAL-1", backstory="Writes BACK-1.")
result = agent.kickoff("Say DESC-1")
print(result.raw, result.agent_role)
second = agent.kickoff([{"role": "user", "content": "Say DESC-2"}])
print(second.raw)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
