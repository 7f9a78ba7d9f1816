"""The manager hands a task to another agent than the task's."""

from crewai import Agent, Crew, Process, Task

finder = Agent(role="Finder", goal="Find", backstory="Finds ROLE-1.")
writer = Agent(role="Writer", goal="Write", backstory="Writes ROLE-2.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
crew = Crew(agents=[finder, writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
