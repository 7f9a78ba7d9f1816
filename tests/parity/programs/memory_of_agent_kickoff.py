"""Agent(memory=True) on its own: what it was told once it knows when it is asked again."""

from crewai import Agent

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.", memory=True)
result = clerk.kickoff("My name is Ann and the tide of Brest is six, says ASK-1")
print(result.raw)
second = clerk.kickoff("What is the tide of Brest? ASK-2")
print(second.raw)

script = {"ASK-1": ["OUT-1 noted"], "ASK-2": ["OUT-2 six"]}
remembered = {"ASK-2": {"memories": []}, "ASK-1": {"memories": ["FACT-1 the tide of Brest is six"]}}
