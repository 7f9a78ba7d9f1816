"""A hierarchical crew with a manager_llm and a function_calling_llm."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(
    agents=[writer],
    tasks=[task],
    process=Process.hierarchical,
    manager_llm="gpt-4o",
    function_calling_llm="gpt-4o-mini",
)
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
