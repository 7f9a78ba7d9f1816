"""A hierarchical crew with a manager_llm: the manager delegates."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes ROLE-1.")
task = Task(description="Write on tides DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw, result.tasks_output[0].agent)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "write WORK-1", "context": "none", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["WRITTEN-1"],
}
