"""verbose=True everywhere does not change what happens."""

from crewai import LLM, Agent, Crew, Process, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


agent = Agent(
    role="Pilot",
    goal="Sound",
    backstory="Sounds.",
    tools=[depth],
    verbose=True,
    memory=False,
    cache=True,
    max_iter=5,
    allow_delegation=False,
    llm=LLM(model="gpt-4o-mini", temperature=0),
)
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent, human_input=False)
crew = Crew(agents=[agent], tasks=[task], process=Process.sequential, verbose=True, memory=False, cache=True)
result = crew.kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"]}
