"""An agent of a sequential crew hands work to its coworker."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
finder = Agent(role="Finder", goal="Find", backstory="Finds ROLE-2.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, finder], tasks=[task]).kickoff()
print(result.raw, result.tasks_output[0].agent, task.delegations)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "CONTEXT-1", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["FACT-1"],
}
