"""The manager names a coworker that there is not, then the right one."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Plumber"}]},
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-2", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-2": ["TEXT-2"],
    "WORK-1": ["TEXT-1"],
}
