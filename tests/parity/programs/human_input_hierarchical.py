"""human_input of a hierarchical task."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", human_input=True)
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

typed = "Shorter FEEDBACK-1\n\n"
script = {
    "FEEDBACK-1": ["SHORT-1"],
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
