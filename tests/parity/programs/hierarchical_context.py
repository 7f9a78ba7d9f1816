"""A hierarchical crew whose last task names the context it wants."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text")
two = Task(description="Two DESC-2", expected_output="Text", context=[])
three = Task(description="Three DESC-3", expected_output="Text", context=[one])
crew = Crew(agents=[writer], tasks=[one, two, three], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print([output.raw for output in result.tasks_output])

script = {
    "DESC-3": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-3", "context": "CONTEXT-3", "coworker": "Writer"}]},
        "OUT-3",
    ],
    "DESC-2": ["OUT-2"],
    "DESC-1": ["OUT-1"],
    "WORK-3": ["TEXT-3"],
}
