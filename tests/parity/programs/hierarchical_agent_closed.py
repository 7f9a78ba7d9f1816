"""A manager_agent that was told not to delegate."""

from crewai import Agent, Crew, Process, Task

boss = Agent(role="Boss", goal="Lead", backstory="Leads ROLE-9.", allow_delegation=False)
writer = Agent(role="Writer", goal="Write", backstory="Writes ROLE-1.")
task = Task(description="Write on tides DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_agent=boss)
result = crew.kickoff()
print(result.raw, result.tasks_output[0].agent, boss.allow_delegation)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "write WORK-1", "context": "none", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["WRITTEN-1"],
}
