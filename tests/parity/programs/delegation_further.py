"""A coworker that may delegate, too, is asked to do some work."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
finder = Agent(role="Finder", goal="Find", backstory="Finds.", allow_delegation=True)
expert = Agent(role="Expert", goal="Know", backstory="Knows ROLE-3.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, finder, expert], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["FACT-1"],
}
