"""The manager writes its delegation as text."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print("WORK-1" in result.raw)

script = {
    "DESC-1": [
        {
            "text": "Thought: the writer can do it.\n"
            "Action: Delegate work to coworker\n"
            'Action Input: {"task": "WORK-1", "context": "CONTEXT-1", "coworker": "Writer"}'
        },
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
