"""Two tasks of a hierarchical crew, each handed to another agent."""

from crewai import Agent, Crew, Process, Task

finder = Agent(role="Finder", goal="Find", backstory="Finds ROLE-1.")
writer = Agent(role="Writer", goal="Write", backstory="Writes ROLE-2.")
one = Task(description="Find facts DESC-1", expected_output="Facts")
two = Task(description="Write them up DESC-2", expected_output="Text")
crew = Crew(agents=[finder, writer], tasks=[one, two], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-2": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-2", "context": "see FACT-1", "coworker": "Writer"}]},
        "OUT-2",
    ],
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["FACT-1"],
    "WORK-2": ["TEXT-2"],
}
