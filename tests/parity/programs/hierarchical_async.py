"""A hierarchical crew with an async task and one that waits for it."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", async_execution=True)
two = Task(description="Two DESC-2", expected_output="Text", context=[one])
crew = Crew(agents=[writer], tasks=[one, two], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print([output.raw for output in result.tasks_output], result.raw)

parallel = True
script = {
    "DESC-2": ["OUT-2"],
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
