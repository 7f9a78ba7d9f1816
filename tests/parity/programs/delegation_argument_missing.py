"""A delegation that lacks its context."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
finder = Agent(role="Finder", goal="Find", backstory="Finds.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, finder], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "coworker": "Finder"}]}, "OUT-1"],
    "WORK-1": ["FACT-1"],
}
