"""Two coworkers of one role."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
first = Agent(role="Finder", goal="Find", backstory="Finds ROLE-1.")
second = Agent(role="Finder", goal="Find", backstory="Finds ROLE-2.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, first, second], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["FACT-1"],
}
