"""An embedder of a provider that nobody knows."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide DESC-1", expected_output="A sentence", agent=clerk)
try:
    result = Crew(
        agents=[clerk], tasks=[task], memory=True, embedder={"provider": "nobody", "config": {"model": "x"}}
    ).kickoff()
except Exception as error:
    print("refused", isinstance(error, ValueError))

script = {"DESC-1": ["OUT-1"]}
remembered = {}
